package txn_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/txn"
)

// values are the names of the values that are objects of their own.
func (w *world) values() (names []string) {
	page, err := w.Mem.List(context.Background(), backend.ListOptions{Prefix: prefix})
	require.NoError(w.T, err)
	for _, o := range page.Objects {
		name := strings.TrimPrefix(o.Name, prefix)
		if keyspace.KindOf(name) == keyspace.ValueKind {
			names = append(names, name)
		}
	}
	return names
}

// big is a value that is an object of its own.
var big = strings.Repeat("x", txn.InlineMax+1)

// A value that a commit has replaced is removed also if the answer to the write that did was lost.
func TestReplacedValuesAreRemovedWhateverIsAnswered(t *testing.T) {
	both := update("new", "=a", "=b")
	for name, x := range map[string]struct {
		// before commits, and leaves its intents to the next.
		before, fn func(tx *txn.Tx) error
		fault      func(h *handle)
	}{
		"direct": {nil, write("new", "=a"), func(h *handle) { h.LoseAnswer("=a", 0, nil) }},
		"the commit write": {nil, copyOf("=r", "=a", "=b"),
			func(h *handle) { h.LoseAnswer("=a", 1, nil) }},
		"an intent that folds another": {both, both,
			func(h *handle) { h.LoseAnswer("=a", 0, nil) }},
		"an intent beside a duplicate": {both, both, func(h *handle) {
			h.LoseAnswer("=a", 0, nil)
			h.After(faulty.Put, "=b", 0, duplicated)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=r")
				h := w.handle()
				h.must(write(big, "=a"))
				require.Len(t, w.values(), 1)
				if x.before != nil {
					h.must(x.before)
					require.Len(t, w.values(), 1, "it is in the cell still")
				}
				h.Forget()
				x.fault(h)
				h.must(x.fn)
				assert.Zero(t, h.Planned())
				h.drain()
				assert.Empty(t, w.values())
			})
		})
	}
}

// A value that was not linked is removed once that has been found out in the background.
func TestValuesOfWhoLeavesInDoubtAreRemoved(t *testing.T) {
	for name, x := range map[string]struct {
		keys  []string
		fault func(w *world, h *handle, leave func())
	}{
		"direct": {[]string{"=a"}, func(_ *world, h *handle, leave func()) {
			h.LoseRequest("=a", 0, leave)
		}},
		"staged": {[]string{"=a", "=b"}, func(_ *world, h *handle, leave func()) {
			h.LoseRequest("=a", 0, leave)
		}},
		"staged, none has landed, and all are off": {[]string{"=a", "=b"},
			func(w *world, h *handle, leave func()) {
				h.LoseRequest("=b", 0, nil)
				h.LoseRequest("=a", 0, func() { w.Value(2, "=a", "=b"); leave() })
			}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h := w.handle()
				ctx, leave := context.WithCancel(background)
				x.fault(w, h, leave)
				_, err := h.tx(ctx, write(big, x.keys...))
				require.ErrorIs(t, err, txn.ErrInDoubt)
				require.Len(t, w.values(), len(x.keys))
				h.drain()
				assert.Empty(t, w.values())
			})
		})
	}
}

// That a key which was only locked has its writer still does not say that the attempt is dead,
// where the cell with its value tells by the writer alone.
func TestALockedKeyDoesNotCostAValue(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		ctx, leave := context.WithCancel(background)
		h.LoseAnswer("=b", 0, func() {
			w.Fold("=a", "=b")
			for _, name := range []string{"=a", "=b"} {
				c, _ := w.Cell(name)
				c.Marks = nil
				w.Put(name, cell.Fence(c))
			}
			leave()
		})
		_, err := h.tx(ctx, func(tx *txn.Tx) error {
			if err := tx.Lock([]string{"=b"}); err != nil {
				return err
			}
			return tx.Write("=a", []byte(big), 0)
		})
		require.ErrorIs(t, err, txn.ErrInDoubt)
		h.drain()
		v, _ := w.handle().read("=a")
		assert.Equal(t, big, v)
	})
}
