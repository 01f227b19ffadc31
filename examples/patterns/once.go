package patterns

import (
	"context"
	"errors"

	"github.com/strictkv/strictkv"
)

// Once makes a request take effect once, however often it is made: the answer is kept under the
// request's id, in the transaction that makes the effect, and given to whoever asks again.
func Once(
	ctx context.Context, db *strictkv.DB, answers *strictkv.Collection, request string,
	f func(tx *strictkv.Tx) (answer []byte, err error),
) ([]byte, error) {
	return strictkv.Do(ctx, db, func(tx *strictkv.Tx) ([]byte, error) {
		answer, err := tx.Read(answers, []byte(request))
		if !errors.Is(err, strictkv.ErrNotFound) {
			return answer, err
		}
		if answer, err = f(tx); err != nil {
			return nil, err
		}
		return answer, tx.Write(answers, []byte(request), answer)
	})
}
