package seam_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/internal/seam"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	background = context.Background()
	rt         = seam.Real()
)

func TestEachReturnsTheErrorOfTheLowestIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{1, 2, 5} {
			for low := range n {
				err := seam.Each(rt, n, func(i int) error {
					time.Sleep(time.Duration(n-i) * time.Second) // the lowest fails last
					if i < low {
						return nil
					}
					return fmt.Errorf("%d", i)
				})
				assert.EqualError(t, err, fmt.Sprint(low))
			}
		}
	})
}

func TestEachCallsAllAtOnceAndWaitsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := range 6 {
			begun := time.Now()
			var calls, done atomic.Int64
			err := seam.Each(rt, n, func(i int) error {
				calls.Add(1 << (8 * i))
				time.Sleep(time.Second)
				done.Add(1)
				if i == 0 {
					return errors.New("early")
				}
				return nil
			})
			assert.Equal(t, n > 0, err != nil)
			assert.Equal(t, int64(n), done.Load(), "an error stops nobody")
			want := int64(0)
			for i := range n {
				want += 1 << (8 * i)
			}
			assert.Equal(t, want, calls.Load(), "each index once")
			assert.Equal(t, time.Duration(min(n, 1))*time.Second, time.Since(begun))
		}
	})
}

func TestSomeKeepsToItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := range 8 {
			begun := time.Now()
			var calls, active atomic.Int64
			err := seam.Some(rt, n, 3, func(i int) error {
				calls.Add(1 << (8 * i))
				assert.LessOrEqual(t, active.Add(1), int64(3))
				time.Sleep(time.Second)
				active.Add(-1)
				if i >= 1 {
					return fmt.Errorf("%d", i)
				}
				return nil
			})
			if n > 1 {
				assert.EqualError(t, err, "1", "that of the lowest index")
			} else {
				assert.NoError(t, err)
			}
			want := int64(0)
			for i := range n {
				want += 1 << (8 * i)
			}
			assert.Equal(t, want, calls.Load(), "each index once")
			assert.Equal(t, time.Duration((n+2)/3)*time.Second, time.Since(begun))
		}
	})
}

func TestSomeGoesOnBesideWhoHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		require.NoError(t, seam.Some(rt, 100, 2, func(i int) error {
			if i == 0 {
				time.Sleep(time.Minute)
			} else {
				time.Sleep(time.Millisecond)
			}
			return nil
		}))
		assert.Equal(t, time.Minute, time.Since(begun))
	})
}

func TestLimiterServesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := seam.NewLimiter(rt, 2)
		require.NoError(t, l.Acquire(background))
		require.NoError(t, l.Acquire(background))
		var mu sync.Mutex
		var order []int
		for i := range 6 {
			go func() {
				assert.NoError(t, l.Acquire(background))
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
			}()
			synctest.Wait()
		}
		assert.Empty(t, order)
		for i := range 6 {
			l.Release()
			synctest.Wait()
			assert.Len(t, order, i+1, "one place, one more call")
		}
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5}, order)
	})
}

func TestLimiterWaiterWhoLeavesTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := seam.NewLimiter(rt, 1)
		require.NoError(t, l.Acquire(background))
		ctx, cancel := context.WithCancel(background)
		errs, served := make(chan error, 1), make(chan struct{}, 1)
		go func() { errs <- l.Acquire(ctx) }()
		synctest.Wait()
		go func() {
			assert.NoError(t, l.Acquire(background))
			served <- struct{}{}
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-errs, context.Canceled)
		assert.Empty(t, served, "the place is not free")
		l.Release()
		<-served
		l.Release()
		require.NoError(t, l.Acquire(background), "no place was lost")
		l.Release()
	})
}

// A turn may come in the instant in which its waiter leaves: the place goes on.
func TestLimiterLosesNoPlace(t *testing.T) {
	for range 300 {
		l := seam.NewLimiter(rt, 1)
		require.NoError(t, l.Acquire(background))
		ctx, cancel := context.WithCancel(background)
		done := make(chan struct{})
		go func() {
			if l.Acquire(ctx) == nil {
				l.Release()
			}
			close(done)
		}()
		go cancel()
		l.Release()
		<-done
		require.NoError(t, l.Acquire(background))
		l.Release()
		cancel()
	}
}

// leaver is a runtime whose events are set and left in the same instant.
type leaver struct{ seam.Runtime }

type lateEvent struct{ seam.Event }

func (leaver) NewEvent() seam.Event { return lateEvent{rt.NewEvent()} }

// Wait reports the end of the context although the event has happened.
func (e lateEvent) Wait(ctx context.Context) error {
	if err := e.Event.Wait(background); err != nil {
		return err
	}
	return ctx.Err()
}

func TestLimiterPassesOnThePlaceOfWhoLeftAsItsTurnCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := seam.NewLimiter(leaver{rt}, 1)
		require.NoError(t, l.Acquire(background))
		ctx, cancel := context.WithCancel(background)
		errs := make(chan error, 1)
		go func() { errs <- l.Acquire(ctx) }()
		synctest.Wait()
		cancel()
		l.Release()
		require.ErrorIs(t, <-errs, context.Canceled)
		short, stop := context.WithTimeout(background, time.Second)
		defer stop()
		assert.NoError(t, l.Acquire(short), "the place is lost")
	})
}

func TestEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := rt.NewEvent()
		assert.False(t, e.IsSet())
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		require.ErrorIs(t, e.Wait(ctx), context.DeadlineExceeded)
		waits := make(chan error, 3)
		for range 3 {
			go func() { waits <- e.Wait(background) }()
		}
		synctest.Wait()
		assert.Empty(t, waits)
		e.Set()
		e.Set()
		for range 3 {
			assert.NoError(t, <-waits)
		}
		assert.True(t, e.IsSet())
		assert.NoError(t, e.Wait(ctx), "what has happened is not waited for")
	})
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		require.NoError(t, rt.Sleep(background, time.Second))
		assert.Equal(t, time.Second, time.Since(begun))
		ctx, cancel := rt.WithTimeout(background, time.Second)
		defer cancel()
		require.ErrorIs(t, rt.Sleep(ctx, time.Hour), context.DeadlineExceeded)
		assert.Equal(t, 2*time.Second, time.Since(begun))
		assert.ErrorIs(t, rt.Sleep(ctx, 0), context.DeadlineExceeded)
		assert.NoError(t, rt.Sleep(background, -1))
		ctx, cancel = rt.WithCancel(background)
		cancel()
		assert.ErrorIs(t, rt.Sleep(ctx, time.Hour), context.Canceled)
	})
}

func TestRuntimeOfAContext(t *testing.T) {
	assert.Equal(t, rt, seam.FromContext(background))
	ctx := seam.NewContext(background, leaver{rt})
	assert.Equal(t, leaver{rt}, seam.FromContext(ctx))
}

func TestObserverCountsHeldMutexes(t *testing.T) {
	held, most := 0, 0
	seam.Observe(func(delta int) { held += delta; most = max(most, held) })
	var m, n seam.Mutex
	m.Lock()
	n.Lock()
	unlock := []func(){n.Unlock, m.Unlock}
	for _, f := range unlock {
		f()
	}
	seam.Observe(nil)
	m.Lock()
	unlock[1]()
	assert.Equal(t, 2, most)
	assert.Zero(t, held)
}
