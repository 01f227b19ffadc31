package txn_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txn"
)

// A racer's request is lost, and so is the answer of another, whose lock has landed upon a
// later value. The first finds a lock of its own attempt in the cell, but has not seen what it
// protects: what it knows must not be taken for that.
func TestRacedLocksAreNotMistaken(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.tear()
		h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
		h.meanwhile("=b", 4, func() { w.overwrite("=b", 6) })
		h.LoseRequest("=b", 5, func() {
			c, _ := w.Cell("=b")
			w.Put("=b", cell.Write(c, cell.Fold{}, id(7), cell.Put, inline("late")))
			pass(100 * time.Millisecond)
		})
		h.LoseAnswer("=b", 5, func() { pass(time.Second) }) // of the next Put
		var saw string
		_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
			b, err := tx.Read("=b")
			saw = string(b)
			if err != nil {
				return err
			}
			return update("new", "=a", "=b")(tx)
		})
		require.NoError(t, err)
		assert.Equal(t, "late", saw)
	})
}

// Who allows only so many attempts gets no more: each try of a primary is one.
func TestAttemptsAllowedAreNotSpentInARace(t *testing.T) {
	const allowed = 7
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.tear()
		for n := byte(3); n < 20; n++ {
			h.meanwhile("=a", int(n), func() { w.overwrite("=a", n+2) })
		}
		err := h.engine.Run(context.Background(), txn.Options{MaxAttempts: allowed},
			update("new", "=a", "=b"))
		var conflict *txn.ConflictError
		require.ErrorAs(t, err, &conflict)
		assert.Equal(t, allowed, conflict.Attempts)
		assert.Equal(t, allowed, int(h.engine.Stats().Refused.Load()))
	})
}

// Two tries of a raced for primary land, one after another, as somebody (a sweep in a hurry) has
// dropped the first lock. The answer of the first comes first, so its attempt goes on; that of
// the second is dead, and stands in the cell. When the transaction then ends, both have to be
// cleaned up: none of the two attempts' intents may stay behind.
func TestRacedPrimaryLeavesNoIntentOfTheOtherTry(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.tear()
		h.meanwhile("=a", 3, func() { w.overwrite("=a", 5) })
		h.meanwhile("=a", 4, func() { w.overwrite("=a", 6) })
		h.After(faulty.Put, "=a", 5, func(a *faulty.Answer) { // a try has landed
			assert.NoError(t, a.Err)
			w.drop("=a")
			pass(200 * time.Millisecond)
		})
		h.After(faulty.Put, "=a", 6, func(a *faulty.Answer) { // another has, too
			assert.NoError(t, a.Err)
			pass(300 * time.Millisecond)
		})
		ctx, leave := context.WithCancel(context.Background())
		defer leave()
		h.Before(faulty.Put, "=b", 3, func(ctx context.Context) error { // to be locked
			leave()
			return context.Cause(ctx)
		})
		_, err := h.tx(ctx, update("new", "=a", "=b"))
		require.ErrorIs(t, err, context.Canceled)
		h.drain()
		for _, name := range []string{"=a", "=b"} {
			c, _ := w.Cell(name)
			assert.Nil(t, c.Intent, name)
		}
	})
}

// While one try hangs, another wins. The winner must go on: else its locks keep others waiting
// for as long as the request that has lost may take, and those of the primary without heartbeats.
func TestAWonRaceDoesNotWaitForTheOtherTries(t *testing.T) {
	for _, key := range []string{"=a", "=b"} {
		t.Run(key, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h, other := w.handle(), w.handle()
				h.tear()
				h.meanwhile(key, 3, func() { w.overwrite(key, 5) })
				h.meanwhile(key, 4, func() { w.overwrite(key, 6) })
				h.Before(faulty.Put, key, 5, func(ctx context.Context) error {
					w.overwrite(key, 7)
					<-ctx.Done()
					return errors.Join(backend.ErrOutcomeUnknown, ctx.Err())
				})
				took := make(chan time.Duration)
				go func() {
					pass(200 * time.Millisecond) // the lock has landed
					start := time.Now()
					_, err := other.tx(context.Background(), update("other", key))
					assert.NoError(t, err)
					took <- time.Since(start)
				}()
				_, err := h.tx(context.Background(), update("new", "=a", "=b"))
				require.NoError(t, err)
				assert.Less(t, <-took, patience, "another writer")
			})
		})
	}
}

// A race of =b ends without knowing which try has landed: the locks are given up. Those who
// lock =c at the same time must stop then, instead of holding all the other keys until they have
// got a lock that is of no use.
func TestLocksThatAreGivenUpAreNotCompleted(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		h := w.handle()
		h.Every(func(_ context.Context, op faulty.Op, _ *faulty.Answer) {
			if op.Kind == faulty.Put {
				pass(35 * time.Millisecond)
			}
			pass(15 * time.Millisecond)
		})
		h.tear()
		h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
		h.meanwhile("=b", 4, func() { w.overwrite("=b", 6) })
		h.LoseAnswer("=b", 5, nil)
		for n := 3; n < 200; n++ {
			h.meanwhile("=c", n, func() { w.overwrite("=c", byte(n)) })
		}
		start, runs := time.Now(), 0
		var fifth time.Duration // when the function runs again, without the locks
		_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
			if runs++; runs == 5 {
				fifth = time.Since(start)
			}
			return update("new", "=a", "=b", "=c")(tx)
		})
		require.NoError(t, err)
		assert.Less(t, fifth, 5*time.Second)
	})
}

// The answer of a raced for lock is lost, and another try learns only later that it was refused,
// by what came before: the lock is of no use still, and must not be waited for.
func TestARaceIsLostThoughAnotherTryWasRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.tear()
		h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
		h.meanwhile("=b", 4, func() { w.overwrite("=b", 6) })
		var refused atomic.Bool
		h.meanwhile("=b", 5, func() {
			w.overwrite("=b", 7)
			refused.Store(true)
		})
		h.Every(func(_ context.Context, op faulty.Op, a *faulty.Answer) {
			if a != nil && op.Kind == faulty.Get && refused.Swap(false) {
				pass(300 * time.Millisecond) // what has refused it is told late
			}
		})
		h.LoseAnswer("=b", 6, nil)
		start := time.Now()
		_, err := h.tx(context.Background(), update("new", "=a", "=b"))
		require.NoError(t, err)
		assert.Zero(t, h.Planned())
		assert.Less(t, time.Since(start), patience)
	})
}

// A try in a race is denied, or the look at what became of it: that ends the transaction, and is
// not taken for a lock.
func TestADeniedTryEndsARace(t *testing.T) {
	for name, lost := range map[string]bool{"the write": false, "the look after it": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h := w.handle()
				h.tear()
				h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
				h.meanwhile("=b", 4, func() { w.overwrite("=b", 6) })
				var denied atomic.Bool
				h.Before(faulty.Put, "=b", 5, func(context.Context) error {
					if denied.Store(lost); lost {
						return backend.ErrOutcomeUnknown
					}
					return backend.ErrDenied
				})
				h.Every(func(_ context.Context, op faulty.Op, a *faulty.Answer) {
					if a != nil && op.Kind == faulty.Get && denied.Swap(false) {
						a.Err = backend.ErrDenied
					}
				})
				_, err := h.tx(context.Background(), update("new", "=a", "=b"))
				require.ErrorIs(t, err, backend.ErrDenied)
				assert.Zero(t, h.Planned())
			})
		})
	}
}
