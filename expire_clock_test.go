package strictkv_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
)

// behind is a store whose clock is behind the processes', and whose answers to reads do not tell
// the time, like those of Cloud Storage.
func behind(by time.Duration) (b backend.Backend, clock func() time.Time) {
	clock = func() time.Time { return time.Now().Add(-by).Round(0) }
	return faulty.New(memory.New(memory.WithClock(clock)), faulty.Options{After: func(
		_ context.Context, _ faulty.Op, a *faulty.Answer,
	) {
		a.Object.Time = time.Time{}
	}}), clock
}

// TestSweepGoesByTheStoresClock, though its handle has written nothing yet.
func TestSweepGoesByTheStoresClock(t *testing.T) {
	for _, horizon := range []time.Duration{0, -1} {
		synctest.Test(t, func(t *testing.T) {
			b, clock := behind(2 * time.Hour)
			_, c := openDB(t, b)
			until := strictkv.ExpireAt(clock().Add(90 * time.Minute))
			require.NoError(t, c.Write(t.Context(), []byte("k"), []byte("v"), until))
			time.Sleep(5 * time.Minute)
			db, _ := openDB(t, b)
			r, err := db.Sweep(t.Context(), strictkv.SweepOptions{Horizon: horizon})
			require.NoError(t, err)
			assert.Zero(t, r.Expired)
			_, err = c.Read(t.Context(), []byte("k"))
			require.NoError(t, err, "85 minutes before its end by the store's clock")
		})
	}
}

// TestInsertGoesByTheStoresClock, though its handle has written nothing yet.
func TestInsertGoesByTheStoresClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, clock := behind(2 * time.Minute)
		_, c := openDB(t, b)
		lease := func(c *strictkv.Collection) error {
			end := strictkv.ExpireAt(clock().Add(time.Minute))
			return c.Insert(t.Context(), []byte("leader"), nil, end)
		}
		require.NoError(t, lease(c))
		time.Sleep(time.Second)
		_, other := openDB(t, b)
		require.ErrorIs(t, lease(other), strictkv.ErrExists, "59 s before its end")
		time.Sleep(time.Minute)
		require.NoError(t, lease(other))
	})
}

// TestGroupOfShortLives: each sees what the one before has staged, and that ends before the group
// can commit. So each commits by itself.
func TestGroupOfShortLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const latency = 50 * time.Millisecond
		took := simulated.Latency{Mean: latency}
		slow := simulated.Profile{Get: took, Stat: took, Put: took, List: took}
		db, c := openDB(t, simulated.New(memory.New(), nil, slow))
		key := []byte("k")
		require.NoError(t, c.Write(t.Context(), key, nil))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				err := db.Tx(ctx, func(tx *strictkv.Tx) error {
					_, _ = tx.Read(c, key)
					end := strictkv.ExpireAt(time.Now().Add(latency / 2))
					return tx.Write(c, key, nil, end)
				})
				assert.NoError(t, err)
			})
		}
		all.Wait()
	})
}
