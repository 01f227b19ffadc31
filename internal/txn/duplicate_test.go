package txn_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/txn"
)

// A write is sent twice by somebody on the way, and the answer is that of the second copy,
// which was refused: it is no proof that the attempt is dead.
func TestDuplicateIsNoProof(t *testing.T) {
	lock := func(tx *txn.Tx) error {
		if err := tx.Lock([]string{"=b"}); err != nil {
			return err
		}
		return update("new", "=a")(tx)
	}
	for name, x := range map[string]struct {
		fn        func(tx *txn.Tx) error
		duplicate string
		nth       int
	}{
		"direct":                {update("new", "=a"), "=a", 0},
		"parallel, the primary": {update("new", "=a", "=b"), "=a", 0},
		"parallel, another":     {update("new", "=a", "=b"), "=b", 0},
		"a lock":                {lock, "=b", 0},
		"validated, an intent":  {copyOf("=r", "=a", "=b"), "=b", 0},
		"the commit write":      {copyOf("=r", "=a", "=b"), "=a", 1},
	} {
		// meanwhile is what happens before the owner looks again.
		for meanwhile, happens := range map[string]func(w *world){
			"nothing": func(*world) {},
			"others settle it": func(w *world) {
				other := w.handle()
				_, err := other.tx(context.Background(), func(tx *txn.Tx) error {
					return tx.Lock([]string{"=a", "=b"})
				})
				require.NoError(w.T, err)
				other.drain()
			},
		} {
			t.Run(name+", "+meanwhile, func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.Value(1, "=a", "=b", "=r")
					h := w.handle()
					h.After(faulty.Put, x.duplicate, x.nth, func(a *faulty.Answer) {
						require.NoError(t, a.Err)
						a.Stamp, a.Err = backend.Stamp{}, backend.ErrPrecondition
						happens(w)
					})
					runs, err := h.tx(context.Background(), x.fn)
					require.NoError(t, err)
					if meanwhile == "nothing" {
						assert.Equal(t, 1, runs)
					}
					h.drain()
					a, _ := w.Cell("=a")
					assert.Nil(t, a.Intent)
					assert.Len(t, a.Recent, 2, "committed once")
					b, _ := w.Cell("=b")
					assert.Nil(t, b.Intent)
				})
			})
		}
	}
}

// Where a write may be sent twice, a refusal proves nothing if the cell does not remember its
// writers since the base: so one that is old, or that the transaction has not read itself, is read
// again. Else the outcome would be in doubt whenever others have written a key often.
func TestABaseIsReadAgain(t *testing.T) {
	for name, x := range map[string]struct {
		before func(h *handle)
		fn     func(tx *txn.Tx) error
		runs   int
	}{
		"read by the transaction, long ago": {nil, func(tx *txn.Tx) error {
			defer pass(time.Second)
			return look(tx, "=a")
		}, 2},
		"read just now, by another transaction": {
			func(h *handle) { h.read("=a") }, func(*txn.Tx) error { return nil }, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a")
				h := w.handle()
				if x.before != nil {
					x.before(h)
				}
				runs := 0
				_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
					if err := x.fn(tx); err != nil {
						return err
					}
					if runs++; runs == 1 {
						w.forget("=a")
					}
					return write("new", "=a")(tx)
				})
				require.NoError(t, err)
				assert.Equal(t, x.runs, runs)
				assert.Zero(t, h.engine.Stats().Refused.Load())
			})
		})
	}
}

// A write that is lost beside a duplicate is sent again: that it may have landed does not say that
// it has.
func TestALostWriteBesideADuplicate(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.After(faulty.Put, "=a", 0, duplicated)
		h.LoseRequest("=b", 0, nil)
		h.must(write("new", "=a", "=b"))
		h.drain()
		for _, name := range []string{"=a", "=b"} {
			v, _ := w.handle().read(name)
			assert.Equal(t, "new", v)
		}
	})
}

// One that was refused shows that the attempt is dead, another holds its intent, as what was
// refused there is a duplicate. If the transaction goes on without that key, the intent is removed.
func TestAnIntentBesideARefusalIsNotLeftBehind(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.After(faulty.Put, "=a", 0, duplicated)
		h.meanwhile("=b", 0, func() { w.overwrite("=b", 2) })
		runs := 0
		err := h.engine.Run(background, txn.Options{}, func(tx *txn.Tx) error {
			if runs++; runs > 1 {
				return tx.Abort()
			}
			return update("new", "=a", "=b")(tx)
		})
		require.ErrorIs(t, err, txn.ErrAborted)
		assert.Equal(t, 2, runs)
		h.drain()
		c, _ := w.Cell("=a")
		assert.Nil(t, c.Intent)
	})
}
