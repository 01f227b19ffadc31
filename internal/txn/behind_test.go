package txn_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txn"
)

// A handle is far behind: what it has cached was written more often since than the cell
// remembers. Nothing was lost on the way, so nothing may end in doubt.
func TestFarBehindIsNoDoubt(t *testing.T) {
	remove := func(tx *txn.Tx) error { return tx.Delete("=a") }
	for name, x := range map[string]struct {
		fn   func(tx *txn.Tx) error
		want error
	}{
		"read, modify, write": {update("new", "=a"), nil},
		"two keys":            {update("new", "=a", "=b"), nil},
		"validated":           {copyOf("=r", "=a", "=b"), nil},
		"blind write":         {write("new", "=a"), nil},
		"delete":              {remove, nil},
		"insert":              {insert("=a"), txn.ErrExists},
		"insert beside":       {insert("=a", "=c"), txn.ErrExists},
	} {
		for once, open := range map[string]func(w *world) *handle{
			"once": (*world).handleOnce, "perhaps twice": (*world).handle,
		} {
			t.Run(name+", sent "+once, func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.Value(1, "=a", "=b", "=r")
					h := open(w)
					h.must(update("old", "=a", "=b"))
					h.drain()
					w.forget("=a")
					w.forget("=b")
					pass(patience)
					_, err := h.tx(context.Background(), x.fn)
					require.ErrorIs(t, err, x.want)
					assert.NotErrorIs(t, err, txn.ErrInDoubt)
					h.drain()
				})
			})
			t.Run(name+", of what it never saw, sent "+once, func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.Value(1, "=a", "=b", "=r")
					h := open(w)
					w.forget("=a")
					_, err := h.tx(context.Background(), x.fn)
					require.ErrorIs(t, err, x.want)
					h.drain()
				})
			})
		}
	}
}

// Where a write is sent once at most, a refusal is a proof, the commit write's too, however
// often the cells were written since.
func TestRefusedOnceIsDead(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=r")
		h := w.handleOnce()
		h.Before(faulty.Put, "=a", 1, func(context.Context) error {
			for _, name := range []string{"=a", "=b"} {
				c, _ := w.Cell(name)
				c = cell.Drop(c, c.Intent.Tx)
				w.Put(name, c)
				w.forget(name)
			}
			return nil
		})
		_, err := h.tx(context.Background(), copyOf("=r", "=a", "=b"))
		require.NoError(t, err, "it was killed, and tried again")
		h.drain()
		a, _ := w.Cell("=a")
		assert.Equal(t, cell.Inline, a.Value.Kind)
	})
}

// A write is refused, and its cell can't be read. Where the refusal may be a duplicate it may
// have landed: that is in doubt, and the other members are settled. Elsewhere it is not.
func TestRefusedByWhatCanNotBeRead(t *testing.T) {
	for name, x := range map[string]struct {
		data []byte
		is   error
	}{
		"damaged":         {[]byte("damage"), backend.ErrCorrupt},
		"of a new format": {[]byte("SKVC\xff........................"), store.ErrFormat},
	} {
		t.Run(name+", a duplicate", func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h := w.handle()
				h.After(faulty.Put, "=a", 0, func(a *faulty.Answer) {
					require.NoError(t, a.Err)
					a.Stamp, a.Err = backend.Stamp{}, backend.ErrPrecondition
					w.PutData("=a", x.data)
				})
				_, err := h.tx(context.Background(), update("new", "=a", "=b"))
				require.ErrorIs(t, err, txn.ErrInDoubt)
				h.drain()
			})
		})
		t.Run(name+", sent once", func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h := w.handleOnce()
				h.Before(faulty.Put, "=a", 0, func(context.Context) error {
					w.PutData("=a", x.data)
					return nil
				})
				_, err := h.tx(context.Background(), update("new", "=a", "=b"))
				require.ErrorIs(t, err, x.is)
				assert.NotErrorIs(t, err, txn.ErrInDoubt)
				h.drain()
				b, _ := w.Cell("=b")
				assert.Nil(t, b.Intent)
			})
		})
	}
}
