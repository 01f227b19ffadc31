package txn_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/txn"
)

// told collects what a handle tells of its commits.
func (h *handle) told() *[][]string {
	var all [][]string
	h.engine.OnCommit(func(names []string) { all = append(all, names) })
	return &all
}

func TestCommitsAreToldOnceByTheNamesOfTheirCells(t *testing.T) {
	for _, x := range []struct {
		name string
		fn   func(tx *txn.Tx) error
		want []string
	}{
		{"direct", write("new", "=a"), []string{"=a"}},
		{"parallel", write("new", "=b", "=a"), []string{"=a", "=b"}},
		{"validated", copyOf("=r", "=b", "=a"), []string{"=a", "=b"}},
		{"a delete", func(tx *txn.Tx) error { return tx.Delete("=a") }, []string{"=a"}},
	} {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b", "=r")
			h := w.handle()
			all := h.told()
			h.must(x.fn)
			_, _ = h.read("=a")
			h.must(func(tx *txn.Tx) error { return look(tx, "=a", "=b") })
			h.drain()
			assert.Equal(t, [][]string{x.want}, *all, x.name)
		})
	}
}

func TestACommitUnderLocksIsToldWithoutWhatItOnlyLocks(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=r")
		h := w.handle()
		all := h.told()
		h.tear()
		_, err := h.tx(background, func(tx *txn.Tx) error {
			if err := look(tx, "=r"); err != nil {
				return err
			}
			return update("new", "=b", "=a")(tx)
		})
		require.NoError(t, err)
		assert.Positive(t, h.engine.Stats().Escalated.Load())
		assert.Equal(t, [][]string{{"=a", "=b"}}, *all)
		h.drain()
	})
}

func TestAGroupIsToldOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		all := h.told()
		h.busy("=a")
		for _, err := range h.all(increment("=a"), increment("=a", "=b"), increment("=a", "=c")) {
			require.NoError(t, err)
		}
		assert.Positive(t, h.engine.Stats().Grouped.Load())
		assert.Equal(t, [][]string{{"=a"}, {"=a", "=b", "=c"}}, *all)
		h.drain()
	})
}

func TestWhatIsInDoubtIsTold(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		h := w.handle()
		all := h.told()
		ctx, leave := context.WithCancel(background)
		h.After(faulty.Put, "=a", 0, func(a *faulty.Answer) {
			leave()
			a.Err = backend.ErrOutcomeUnknown
		})
		_, err := h.tx(ctx, write("new", "=a"))
		require.ErrorIs(t, err, txn.ErrInDoubt)
		assert.Equal(t, [][]string{{"=a"}}, *all)
		h.drain()
	})
}

// Why it is in doubt is told with what came first: that the commit write has no answer.
func TestDoubtKeepsItsFirstCause(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=r")
		h := w.handleOnce()
		h.Before(faulty.Put, "=a", 1, func(context.Context) error {
			h.Before(faulty.Get, "=a", len(h.Sent(faulty.Get, "=a")), func(context.Context) error {
				return backend.ErrDenied
			})
			return backend.ErrOutcomeUnknown
		})
		_, err := h.tx(background, copyOf("=r", "=a", "=b"))
		require.ErrorIs(t, err, txn.ErrInDoubt)
		require.ErrorIs(t, err, backend.ErrOutcomeUnknown)
		assert.ErrorContains(t, err, backend.ErrDenied.Error())
		h.drain()
	})
}
