package commit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/commit"
)

// A chaser's request is lost, and so is the answer of another, whose lock has landed upon a
// later value. The first finds a lock of its own attempt in the cell, but has not seen what it
// protects: what it knows must not be taken for that.
func TestChasedLocksAreNotMistaken(t *testing.T) {
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
		_, err := h.tx(context.Background(), func(tx *commit.Tx) error {
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
		err := h.engine.Run(context.Background(), commit.Options{MaxAttempts: allowed},
			update("new", "=a", "=b"))
		var conflict *commit.ConflictError
		require.ErrorAs(t, err, &conflict)
		assert.Equal(t, allowed, conflict.Attempts)
		assert.Equal(t, allowed, int(h.engine.Stats().Refused.Load()))
	})
}
