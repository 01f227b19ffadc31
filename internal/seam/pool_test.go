package seam_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/seam"
)

func TestPoolBeginsTasksInOrderAFewAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := seam.NewPool(rt, 2, 3)
		var mu sync.Mutex // guards all below
		var begun []int
		active, most := 0, 0
		start := time.Now()
		for i := range 8 {
			require.NoError(t, c.Do(background, func() {
				mu.Lock()
				begun = append(begun, i)
				active++
				most = max(most, active)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				active--
				mu.Unlock()
			}))
			synctest.Wait() // each has begun, or waits
		}
		assert.Equal(t, 2*time.Second, time.Since(start), "of 8 tasks 2 run and 3 wait")
		require.NoError(t, c.Wait())
		assert.Equal(t, 4*time.Second, time.Since(start))
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, begun)
		assert.Equal(t, 2, most)
		require.NoError(t, c.Wait(), "without work there is nothing to wait for")
	})
}

func TestPoolWithoutRoomGivesUpWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := seam.NewPool(rt, 1, 0)
		require.NoError(t, c.Do(background, func() { time.Sleep(time.Second) }))
		ctx, cancel := context.WithTimeout(background, time.Millisecond)
		defer cancel()
		require.ErrorIs(t, c.Do(ctx, func() { t.Error("it had no place") }),
			context.DeadlineExceeded)
		require.NoError(t, c.Wait())
	})
}

func TestPoolTellsAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := seam.NewPool(rt, 1, 1)
		require.NoError(t, c.Do(background, func() { time.Sleep(time.Second) }))
		var told sync.WaitGroup
		for range 3 {
			told.Go(func() { assert.NoError(t, c.Wait()) })
		}
		synctest.Wait()
		require.NoError(t, c.Do(background, func() { time.Sleep(time.Second) }), "while they wait")
		start := time.Now()
		told.Wait()
		assert.Equal(t, 2*time.Second, time.Since(start))
	})
}
