package txn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/txn"
)

// One who leaves while an attempt of the group commits does not count for the next, which
// is without him.
func TestAGroupGoesOnForWhoHasNotLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.busy("=a")
		n := h.sentBefore(faulty.Put, "=a")
		h.Before(faulty.Put, "=a", n, func(context.Context) error {
			time.Sleep(2 * time.Second) // the first leaves
			w.Value(9, "=a")
			return nil
		})
		h.Before(faulty.Put, "=a", n+1, func(ctx context.Context) error {
			return seam.Real().Sleep(ctx, 4*time.Second) // the second leaves
		})
		left := make(chan error, 2)
		for _, d := range []time.Duration{2 * time.Second, 5 * time.Second} {
			go func() {
				ctx, cancel := context.WithTimeout(background, d)
				defer cancel()
				left <- h.engine.Run(ctx, txn.Options{}, increment("=a"))
			}()
		}
		assert.NoError(t, h.all(increment("=a"))[0], "he has not left")
		for range 2 {
			require.ErrorIs(t, <-left, txn.ErrInDoubt)
		}
	})
}

// Doubt is about the keys that the function itself has written.
func TestDoubtIsAboutOnesOwnKeys(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.busy("=a", "=b")
		h.After(faulty.Put, "=a", h.sentBefore(faulty.Put, "=a"),
			func(*faulty.Answer) { time.Sleep(10 * time.Second) })
		fns := []func(tx *txn.Tx) error{
			func(tx *txn.Tx) error { return errors.Join(look(tx, "=b"), increment("=a")(tx)) },
			func(tx *txn.Tx) error { return increment("=b", "=a")(tx) },
			func(tx *txn.Tx) error { return errors.Join(look(tx, "=a"), increment("=b")(tx)) },
		}
		errs, done := make([]error, len(fns)), make(chan struct{})
		for i, fn := range fns {
			go func() {
				defer func() { done <- struct{}{} }()
				ctx, cancel := context.WithTimeout(background, 3*time.Second)
				defer cancel()
				errs[i] = h.engine.Run(ctx, txn.Options{}, func(tx *txn.Tx) error {
					return fn(tx)
				})
			}()
			synctest.Wait()
		}
		for range fns {
			<-done
		}
		for i, want := range [][]string{{"=a"}, {"=b", "=a"}, {"=b"}} {
			var doubt *txn.InDoubtError
			require.ErrorAs(t, errs[i], &doubt)
			assert.Equal(t, want, doubt.Names)
		}
		time.Sleep(20 * time.Second)
	})
}

// slowly makes each request take 50 ms.
func (h *handle) slowly() {
	h.Every(func(_ context.Context, _ faulty.Op, a *faulty.Answer) {
		if a == nil {
			time.Sleep(50 * time.Millisecond)
		}
	})
}

// crowd increments a number in many goroutines, by functions that take some time, until ctx
// ends; wait then returns how long a transaction has taken at most.
func (h *handle) crowd(ctx context.Context, n int, d time.Duration) (wait func() time.Duration) {
	worst := make(chan time.Duration)
	for range n {
		go func() {
			most := time.Duration(0)
			for ctx.Err() == nil {
				begun := time.Now()
				_ = h.engine.Run(ctx, txn.Options{}, func(tx *txn.Tx) error {
					time.Sleep(d)
					return increment("=a")(tx)
				})
				most = max(most, time.Since(begun))
			}
			worst <- most
		}()
	}
	return func() (most time.Duration) {
		for range n {
			most = max(most, <-worst)
		}
		h.drain()
		return most
	}
}

// A function that takes longer than a group waits for is not overtaken for ever by the
// others of its handle.
func TestASlowFunctionHasItsTurn(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.slowly()
		ctx, cancel := context.WithTimeout(background, time.Minute)
		wait := h.crowd(ctx, 4, 0)
		time.Sleep(time.Second)
		runs, err := h.tx(ctx, func(tx *txn.Tx) error {
			v, err := tx.Read("=a")
			time.Sleep(400 * time.Millisecond)
			return errors.Join(err, tx.Write("=a", v, 0))
		})
		assert.NoError(t, err)
		assert.LessOrEqual(t, runs, 7)
		cancel()
		wait()
	})
}

// A group that has no time for all takes the eldest.
func TestNobodyIsOvertakenWhereThereIsNoTimeForAll(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.slowly()
		ctx, cancel := context.WithTimeout(background, time.Minute)
		defer cancel()
		assert.Less(t, h.crowd(ctx, 12, 120*time.Millisecond)(), 3*time.Second)
	})
}

// What a function has left behind may use its Tx to no effect, while the group goes on.
func TestWhatAFunctionLeavesBehindFindsItsTxDone(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.busy("=a")
		errs, left := make(chan error, 8), 0
		leaves := func(tx *txn.Tx) error {
			err := increment("=a")(tx)
			left++
			go func() {
				time.Sleep(time.Millisecond)
				for range 100 {
					tx.Name([]byte("=a"))
				}
				_, err := tx.Read("=a")
				errs <- err
			}()
			return err
		}
		slow := func(tx *txn.Tx) error {
			time.Sleep(time.Millisecond)
			return increment("=a")(tx)
		}
		for _, err := range h.all(leaves, slow, slow) {
			require.NoError(t, err)
		}
		for range left {
			require.ErrorIs(t, <-errs, txn.ErrTxDone)
		}
	})
}
