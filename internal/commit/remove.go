package commit

import (
	"context"

	"github.com/strictkv/strictkv/internal/cell"
)

// Remove deletes a key in a transaction of its own, and tells whether it had a value, which
// is not fetched: two requests, or one if it had none. It waits while too much is left to
// the background, where the external values of deleted keys are removed.
func (e *Engine) Remove(ctx context.Context, name string) (had bool, err error) {
	if err := e.rs.Admit(ctx); err != nil {
		return false, err
	}
	err = e.Run(ctx, Options{}, func(tx *Tx) error {
		had = false
		x, err := tx.record(name)
		if err != nil || x.value.Kind == cell.Absent {
			return err
		}
		had = true
		return tx.Delete(name)
	})
	return had && err == nil, err
}
