package txn_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txn"
)

// hold makes the function's fifth run, the first under locks, take a while, and another handle
// want one of the keys from then on. It returns how long that has waited.
func (h *handle) hold(
	takes time.Duration, other *handle,
) (fn func(tx *txn.Tx) error, waited chan time.Duration) {
	waited = make(chan time.Duration, 1)
	h.tear()
	h.meanwhile("=b", 3, func() { h.w.overwrite("=b", 5) })
	runs := 0
	return func(tx *txn.Tx) error {
		if runs++; runs == 5 {
			began := time.Now()
			go func() {
				_, err := other.tx(background, update("other", "=b"))
				assert.NoError(h.w.T, err)
				waited <- time.Since(began)
			}()
			pass(takes)
		}
		return update("new", "=a", "=b")(tx)
	}, waited
}

// A heartbeat that gets no answer is given up before others lose their patience: the next
// finds the primary, and the commit does not wait for it.
func TestAHeartbeatThatHangs(t *testing.T) {
	for _, x := range []struct {
		name  string
		takes time.Duration // of the function
		most  time.Duration // of what the transaction takes beside that
	}{
		{"another follows", 5 * patience, patience / 4},
		{"while the transaction commits", patience/2 + 10*time.Millisecond, patience / 4},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h, other := w.handle(), w.handle()
				fn, waited := h.hold(x.takes, other)
				h.Before(faulty.Put, "=a", 4, func(ctx context.Context) error {
					<-ctx.Done()
					return backend.ErrOutcomeUnknown
				})
				began := time.Now()
				runs, err := h.tx(background, fn)
				require.NoError(t, err)
				assert.Equal(t, 5, runs, "the locks were lost")
				assert.Less(t, time.Since(began), x.takes+x.most)
				<-waited
			})
		})
	}
}

// slow lets the answers to reads of a cell take a while.
func (h *handle) slow(name string, takes time.Duration) {
	h.Every(func(ctx context.Context, op faulty.Op, a *faulty.Answer) {
		if a != nil && op.Kind == faulty.Get && op.Name == prefix+name {
			time.Sleep(takes)
		}
	})
}

// A reader does not kill an attempt because its validation takes longer than his patience.
func TestASlowValidationIsNotKilled(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=r")
		h, reader := w.handle(), w.handle()
		h.must(func(tx *txn.Tx) error { return look(tx, "=r") })
		const takes = 3*patience - time.Millisecond
		h.slow("=r", takes)
		over := make(chan string)
		go func() {
			pass(time.Millisecond)
			v, _ := reader.read("=a")
			over <- v
		}()
		began, puts := time.Now(), h.puts()
		ctx, cancel := context.WithTimeout(background, time.Minute)
		defer cancel()
		_, err := h.tx(ctx, copyOf("=r", "=a"))
		require.NoError(t, err)
		assert.Equal(t, takes, time.Since(began), "one attempt")
		assert.Equal(t, 2+5, h.puts()-puts, "intent, a heartbeat each second, commit write")
		assert.Equal(t, "copied", <-over, "he has waited")
	})
}

// A validation that takes no longer than usual costs no heartbeat.
func TestAnOrdinaryValidationHasNoHeartbeat(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=r")
		h := w.handle()
		h.slow("=r", patience/2-time.Millisecond)
		_, err := h.tx(background, copyOf("=r", "=a"))
		require.NoError(t, err)
		assert.Equal(t, 2, h.puts())
	})
}

// Who has killed an attempt during its validation is found out before its commit write.
func TestAHeartbeatFindsTheValidatedAttemptDead(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=r")
		h := w.handle()
		h.must(func(tx *txn.Tx) error { return look(tx, "=r") })
		var once sync.Once
		h.Every(func(_ context.Context, op faulty.Op, a *faulty.Answer) {
			if a != nil && op.Kind == faulty.Get && op.Name == prefix+"=r" {
				once.Do(func() {
					w.drop("=a")
					pass(patience)
				})
			}
		})
		h.must(copyOf("=r", "=a"))
		assert.Equal(t, 4, h.puts(), "intent, heartbeat; intent, commit write")
	})
}

// Somebody has less patience than the owner of locks, whose heartbeats come often enough.
func TestLessPatienceThanTheOwnerOfLocks(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h, other := w.handleOf(20*patience), w.handle()
		fn, waited := h.hold(10*time.Second, other)
		runs, err := h.tx(background, fn)
		require.NoError(t, err)
		assert.Equal(t, 5, runs, "the locks were lost")
		assert.GreaterOrEqual(t, <-waited, 10*time.Second)
	})
}

// An error while several keys are being locked is returned at once, and nothing stays locked,
// whatever the others are waiting for.
func TestAnErrorWhileLockingIsReturnedAtOnce(t *testing.T) {
	for name, other := range map[string]func(ctx context.Context, w *world) error{
		"a write hangs": func(ctx context.Context, _ *world) error {
			<-ctx.Done()
			return backend.ErrOutcomeUnknown
		},
		"another's locks are waited for": func(_ context.Context, w *world) error {
			w.overwrite("=b", 5)
			r := w.Rival(1, cell.Pending, "=b")
			r.Intent.Priority.Time = -1 << 63
			r.Place("=b")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=c")
				h := w.handle()
				h.tear()
				h.Before(faulty.Put, "=b", 3, func(ctx context.Context) error {
					return other(ctx, w)
				})
				h.meanwhile("=c", 0, func() {})
				h.Before(faulty.Put, "=c", 3, func(context.Context) error {
					pass(10 * time.Millisecond)
					return backend.ErrDenied
				})
				began := time.Now()
				_, err := h.tx(background, update("new", "=a", "=b", "=c"))
				require.ErrorIs(t, err, backend.ErrDenied)
				assert.Less(t, time.Since(began), patience/4)
				synctest.Wait()
				pass(patience / 4)
				for _, name := range []string{"=a", "=c"} {
					c, _ := w.Cell(name)
					assert.Nil(t, c.Intent, name)
				}
			})
		})
	}
}

// The same where the values are written.
func TestAnErrorUnderLocksIsReturnedAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		h := w.handle()
		h.tear()
		h.Before(faulty.Put, "=b", 4, func(ctx context.Context) error {
			<-ctx.Done()
			return backend.ErrOutcomeUnknown
		})
		h.Before(faulty.Put, "=c", 4, func(context.Context) error { return backend.ErrDenied })
		began := time.Now()
		_, err := h.tx(background, update("new", "=a", "=b", "=c"))
		require.ErrorIs(t, err, backend.ErrDenied)
		assert.Less(t, time.Since(began), patience/4)
		h.drain()
		for _, name := range []string{"=a", "=b", "=c"} {
			c, _ := w.Cell(name)
			assert.Nil(t, c.Intent, name)
		}
	})
}
