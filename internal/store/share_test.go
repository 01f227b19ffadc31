package store_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
)

// A read that others have joined gets no answer: they do not hang with it.
func TestAJoinedReadThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, w := open(t, memory.New())
		w.before = func(ctx context.Context, _ faulty.Op, n int) error {
			if n == 0 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		led := make(chan error)
		go func() {
			_, err := st.ReadShared(background, "=a", 0)
			led <- err
		}()
		synctest.Wait()
		began := time.Now()
		_, err := st.ReadShared(background, "=a", 0)
		require.NoError(t, err)
		assert.Equal(t, 2*time.Second, time.Since(began))
		short, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		_, err = st.ReadShared(short, "=a", 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, <-led, "it was sent again")
	})
}
