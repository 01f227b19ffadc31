package patterns

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/strictkv/strictkv"
)

// Audit notes what a transaction does, in the same transaction. The newest entry comes first:
// keys begin with the time that is left until the end of time. Two at the same instant differ
// in what follows.
func Audit(tx *strictkv.Tx, trail *strictkv.Collection, at time.Time, what string) error {
	key := binary.BigEndian.AppendUint64(nil, ^uint64(at.UnixNano()))
	key = binary.BigEndian.AppendUint64(key, rand.Uint64())
	return tx.Insert(trail, key, []byte(what))
}

// Latest returns the n newest entries of a trail.
func Latest(ctx context.Context, trail *strictkv.Collection, n int) (what []string, err error) {
	for entry, err := range trail.Items(ctx, strictkv.Range{Limit: n}) {
		if err != nil {
			return nil, err
		}
		what = append(what, string(entry.Value))
	}
	return what, nil
}
