package txn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txn"
)

// doubt is a transaction, one or some of whose writes end unknown.
type doubt struct {
	name  string
	fn    func(tx *txn.Tx) error
	fault func(w *world, h *handle)
	want  outcome
}

type outcome int

const (
	first   outcome = iota // the first attempt has committed
	again                  // it was found dead; another attempt has committed
	rerun                  // the same, after the function was run again
	inDoubt                // nobody can tell
)

func (x doubt) run(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=r")
		h := w.handle()
		x.fault(w, h)
		runs, err := h.tx(context.Background(), x.fn)
		s := h.engine.Stats()
		attempts := s.Direct.Load() + s.Parallel.Load() + s.Validated.Load()
		switch x.want {
		case inDoubt:
			var d *txn.InDoubtError
			require.ErrorAs(t, err, &d)
			assert.Error(t, d.Err, "why it is in doubt")
			assert.False(t, d.Attempt.IsZero())
			assert.NotEmpty(t, d.Names)
		case first, again:
			require.NoError(t, err)
			assert.Equal(t, int64(x.want)+1, attempts, "attempts")
			assert.Equal(t, 1, runs, "runs")
		case rerun:
			require.NoError(t, err)
			assert.Equal(t, 2, runs, "runs")
		}
		assert.Zero(t, h.Planned(), "a fault that was planned did not happen")
		h.drain()
		w.writable("=a", "=b", "=r")
	})
}

// writable checks that a new handle can read and write keys at once.
func (w *world) writable(names ...string) {
	other := w.handle()
	start := time.Now()
	for _, name := range names {
		other.read(name)
	}
	other.must(write("other", names...))
	other.drain()
	assert.Less(w.T, time.Since(start), patience/4, "the keys are held up")
}

func TestDirectWriteIsUnknown(t *testing.T) {
	w1, up := write("new", "=a"), update("new", "=a")
	over := func(w *world) func() { return func() { w.Value(2, "=a") } }
	gone := func(w *world) func() { return func() { w.forget("=a") } }
	for _, x := range []doubt{
		{"it landed: named as the writer", w1,
			func(_ *world, h *handle) { h.LoseAnswer("=a", 0, nil) }, first},
		{"it landed, and was overwritten: named in recent", w1,
			func(w *world, h *handle) { h.LoseAnswer("=a", 0, over(w)) }, first},
		{"at the expected version: sent again", w1,
			func(_ *world, h *handle) { h.LoseRequest("=a", 0, nil) }, first},
		{"off, and recent reaches back: dead", w1,
			func(w *world, h *handle) { h.LoseRequest("=a", 0, over(w)) }, again},
		{"the same, the key was read", up,
			func(w *world, h *handle) { h.LoseRequest("=a", 0, over(w)) }, rerun},
		{"off by a fence: only the version", up, func(w *world, h *handle) {
			h.LoseRequest("=a", 0, func() { w.touch("=a") })
		}, again},
		{"off, and recent is full and has rolled over", w1,
			func(w *world, h *handle) { h.LoseRequest("=a", 0, gone(w)) }, inDoubt},
		{"it landed, and recent has rolled over", w1,
			func(w *world, h *handle) { h.LoseAnswer("=a", 0, gone(w)) }, inDoubt},
		{"full, but with the writer that it saw", w1, func(w *world, h *handle) {
			w.forget("=a")
			h.LoseRequest("=a", 0, func() { w.Value(2, "=a"); w.Value(3, "=a") })
		}, again},
		// The second copy is refused, as the first has landed late: a duplicate.
		{"refused, but sent twice: unknown", w1, func(w *world, h *handle) {
			h.LoseRequest("=a", 0, nil)
			h.Before(faulty.Put, "=a", 1, func(ctx context.Context) error {
				ops := h.Sent(faulty.Put, "=a")
				_, err := w.Mem.Put(ctx, prefix+"=a", ops[0].Data, ops[0].Condition)
				return err
			})
		}, first},
		{"a condemned tombstone: lifted, then dead", insert("=new"), func(w *world, h *handle) {
			h.LoseRequest("=new", 0, func() {
				w.Put("=new", &cell.Cell{Writer: id(9), Condemned: true})
			})
		}, again},
		{"nothing where nothing is expected: fenced", insert("=new"),
			func(_ *world, h *handle) { h.LoseRequest("=new", 0, nil) }, again},
		{"the same, but it lands before the fence", insert("=new"), func(w *world, h *handle) {
			h.LoseRequest("=new", 0, nil)
			h.Before(faulty.Put, "=new", 1, func(ctx context.Context) error {
				ops := h.Sent(faulty.Put, "=new")
				_, err := w.Mem.Put(ctx, prefix+"=new", ops[0].Data, ops[0].Condition)
				return err
			})
		}, first},
		{"the same, and the fence is of unknown outcome", insert("=new"),
			func(_ *world, h *handle) {
				h.LoseRequest("=new", 0, nil)
				h.LoseAnswer("=new", 1, nil)
			}, again},
		{"a condemned tombstone that vanishes: fenced", insert("=new"), func(w *world, h *handle) {
			h.LoseRequest("=new", 0, func() {
				w.Put("=new", &cell.Cell{Writer: id(9), Condemned: true})
			})
			h.Before(faulty.Put, "=new", 1, func(ctx context.Context) error {
				_, v := w.Cell("=new")
				return w.Mem.Delete(ctx, prefix+"=new", v)
			})
		}, again},
	} {
		t.Run(x.name, x.run)
	}
}

func TestStagedWriteIsUnknown(t *testing.T) {
	both := write("new", "=a", "=b")
	lock := func(tx *txn.Tx) error {
		return errors.Join(tx.Lock([]string{"=b"}), tx.Write("=a", []byte("new"), 0))
	}
	settled := func(w *world, forgotten ...string) func() {
		return func() {
			w.Fold("=a", "=b")
			for _, name := range forgotten {
				w.forget(name)
			}
		}
	}
	for _, x := range []doubt{
		{"it holds the intent: landed", both,
			func(_ *world, h *handle) { h.LoseAnswer("=b", 0, nil) }, first},
		{"both landed", both, func(_ *world, h *handle) {
			h.LoseAnswer("=a", 0, nil)
			h.LoseAnswer("=b", 0, nil)
		}, first},
		{"at the expected version: sent again", both,
			func(_ *world, h *handle) { h.LoseRequest("=b", 0, nil) }, first},
		{"again and again", both, func(_ *world, h *handle) {
			for i := range 5 {
				h.LoseRequest("=b", i, nil)
			}
		}, first},
		{"folded by an observer: marked", both,
			func(w *world, h *handle) { h.LoseAnswer("=b", 0, settled(w)) }, first},
		{"folded; this member has forgotten, another one names it", both,
			func(w *world, h *handle) { h.LoseAnswer("=b", 0, settled(w, "=b")) }, first},
		{"folded; all have forgotten", both,
			func(w *world, h *handle) { h.LoseAnswer("=b", 0, settled(w, "=a", "=b")) }, inDoubt},
		{"killed by a fence: dead", both, func(w *world, h *handle) {
			h.LoseRequest("=b", 0, func() { w.touch("=b") })
		}, again},
		{"off and forgotten, another holds the intent: dead", both,
			func(w *world, h *handle) { h.LoseRequest("=b", 0, func() { w.forget("=b") }) }, again},
		{"off and forgotten, another one is off and reaches back: dead", both,
			func(w *world, h *handle) {
				h.LoseRequest("=b", 0, func() { w.forget("=b"); w.Value(2, "=a") })
			}, again},
		{"a lock enters no recent: another one names it", lock, func(w *world, h *handle) {
			h.LoseAnswer("=b", 0, func() { settled(w)(); w.shed("=b", 3) })
		}, first},
		{"a lock tells nothing: nobody can", lock, func(w *world, h *handle) {
			h.LoseAnswer("=b", 0, func() { settled(w, "=a")(); w.shed("=b", 3) })
		}, inDoubt},
		// Between the reads of the first wave the attempt is settled: what was seen of
		// =a before =b was off tells nothing.
		{"the intent was seen before another one was off", both, func(w *world, h *handle) {
			h.LoseAnswer("=a", 0, nil)
			h.LoseAnswer("=b", 0, nil)
			h.Before(faulty.Get, "=b", 1, func(context.Context) error {
				pass(time.Millisecond) // =a has been read
				settled(w, "=b")()
				return nil
			})
		}, first},
		{"one refused, one unknown: dead at once", both, func(w *world, h *handle) {
			h.Before(faulty.Put, "=a", 0, func(context.Context) error { w.touch("=a"); return nil })
			h.LoseAnswer("=b", 0, nil)
		}, again},
	} {
		t.Run(x.name, x.run)
	}
}

// duplicated is the answer to the second copy of a write that was sent twice on its way.
func duplicated(a *faulty.Answer) { a.Stamp, a.Err = backend.Stamp{}, backend.ErrPrecondition }

// shed writes a cell once more, without marks.
func (w *world) shed(name string, n byte) {
	c, _ := w.Cell(name)
	f := cell.Fold{}
	for _, m := range c.Marks {
		f.Drop = append(f.Drop, m.Tx)
	}
	w.Put(name, cell.Write(c, f, id(n), cell.Put, inline("shed")))
}

// One member is off, and another has never got its intent: no need for anybody's
// recent attempts, it can't have committed.
func TestOneOffAnotherAtExpectedIsNotInDoubt(t *testing.T) {
	doubt{"", write("new", "=a", "=b"), func(w *world, h *handle) {
		h.LoseRequest("=a", 0, func() { w.forget("=a") })
		h.LoseRequest("=b", 0, nil)
	}, again}.run(t)
}

// One member proves that the attempt is dead: another, that has not got its intent, is not sent it
// again, as that would make it look committed.
func TestOneDeadAnotherAtExpectedIsNotSentAgain(t *testing.T) {
	doubt{"", write("new", "=a", "=b"), func(w *world, h *handle) {
		h.LoseRequest("=a", 0, func() { w.touch("=a") })
		h.LoseRequest("=b", 0, nil)
	}, again}.run(t)
}

func TestPendingIntentIsUnknown(t *testing.T) {
	both := copyOf("=r", "=a", "=b")
	for _, x := range []doubt{
		{"primary: landed", both, func(_ *world, h *handle) { h.LoseAnswer("=a", 0, nil) }, first},
		{"secondary: landed", both,
			func(_ *world, h *handle) { h.LoseAnswer("=b", 0, nil) }, first},
		{"at the expected version: sent again", both,
			func(_ *world, h *handle) { h.LoseRequest("=a", 0, nil) }, first},
		{"nothing where nothing is expected: sent again", copyOf("=r", "=new"),
			func(_ *world, h *handle) { h.LoseRequest("=new", 0, nil) }, first},
		{"off, and the commit write was never sent: dead, whatever recent tells", both,
			func(w *world, h *handle) { h.LoseRequest("=b", 0, func() { w.forget("=b") }) }, again},
		{"dropped by a killer", both,
			func(w *world, h *handle) { h.LoseAnswer("=a", 0, func() { w.drop("=a") }) }, again},
	} {
		t.Run(x.name, x.run)
	}
}

// drop kills the attempt whose pending intent is in its primary.
func (w *world) drop(name string) {
	c, _ := w.Cell(name)
	w.Put(name, cell.Drop(c, c.Intent.Tx))
}

func TestCommitWriteIsUnknown(t *testing.T) {
	both := copyOf("=r", "=a", "=b")
	for _, x := range []doubt{
		{"it landed: marked", both,
			func(_ *world, h *handle) { h.LoseAnswer("=a", 1, nil) }, first},
		{"it landed, and was overwritten", both,
			func(w *world, h *handle) {
				h.LoseAnswer("=a", 1, func() { w.Value(2, "=a") })
			}, first},
		{"still the intent: sent again", both,
			func(_ *world, h *handle) { h.LoseRequest("=a", 1, nil) }, first},
		{"the intent at another version: sent there", both, func(w *world, h *handle) {
			h.LoseRequest("=a", 1, func() { w.touch("=a") })
		}, first},
		{"refused: dropped by a killer, dead", both, func(w *world, h *handle) {
			h.Before(faulty.Put, "=a", 1, func(context.Context) error { w.drop("=a"); return nil })
		}, again},
		{"unknown: dropped by a killer, the primary reaches back", both,
			func(w *world, h *handle) { h.LoseRequest("=a", 1, func() { w.drop("=a") }) }, again},
		{"unknown: dropped and forgotten, another holds the intent: dead", both,
			func(w *world, h *handle) { h.LoseRequest("=a", 1, func() { w.forget("=a") }) }, again},
		{"it landed, and the primary has forgotten: another one names it", both,
			func(w *world, h *handle) {
				h.LoseAnswer("=a", 1, func() { w.Fold("=b"); w.forget("=a") })
			}, first},
		{"it landed, and all have forgotten", both, func(w *world, h *handle) {
			h.LoseAnswer("=a", 1, func() { w.Fold("=b"); w.forget("=a"); w.forget("=b") })
		}, inDoubt},
		{"the second copy is refused, as the first landed late", both,
			func(w *world, h *handle) {
				h.LoseRequest("=a", 1, nil)
				h.Before(faulty.Put, "=a", 2, func(ctx context.Context) error {
					op := h.Sent(faulty.Put, "=a")[1]
					_, err := w.Mem.Put(ctx, op.Name, op.Data, op.Condition)
					return err
				})
			}, first},
		{"the second copy is not applied, as the first landed late", both,
			func(w *world, h *handle) {
				h.LoseRequest("=a", 1, nil)
				h.Before(faulty.Put, "=a", 2, func(ctx context.Context) error {
					op := h.Sent(faulty.Put, "=a")[1]
					_, err := w.Mem.Put(ctx, op.Name, op.Data, op.Condition)
					require.NoError(w.T, err)
					return backend.ErrDenied
				})
			}, first},
		{"one key only, and it has landed", copyOf("=r", "=a"),
			func(_ *world, h *handle) { h.LoseAnswer("=a", 1, nil) }, first},
		{"one key only, landed and forgotten", copyOf("=r", "=a"), func(w *world, h *handle) {
			h.LoseAnswer("=a", 1, func() { w.forget("=a") })
		}, inDoubt},
	} {
		t.Run(x.name, x.run)
	}
}

// What is sent again is the same: an attempt never sends a member at another version.
func TestTheSameBytesAreSentAgain(t *testing.T) {
	for _, fn := range []func(tx *txn.Tx) error{
		write("new", "=b"), write("new", "=a", "=b"), copyOf("=r", "=a", "=b"),
	} {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b", "=r")
			h := w.handle()
			h.LoseRequest("=b", 0, nil)
			h.must(fn)
			ops := h.Sent(faulty.Put, "=b")
			require.GreaterOrEqual(t, len(ops), 2)
			assert.Equal(t, ops[0].Data, ops[1].Data)
			assert.Equal(t, ops[0].Condition, ops[1].Condition)
			h.drain()
		})
	}
}

// The sending of writes again has a limit.
func TestResendLimit(t *testing.T) {
	for _, x := range []struct {
		name  string
		fn    func(tx *txn.Tx) error
		lose  string
		from  int
		doubt bool
	}{
		{"direct", write("new", "=a"), "=a", 0, true},
		{"staged", write("new", "=a", "=b"), "=b", 0, true},
		{"pending: dead, as its commit write was not sent", copyOf("=r", "=a", "=b"), "=b", 0,
			false},
		{"commit write", copyOf("=r", "=a", "=b"), "=a", 1, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=r")
				h := w.handle()
				for i := range 9 {
					h.LoseRequest(x.lose, x.from+i, nil)
				}
				_, err := h.tx(context.Background(), x.fn)
				want := backend.ErrOutcomeUnknown
				if !x.doubt {
					want = backend.ErrUnavailable
				}
				require.ErrorIs(t, err, want)
				assert.Equal(t, x.doubt, errors.Is(err, txn.ErrInDoubt))
				assert.Len(t, h.Sent(faulty.Put, x.lose), 9+x.from)
				h.drain()
				w.clean("=a", "=b")
				w.writable("=a", "=b")
			})
		})
	}
}
