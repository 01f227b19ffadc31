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
	"github.com/strictkv/strictkv/internal/txn"
)

// brim gives a cell as many marks as it may carry, and the intent of one more attempt that has
// committed.
func (w *world) brim(name string) {
	for i := range cell.MarksMax + 1 {
		other := w.handle() // knows nothing of the others
		other.must(write("v", name, "=m"+string(rune('0'+i))))
		other.stop()
		if i == cell.MarksMax-1 {
			w.Fold(name)
		}
	}
	c, _ := w.Cell(name)
	require.Len(w.T, c.Marks, cell.MarksMax)
	require.NotNil(w.T, c.Intent)
}

// Room for a mark is made before a write is prepared, which otherwise would have one too many.
func TestAWriteWaitsForRoom(t *testing.T) {
	type fn = func(tx *txn.Tx) error
	ready := func(name string) func(w *world, h *handle) {
		return func(w *world, _ *handle) { w.brim(name) }
	}
	locked := func(w *world, h *handle) { w.brim("=c"); h.tear() }
	for name, x := range map[string]struct {
		full    string
		arrange func(w *world, h *handle)
		fn      func() fn
	}{
		"direct": {"=a", ready("=a"), func() fn { return write("new", "=a") }},
		"parallel": {"=b", ready("=b"), func() fn {
			return write("new", "=a", "=b")
		}},
		"validated": {"=b", ready("=b"), func() fn {
			return copyOf("=r", "=a", "=b")
		}},
		"the first lock": {"=a", func(w *world, h *handle) {
			h.tear()
			h.meanwhile("=a", 3, func() { w.brim("=a") })
		}, func() fn { return update("new", "=a", "=b") }},
		"another lock": {"=c", locked, func() fn { return both(4, "=c") }},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=r")
				h := w.handle()
				x.arrange(w, h)
				_, err := h.tx(context.Background(), x.fn())
				require.NoError(t, err)
				assert.Zero(t, h.Planned())
				h.drain()
				c, _ := w.Cell(x.full)
				assert.LessOrEqual(t, len(c.Marks), cell.MarksMax)
				assert.Nil(t, c.Intent)
			})
		})
	}
}

// What is raced for turns out to have the intent of another, of which the handle knows that it
// has committed: the lock takes its value over.
func TestARacedLockFoldsAnIntent(t *testing.T) {
	for _, key := range []string{"=a", "=b"} {
		t.Run(key, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=x")
				h := w.handle()
				h.tear()
				h.meanwhile(key, 3, func() { w.overwrite(key, 5) })
				h.meanwhile(key, 4, func() { w.overwrite(key, 6) })
				h.meanwhile(key, 5, func() {
					r := w.rival(9, cell.Staged, key, "=x").Place("=x")
					h.rs.Committed(r.Intent.Tx, r.Intent.Members)
				})
				var saw string
				_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
					v, err := tx.Read(key)
					if saw = string(v); err != nil {
						return err
					}
					return update("new", "=a", "=b")(tx)
				})
				require.NoError(t, err)
				assert.Zero(t, h.Planned())
				assert.Equal(t, "rival", saw)
			})
		})
	}
}

// Where nothing is cached, who has lost a race waits for the intent that it has seen there, and
// removes it in the end.
func TestARacedForKeyIsLockedByACrashedRival(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=x")
		h := w.handleCaching(0)
		h.tear()
		h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
		h.meanwhile("=b", 4, func() { w.overwrite("=b", 6) })
		h.meanwhile("=b", 5, func() { w.rival(9, cell.Pending, "=b", "=x").Place("=x") })
		start := time.Now()
		_, err := h.tx(context.Background(), update("new", "=a", "=b"))
		require.NoError(t, err)
		assert.Zero(t, h.Planned())
		assert.Less(t, time.Since(start), 3*patience)
	})
}

// A lock is sent twice by somebody on the way, and the answer is that of the second copy, which
// was refused: the first has landed, and is not to be waited for.
func TestADuplicateOfALock(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.tear()
		h.After(faulty.Put, "=b", 3, func(a *faulty.Answer) {
			assert.NoError(t, a.Err)
			a.Stamp, a.Err = backend.Stamp{}, backend.ErrPrecondition
		})
		start := time.Now()
		runs, err := h.tx(context.Background(), update("new", "=a", "=b"))
		require.NoError(t, err)
		assert.Equal(t, 4, runs)
		assert.Less(t, time.Since(start), patience)
	})
}

// The commit write under locks is lost, and so are the locks. One key tells that the attempt is
// dead, as it remembers all its writers since it was locked; the other does not any more.
func TestLostLocksAreProvedDeadByOneKey(t *testing.T) {
	for tells, other := range map[string]string{"=a": "=b", "=b": "=a"} {
		t.Run(tells, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				w.forget("=a")
				w.forget("=b")
				h := w.handle()
				h.tear()
				h.LoseRequest("=a", 4, func() {
					w.drop("=a")
					w.drop("=b")
					w.overwrite(tells, 50)
					w.forget(other)
				})
				runs, err := h.tx(context.Background(), update("new", "=a", "=b"))
				require.NoError(t, err)
				assert.Equal(t, 5, runs)
			})
		})
	}
}
