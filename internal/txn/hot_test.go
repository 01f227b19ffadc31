package txn_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txn"
)

// heat makes keys hot to the handle.
func (h *handle) heat(names ...string) {
	for _, name := range names {
		h.h.Keys.Lost(name)
		h.h.Keys.Lost(name)
	}
}

// order is the order in which cells were written.
func (h *handle) order() (names []string) {
	for _, op := range h.Sent(faulty.Put, "") {
		names = append(names, op.Name[len(prefix):])
	}
	return names
}

// The hot member with the smallest name gets its intent before all others are sent.
func TestHotMemberFirst(t *testing.T) {
	for _, x := range []struct {
		name string
		fn   func(tx *txn.Tx) error
	}{
		{"parallel", update("new", "=a", "=b", "=c")},
		{"validated", copyOf("=r", "=a", "=b", "=c")},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=c", "=r")
				h := w.handle()
				h.heat("=b", "=c")
				h.After(faulty.Put, "=b", 0, func(*faulty.Answer) {
					pass(time.Second)
					assert.Equal(t, []string{"=b"}, h.order(), "before it has landed")
				})
				h.must(x.fn)
				assert.Equal(t, "=b", h.order()[0])
				b, _ := w.Cell("=b")
				require.NotNil(t, b.Intent)
				assert.Equal(t, "=a", b.Intent.Primary().Name, "the primary is still the first")
			})
		})
	}
}

// A hot member that refuses is all that was sent. All members are read, in one round.
func TestHotMemberRefuses(t *testing.T) {
	for _, x := range []struct {
		name  string
		meet  func(w *world)
		order []string
		runs  int
	}{
		{"it has a new value", func(w *world) { w.overwrite("=b", 2) },
			[]string{"=b", "=b", "=a", "=c"}, 2},
		{"all have new values", func(w *world) { w.Value(2, "=a", "=b", "=c") },
			[]string{"=b", "=b", "=a", "=c"}, 2},
		{"only its version has moved", func(w *world) { w.touch("=b") },
			[]string{"=b", "=b", "=a", "=c"}, 1},
		{"a committed attempt holds all: its intents are folded", func(w *world) {
			w.rivalIn(2, cell.Staged, "=a", "=b", "=c")
		}, []string{"=b", "=b", "=a", "=c"}, 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=c")
				h := w.handle()
				h.heat("=b")
				h.meanwhile("=b", 0, func() { x.meet(w) })
				runs, err := h.tx(context.Background(), update("new", "=a", "=b", "=c"))
				require.NoError(t, err)
				assert.Equal(t, x.runs, runs)
				order := h.order()
				require.Len(t, order, 4)
				assert.Equal(t, x.order[:2], order[:2])
				assert.ElementsMatch(t, x.order[2:], order[2:])
				h.drain()
				for _, name := range []string{"=a", "=b", "=c"} {
					c, _ := w.Cell(name)
					assert.Equal(t, inline("new"), c.Value)
				}
			})
		})
	}
}

// rivalIn places a rival's intents in all of its members.
func (w *world) rivalIn(n byte, m cell.Mode, names ...string) {
	w.rival(n, m, names...).Place(names[1:]...)
}

// While some intent has not been sent, an answer that was lost leaves no doubt.
func TestHotMemberUnknown(t *testing.T) {
	for _, x := range []struct {
		name    string
		arrange func(w *world, h *handle)
	}{
		{"landed", func(_ *world, h *handle) { h.LoseAnswer("=b", 0, nil) }},
		{"lost on its way", func(_ *world, h *handle) { h.LoseRequest("=b", 0, nil) }},
		{"landed, and dropped; all cells forget", func(w *world, h *handle) {
			h.LoseAnswer("=b", 0, func() { w.forget("=a"); w.forget("=b") })
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h := w.handle()
				h.heat("=b")
				x.arrange(w, h)
				_, err := h.tx(context.Background(), update("new", "=a", "=b"))
				require.NoError(t, err)
				h.drain()
				for _, name := range []string{"=a", "=b"} {
					c, _ := w.Cell(name)
					assert.Equal(t, inline("new"), c.Value)
				}
			})
		})
	}
	t.Run("the caller leaves", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b")
			h := w.handle()
			h.heat("=b")
			ctx, leave := context.WithCancel(context.Background())
			defer leave()
			h.LoseAnswer("=b", 0, leave)
			_, err := h.tx(ctx, update("new", "=a", "=b"))
			require.ErrorIs(t, err, context.Canceled)
			assert.NotErrorIs(t, err, txn.ErrInDoubt)
			h.drain()
			w.clean("=a", "=b")
		})
	})
}

// A key that has lost a CAS is read again, together with what is not in the cache, before
// the function sees it.
func TestDoubtedKeysAreLookedAt(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.must(func(tx *txn.Tx) error { return look(tx, "=a", "=b") })
		h.h.Keys.Lost("=a")
		w.overwrite("=a", 2)
		w.overwrite("=b", 2)
		h.Forget()
		runs, err := h.tx(context.Background(), func(tx *txn.Tx) error {
			if _, err := tx.Read("=a"); err != nil {
				return err
			}
			assert.Len(t, h.Sent(faulty.Get, "=a"), 1)
			assert.Empty(t, h.Sent(faulty.Get, "=b"))
			return tx.Write("=a", []byte("new"), 0)
		})
		require.NoError(t, err)
		assert.Equal(t, 1, runs)
		assert.Equal(t, 1, h.puts())
	})
}

// A store that lets writes of one object wait in line takes as long for those that it refuses: who
// has waited in vain stands back, longer each time. Where writes are refused at once, it does not.
func TestHeldUp(t *testing.T) {
	const refusals = 5
	for _, hold := range []time.Duration{100 * time.Millisecond, 2 * time.Second} {
		t.Run(hold.String(), func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a")
				h, began := w.handle(), time.Now()
				for n := range refusals {
					h.Before(faulty.Put, "=a", n, func(context.Context) error {
						pass(hold)
						w.overwrite("=a", byte(2+n))
						return nil
					})
				}
				runs, err := h.tx(context.Background(), update("new", "=a"))
				require.NoError(t, err)
				assert.Equal(t, 1+refusals, runs)
				stood := time.Since(began) - refusals*hold
				assert.Equal(t, hold > time.Second, stood > time.Second, "%s", stood)
			})
		})
	}
}
