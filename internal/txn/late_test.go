package txn_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txn"
)

// loseLate makes the nth Put of a cell stand still for so long, and get lost.
func (h *handle) loseLate(name string, nth int, wait time.Duration) {
	h.Before(faulty.Put, name, nth, func(context.Context) error {
		pass(wait)
		return backend.ErrOutcomeUnknown
	})
}

// The time of an attempt may run out at any step. If something is on its way then that may commit
// it, it is in doubt; else it is dead, and another attempt is made.
func TestTheTimeOfAnAttemptRunsOut(t *testing.T) {
	const tooLong = store.AttemptMax + time.Minute
	for _, x := range []struct {
		name  string
		fn    func(tx *txn.Tx) error
		delay func(h *handle)
		want  error
	}{
		{"in the pause before a write is sent again", write("new", "=a"), func(h *handle) {
			h.loseLate("=a", 0, store.AttemptMax-5*time.Millisecond)
		}, txn.ErrInDoubt},
		{"between the hot member and the rest", write("new", "=a", "=b"), func(h *handle) {
			h.heat("=a")
			h.After(faulty.Put, "=a", 0, func(*faulty.Answer) { pass(tooLong) })
		}, nil},
		{"behind the hot member", write("new", "=a", "=b"), func(h *handle) {
			h.heat("=a")
			h.loseLate("=b", 0, tooLong)
		}, txn.ErrInDoubt},
		{"before the commit write", copyOf("=r", "=a"), func(h *handle) {
			h.Before(faulty.Get, "=r", 1, func(context.Context) error { pass(tooLong); return nil })
		}, nil},
		{"after a commit write that was lost", copyOf("=r", "=a"), func(h *handle) {
			h.loseLate("=a", 1, tooLong)
		}, txn.ErrInDoubt},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=r")
				h := w.handleOnce()
				x.delay(h)
				_, err := h.tx(context.Background(), x.fn)
				require.ErrorIs(t, err, x.want)
				assert.Zero(t, h.Planned(), "it was not delayed")
				h.drain()
				if x.want == nil {
					v, _ := w.handle().read("=a")
					assert.NotEqual(t, "v", v)
				}
				c, _ := w.Cell("=a")
				assert.Nil(t, c.Intent)
			})
		})
	}
}

// A value counts as garbage some time after its upload began: an attempt that links it is over
// before that, however late it has begun itself.
func TestAnAttemptEndsByTheAgeOfItsValue(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		h := w.handleOnce()
		h.Before(faulty.Get, "=a", 0, func(context.Context) error {
			pass(7 * time.Minute) // the value is uploaded meanwhile
			return nil
		})
		h.loseLate("=a", 0, 9*time.Minute)
		_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
			return tx.Write("=a", make([]byte, txn.InlineMax+1), 0)
		})
		assert.ErrorIs(t, err, txn.ErrInDoubt)
		assert.Zero(t, h.Planned())
		assert.Len(t, h.uploads("=a"), 1)
		h.drain()
	})
}

// As TestWritesThatLandDaysApart, but it has committed as the late write landed, and others have
// settled it and written so often since that no cell can tell: it must not be made again.
func TestWritesThatLandDaysApartAndAreForgotten(t *testing.T) {
	settle := func(w *world) {
		w.Fold("=a", "=b")
		w.forget("=a")
		w.forget("=b")
	}
	for name, when := range map[string]func(w *world, h *handle){
		"before it looks": func(w *world, h *handle) {
			h.After(faulty.Put, "=a", 0, func(*faulty.Answer) { settle(w) })
		},
		"as it looks": func(w *world, h *handle) {
			h.Before(faulty.Get, "=a", 1, func(context.Context) error {
				pass(time.Millisecond) // the other one is seen to hold the intent
				settle(w)
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h := w.handleOnce()
				h.Before(faulty.Put, "=a", 0, func(context.Context) error {
					pass(time.Millisecond) // the other one lands
					w.Leap(100 * time.Hour)
					return nil
				})
				when(w, h)
				runs, err := h.tx(context.Background(), write("new", "=a", "=b"))
				assert.ErrorIs(t, err, txn.ErrInDoubt)
				assert.Equal(t, 1, runs)
				assert.Zero(t, h.Planned())
				h.drain()
			})
		})
	}
}

// Of a store that tells the time with writes alone an attempt learns from its own how old it is:
// when nothing is there days later, that does not say that nothing was.
func TestAnAttemptLearnsTheTimeFromItsOwnWrites(t *testing.T) {
	inWorld(t, func(w *world) {
		net := w.Net()
		net.Once = true
		net.Every(func(_ context.Context, _ faulty.Op, a *faulty.Answer) {
			if a != nil { // no time is told as it opens
				a.Object.Time, a.Stamp.Time = time.Time{}, time.Time{}
			}
		})
		h := w.connect(net, 1<<20)
		net.Every(nil)
		h.LoseAnswer("=b", 0, func() {
			w.Leap(100 * time.Hour)
			w.Fold("=a", "=b")
			w.Write(60, cell.Delete, cell.Value{}, "=a", "=b")
			w.Remove("=a")
			w.Remove("=b")
		})
		runs, err := h.tx(context.Background(), insert("=a", "=b"))
		assert.ErrorIs(t, err, txn.ErrInDoubt)
		assert.Equal(t, 1, runs)
		h.drain()
	})
}

// Only what may not have landed is sent again.
func TestWhatHasLandedIsNotSentAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		h := w.handleOnce()
		lost := func(context.Context) error { return backend.ErrOutcomeUnknown }
		h.Before(faulty.Put, "=b", 0, lost)
		h.Before(faulty.Put, "=b", 1, lost)
		h.Before(faulty.Put, "=b", 2, func(context.Context) error {
			assert.Equal(t, 1, h.sentBefore(faulty.Put, "=a"))
			assert.Equal(t, 1, h.sentBefore(faulty.Put, "=c"))
			return nil
		})
		runs, err := h.tx(context.Background(), write("new", "=a", "=b", "=c"))
		require.NoError(t, err)
		assert.Equal(t, 1, runs)
		assert.Zero(t, h.Planned(), "the third has been sent")
		h.drain()
	})
}
