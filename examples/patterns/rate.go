package patterns

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/strictkv/strictkv"
)

// ErrTooMany: the rate is exceeded. Try again later.
var ErrTooMany = errors.New("too many requests")

// Bucket is what is left of somebody's allowance at a time.
type Bucket struct {
	Tokens float64
	At     time.Time
}

// Rate is how many tokens flow into a bucket each second, more than none, and how many it holds.
type Rate struct{ PerSecond, Burst float64 }

// unusedFor is for how long a bucket is kept after it was full again: longer than clocks differ.
const unusedFor = time.Hour

// Allow takes a token out of somebody's bucket. It fails with ErrTooMany if there is none.
func (r Rate) Allow(
	ctx context.Context, buckets *strictkv.Collection, who string, now time.Time,
) error {
	return buckets.DB().Tx(ctx, func(tx *strictkv.Tx) error {
		b := Bucket{Tokens: r.Burst, At: now}
		value, err := tx.Read(buckets, []byte(who))
		if err == nil {
			err = json.Unmarshal(value, &b)
		}
		if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
			return err
		}
		if passed := now.Sub(b.At); passed > 0 { // the clocks of two processes may differ
			b = Bucket{min(r.Burst, b.Tokens+passed.Seconds()*r.PerSecond), now}
		}
		if b.Tokens < 1 {
			return ErrTooMany
		}
		b.Tokens--
		if value, err = json.Marshal(b); err != nil {
			return err
		}
		fills := time.Duration((r.Burst - b.Tokens) / r.PerSecond * float64(time.Second))
		end := strictkv.ExpireAt(b.At.Add(fills + unusedFor))
		return tx.Write(buckets, []byte(who), value, end)
	})
}
