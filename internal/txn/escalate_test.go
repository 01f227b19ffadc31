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
	"github.com/strictkv/strictkv/internal/txid"
	"github.com/strictkv/strictkv/internal/txn"
)

// overwrite replaces a value, as attempt n of somebody else does by a direct commit.
func (w *world) overwrite(name string, n byte) { w.Value(n, name) }

// tear makes three attempts at =a and =b fail that have placed one intent. So the fourth
// run of the function commits under locks: Put 3 of =a, the primary, locks it, and Put 3 of
// =b that; Put 4 of =b gives it its value, and Put 4 of =a is the commit write.
func (h *handle) tear() {
	h.meanwhile("=b", 0, func() { h.w.overwrite("=b", 2) })
	h.meanwhile("=a", 1, func() { h.w.overwrite("=a", 3) })
	h.meanwhile("=a", 2, func() { h.w.overwrite("=a", 4) })
}

// meanwhile makes something happen before the nth Put of a cell arrives.
func (h *handle) meanwhile(name string, nth int, do func()) {
	h.Before(faulty.Put, name, nth, func(context.Context) error {
		pass(time.Millisecond) // the other writes of the wave land first
		do()
		return nil
	})
}

// both reads and writes =a and =b, and a key more in the runs from late on.
func both(late int, more string) func(tx *txn.Tx) error {
	runs := 0
	return func(tx *txn.Tx) error {
		if runs++; runs >= late {
			return update("new", "=a", "=b", more)(tx)
		}
		return update("new", "=a", "=b")(tx)
	}
}

// escalations are what can happen on the way, and what it leads to.
var escalations = []struct {
	name    string
	fn      func(tx *txn.Tx) error
	arrange func(w *world, h *handle)
	runs    int
	members []string // in the mark
}{
	{"locks, values, commit", update("new", "=a", "=b"), nil, 4, []string{"=a", "=b"}},
	{"a key changes before it is locked: the function runs on the locked value",
		update("new", "=a", "=b"), func(w *world, h *handle) {
			h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
		}, 5, []string{"=a", "=b"}},
	{"the primary changes before it is locked: a new attempt",
		update("new", "=a", "=b"), func(w *world, h *handle) {
			h.meanwhile("=a", 3, func() { w.overwrite("=a", 5) })
		}, 5, []string{"=a", "=b"}},
	{"a key is raced for", update("new", "=a", "=b"), func(w *world, h *handle) {
		for n := byte(3); n < 6; n++ {
			h.meanwhile("=b", int(n), func() { w.overwrite("=b", n+2) })
		}
	}, 5, []string{"=a", "=b"}},
	{"the primary is raced for: attempts of which one lands", update("new", "=a", "=b"),
		func(w *world, h *handle) {
			for n := byte(3); n < 6; n++ {
				h.meanwhile("=a", int(n), func() { w.overwrite("=a", n+2) })
			}
		}, 5, []string{"=a", "=b"}},
	{"the answer of a raced for lock is lost: new locks", update("new", "=a", "=b"),
		func(w *world, h *handle) {
			h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
			h.meanwhile("=b", 4, func() { w.overwrite("=b", 6) })
			h.LoseAnswer("=b", 5, nil)
		}, 5, []string{"=a", "=b"}},
	{"a key that was only read is locked, and left as it is",
		copyOf("=r", "=a", "=b"), nil, 1, []string{"=a", "=b", "=r"}},
	{"a further key, which sorts before the primary", both(5, "=0"),
		func(w *world, h *handle) {
			h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
		}, 5, []string{"=a", "=0", "=b"}},
	{"the answer of a lock is lost", update("new", "=a", "=b"), func(_ *world, h *handle) {
		h.LoseAnswer("=b", 3, nil)
	}, 4, []string{"=a", "=b"}},
	{"a lock is lost on its way", update("new", "=a", "=b"), func(_ *world, h *handle) {
		h.LoseRequest("=b", 3, nil)
	}, 4, []string{"=a", "=b"}},
	{"the primary's lock is lost on its way", update("new", "=a", "=b"),
		func(_ *world, h *handle) { h.LoseRequest("=a", 3, nil) }, 4, []string{"=a", "=b"}},
	{"the answer of the commit write is lost", update("new", "=a", "=b"),
		func(_ *world, h *handle) { h.LoseAnswer("=a", 4, nil) }, 4, []string{"=a", "=b"}},
	{"the commit write is lost on its way", update("new", "=a", "=b"),
		func(_ *world, h *handle) { h.LoseRequest("=a", 4, nil) }, 4, []string{"=a", "=b"}},
	{"the locks are lost before the commit write", update("new", "=a", "=b"),
		func(w *world, h *handle) { h.meanwhile("=a", 4, func() { w.drop("=a") }) },
		5, []string{"=a", "=b"}},
	{"the answer to a value is lost: new locks", update("new", "=a", "=b"),
		func(_ *world, h *handle) { h.LoseAnswer("=b", 4, nil) }, 5, []string{"=a", "=b"}},
}

func TestEscalated(t *testing.T) {
	for _, x := range escalations {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=r")
				h := w.handle()
				h.tear()
				if x.arrange != nil {
					x.arrange(w, h)
				}
				runs, err := h.tx(context.Background(), x.fn)
				require.NoError(t, err)
				assert.Equal(t, x.runs, runs)
				assert.Equal(t, int64(1), h.engine.Stats().Escalated.Load())
				a, _ := w.Cell("=a")
				mark, ok := a.Mark(a.Writer)
				require.True(t, ok, "the commit write leaves the mark")
				assert.True(t, mark.Long, "the other members name the primary alone")
				var listed []string
				for _, m := range mark.List {
					listed = append(listed, m.Name)
				}
				assert.Equal(t, x.members, listed)
				for _, name := range []string{"=a", "=b"} {
					v, _ := h.read(name)
					assert.NotEqual(t, "v", v)
				}
				h.drain()
				for _, name := range x.members {
					c, _ := w.Cell(name)
					assert.Nil(t, c.Intent, name)
					assert.Equal(t, name != "=r", c.Writer == a.Writer, name)
				}
			})
		})
	}
}

// Under locks, an intent shows nothing but its primary and its rank; readers read through
// it, until it has a value.
func TestLockedIntents(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h, other := w.handle(), w.handle()
		h.tear()
		h.meanwhile("=b", 4, func() {
			for _, name := range []string{"=a", "=b"} {
				c, _ := w.Cell(name)
				require.NotNil(t, c.Intent, name)
				assert.Equal(t, cell.Lock, c.Intent.Action, name)
				assert.Equal(t, cell.Pending, c.Intent.Mode, name)
				assert.Equal(t, "=a", c.Intent.Primary().Name, name)
				assert.False(t, c.Intent.Whole(), name)
				oldest := txid.Priority{Time: 0}
				assert.True(t, c.Intent.Priority.Older(oldest), "it ranks before all others")
				v, took := other.read(name)
				assert.Equal(t, "v", v)
				assert.Zero(t, took, "a reader does not wait for a lock")
			}
		})
		runs, err := h.tx(context.Background(), update("new", "=a", "=b"))
		require.NoError(t, err)
		assert.Equal(t, 4, runs)
	})
}

// Who writes one key alone takes no locks, however often it is refused.
func TestOneKeyNeedsNoLocks(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		h := w.handle()
		for i := range 50 {
			h.meanwhile("=a", i, func() { w.overwrite("=a", byte(10+i)) })
		}
		runs, err := h.tx(context.Background(), update("new", "=a"))
		require.NoError(t, err)
		assert.Equal(t, 51, runs)
		assert.Zero(t, h.engine.Stats().Escalated.Load())
	})
}

// A pending attempt that holds a key, and whose client lives, is killed at once.
func TestEscalatedOutranksTheOldest(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=z")
		h := w.handle()
		h.tear()
		h.meanwhile("=a", 3, func() {
			w.overwrite("=b", 5)
			w.rival(1, cell.Pending, "=b", "=z")
		})
		start := time.Now()
		_, err := h.tx(context.Background(), update("new", "=a", "=b"))
		require.NoError(t, err)
		assert.Less(t, time.Since(start), patience/2)
	})
}

// Others wait for locks while heartbeats come, and no longer.
func TestHeartbeats(t *testing.T) {
	const beats = 30 * time.Second
	for _, x := range []struct {
		name  string
		takes time.Duration // of the function's fourth run
		runs  int
		waits time.Duration // of another writer
	}{
		{"a slow function", 5 * patience, 5, 5 * patience},
		{"a function without end", 10 * beats, 7, beats + patience},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h, other := w.handle(), w.handle()
				h.tear()
				h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
				done, runs := make(chan time.Duration), 0
				_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
					if err := update("new", "=a", "=b")(tx); err != nil {
						return err
					}
					if runs++; runs == 5 { // the first under locks
						start := time.Now()
						go func() {
							_, err := other.tx(context.Background(), update("other", "=b"))
							assert.NoError(t, err)
							done <- time.Since(start)
						}()
						pass(x.takes)
					}
					return nil
				})
				require.NoError(t, err)
				assert.Equal(t, x.runs, runs)
				waited := <-done
				assert.GreaterOrEqual(t, waited, x.waits)
				assert.Less(t, waited, x.waits+patience)
				b, _ := h.read("=b")
				assert.Equal(t, map[int]string{5: "other", 7: "new"}[x.runs], b)
			})
		})
	}
}

// A heartbeat of unknown outcome does no harm; one that finds the locks lost ends them.
func TestHeartbeatFindsThePrimary(t *testing.T) {
	for _, x := range []struct {
		name    string
		arrange func(w *world, h *handle)
		runs    int
	}{
		{"landed, its answer lost", func(_ *world, h *handle) { h.LoseAnswer("=a", 4, nil) }, 5},
		{"lost on its way", func(_ *world, h *handle) { h.LoseRequest("=a", 4, nil) }, 5},
		{"not applied", func(_ *world, h *handle) {
			h.Before(faulty.Put, "=a", 4, func(context.Context) error { return backend.ErrDenied })
		}, 5},
		{"the intent is gone", func(w *world, h *handle) {
			h.meanwhile("=a", 4, func() { w.drop("=a") })
		}, 6},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h := w.handle()
				h.tear()
				h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
				x.arrange(w, h)
				runs := 0
				_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
					if runs++; runs == 5 {
						pass(3 * patience / 4) // one heartbeat
					}
					return update("new", "=a", "=b")(tx)
				})
				require.NoError(t, err)
				assert.Equal(t, x.runs, runs)
				h.drain()
				a, _ := w.Cell("=a")
				b, _ := w.Cell("=b")
				assert.Equal(t, a.Writer, b.Writer)
			})
		})
	}
}

// Who leaves under locks has written nothing, unless the commit write was on its way.
func TestLeavingLocks(t *testing.T) {
	for _, x := range []struct {
		name string
		put  int // the write of =a before which the caller leaves
		of   string
		want error
	}{
		{"while the primary is being locked", 3, "=a", context.Canceled},
		{"while another key is being locked", 3, "=b", context.Canceled},
		{"while a value is being written", 4, "=b", context.Canceled},
		{"while the commit write is on its way", 4, "=a", txn.ErrInDoubt},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h := w.handle()
				h.tear()
				ctx, leave := context.WithCancel(context.Background())
				defer leave()
				h.Before(faulty.Put, x.of, x.put, func(ctx context.Context) error {
					pass(time.Millisecond)
					leave()
					return context.Cause(ctx)
				})
				_, err := h.tx(ctx, update("new", "=a", "=b"))
				require.ErrorIs(t, err, context.Canceled)
				assert.ErrorIs(t, err, x.want)
				h.drain()
				for _, name := range []string{"=a", "=b"} {
					c, _ := w.Cell(name)
					assert.Nil(t, c.Intent, name)
					assert.Equal(t, inline("v"), c.Value, name)
				}
			})
		})
	}
}

// An error, or a panic, of a function that runs under locks leaves none.
func TestFunctionFailsUnderLocks(t *testing.T) {
	for name, end := range map[string]func(tx *txn.Tx) error{
		"abort": func(tx *txn.Tx) error { return tx.Abort() },
		"panic": func(*txn.Tx) error { panic("user") },
		"nothing to write": func(*txn.Tx) error {
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h := w.handle()
				h.tear()
				h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
				runs := 0
				run := func() error {
					_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
						if runs++; runs == 5 {
							return end(tx)
						}
						return update("new", "=a", "=b")(tx)
					})
					return err
				}
				switch name {
				case "panic":
					assert.PanicsWithValue(t, "user", func() { _ = run() })
				case "abort":
					assert.ErrorIs(t, run(), txn.ErrAborted)
				default:
					assert.NoError(t, run())
				}
				h.drain()
				for _, name := range []string{"=a", "=b"} {
					c, _ := w.Cell(name)
					assert.Nil(t, c.Intent, name)
					assert.Equal(t, inline("v"), c.Value, name)
				}
			})
		})
	}
}

// The locks are lost while the function takes too long, and a large value that was locked
// is removed: what the function finds in its place is not what was locked.
func TestLockedValueVanishes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h, other := w.handle(), w.handle()
		other.must(write(strings.Repeat("x", txn.InlineMax+1), "=c"))
		h.tear()
		h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		runs := 0
		_, err := h.tx(ctx, func(tx *txn.Tx) error {
			if runs++; runs == 5 { // the first under locks
				pass(10 * time.Minute)
				other.must(write("small", "=c"))
				other.drain()
			}
			if err := update("new", "=a", "=b")(tx); err != nil {
				return err
			}
			return look(tx, "=c")
		})
		require.NoError(t, err)
		assert.Less(t, runs, 10)
	})
}
