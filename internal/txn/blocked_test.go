package txn_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txn"
)

// A store goes on refusing writes of a cell at the very version that it reports. That is not
// tried for ever, nor without a pause, and ends with an error that tells what the store does.
func TestStoreThatGoesOnRefusing(t *testing.T) {
	for _, x := range []struct {
		name    string
		fn      func(tx *txn.Tx) error
		refused string // cell; "*" stands for both
		arrange func(w *world, h *handle)
	}{
		{"direct", update("new", "=a"), "=a", nil},
		{"direct, of a new key", write("new", "=n"), "=n", nil},
		{"parallel", update("new", "=a", "=b"), "=b", nil},
		{"parallel, all of them", update("new", "=a", "=b"), "*", nil},
		{"validated: the primary", copyOf("=r", "=a", "=b"), "=a", nil},
		{"validated: another", copyOf("=r", "=a", "=b"), "=b", nil},
		{"locks: the primary", update("new", "=a", "=b"), "", func(_ *world, h *handle) {
			h.tear()
			h.meanwhile("=b", 2, func() { h.Refuse("=a") })
		}},
		{"locks: another", update("new", "=a", "=b"), "", func(w *world, h *handle) {
			h.tear()
			h.meanwhile("=a", 3, func() { h.Refuse("=b") })
		}},
		{"the fence of another's attempt", update("new", "=a"), "", func(w *world, h *handle) {
			w.rival(1, cell.Pending, "=a", "=z").Place("=z")
			h.Refuse("=a")
		}},
		{"the fold of another's attempt", update("new", "=a"), "=a", func(w *world, h *handle) {
			w.rival(1, cell.Staged, "=a", "=z").Place("=z").Fold("=z")
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=r", "=z")
				h := w.handle()
				switch x.refused {
				case "":
				case "*":
					h.Refuse("=a", "=b")
				default:
					h.Refuse(x.refused)
				}
				if x.arrange != nil {
					x.arrange(w, h)
				}
				ctx, leave := context.WithCancel(background)
				defer leave()
				h.Every(func(context.Context, faulty.Op, *faulty.Answer) {
					if h.puts() > 200 {
						leave() // else it would go on without time going by
					}
				})
				began := time.Now()
				_, err := h.tx(ctx, x.fn)
				require.ErrorIs(t, err, backend.ErrUnavailable)
				assert.NotErrorIs(t, err, txn.ErrInDoubt)
				assert.ErrorContains(t, err, "refuse")
				assert.Greater(t, time.Since(began), time.Second, "it pauses")
				assert.Less(t, time.Since(began), time.Minute)
				h.Refuse()
				h.drain()
				if x.name != "the fence of another's attempt" { // which is still there
					w.writable("=a", "=b")
				}
				locked := strings.HasPrefix(x.name, "locks")
				assert.Equal(t, locked, h.engine.Stats().Escalated.Load() > 0)
			})
		})
	}
}

// The commit write of a validated attempt is refused, again and again: that may be in doubt,
// but it ends.
func TestStoreThatRefusesTheCommitWrite(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=r")
		h := w.handle()
		h.must(func(tx *txn.Tx) error { return look(tx, "=r") })
		h.Before(faulty.Get, "=r", 1, func(context.Context) error {
			h.Refuse("=a")
			return nil
		})
		began := time.Now()
		_, err := h.tx(background, copyOf("=r", "=a"))
		require.Error(t, err)
		assert.Less(t, h.puts(), 20)
		assert.Less(t, time.Since(began), time.Minute)
		h.Refuse()
		h.drain()
		w.writable("=a")
	})
}

// That a store refuses now and then, and takes the write afterwards, is no error.
func TestStoreThatRefusesForAWhile(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=r")
		for _, fn := range []func(tx *txn.Tx) error{
			update("one", "=a"), update("two", "=a", "=b"), copyOf("=r", "=a"),
		} {
			h := w.handle()
			for nth := range 3 {
				h.Before(faulty.Put, "=a", nth, func(context.Context) error {
					return backend.ErrPrecondition
				})
			}
			_, err := h.tx(background, fn)
			require.NoError(t, err)
			h.drain()
		}
	})
}
