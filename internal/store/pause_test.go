package store_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
)

// busy is an answer that asks for a pause.
type busy struct{ pause time.Duration }

func (b busy) Error() string { return "busy" }

func (b busy) Is(target error) bool { return target == backend.ErrThrottled }

func (b busy) RetryAfter() time.Duration { return b.pause }

// A request is sent again after the pause that the store asks for, and a little more, which
// is random; but it does not wait forever.
func TestPauseThatAStoreAsksFor(t *testing.T) {
	const backoffMin, pauseMax = 50 * time.Millisecond, 30 * time.Second
	for _, x := range []struct{ asked, least time.Duration }{
		{0, 0}, {-time.Hour, 0}, {2 * time.Second, 2 * time.Second}, {pauseMax, pauseMax},
		{time.Hour, pauseMax},
	} {
		synctest.Test(t, func(t *testing.T) {
			st, w := open(t, memory.New())
			var at []time.Time
			w.before = func(_ context.Context, _ faulty.Op, n int) error {
				at = append(at, time.Now())
				if n < 1 {
					return fmt.Errorf("get: %w", busy{x.asked})
				}
				return nil
			}
			_, err := st.Read(background, "=key")
			require.NoError(t, err)
			require.Len(t, at, 2)
			pause := at[1].Sub(at[0])
			assert.GreaterOrEqual(t, pause, x.least+backoffMin/2, "asked for %v", x.asked)
			assert.LessOrEqual(t, pause, x.least+backoffMin, "asked for %v", x.asked)
		})
	}
}

// The pause ends with the caller's context.
func TestPauseEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, w := open(t, memory.New())
		w.fail(busy{time.Hour})
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		begun := time.Now()
		_, err := st.Read(ctx, "=key")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(begun))
	})
}
