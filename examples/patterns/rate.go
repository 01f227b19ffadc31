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

// Rate is how many tokens flow into a bucket each second, and how many it holds.
type Rate struct{ PerSecond, Burst float64 }

// Allow takes a token out of somebody's bucket. It fails with ErrTooMany if there is none.
func (r Rate) Allow(
	ctx context.Context, buckets *strictkv.Collection, who string, now time.Time,
) error {
	return buckets.Update(ctx, []byte(who), func(old []byte) ([]byte, error) {
		b := Bucket{Tokens: r.Burst, At: now}
		if old != nil {
			if err := json.Unmarshal(old, &b); err != nil {
				return nil, err
			}
		}
		if passed := now.Sub(b.At); passed > 0 { // the clocks of two processes may differ
			b = Bucket{min(r.Burst, b.Tokens+passed.Seconds()*r.PerSecond), now}
		}
		if b.Tokens < 1 {
			return nil, ErrTooMany
		}
		b.Tokens--
		return json.Marshal(b)
	})
}
