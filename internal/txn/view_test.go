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
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txn"
)

// overtakenMax is how often a transaction that only reads is overtaken until it takes locks.
const overtakenMax = 11

// overtaken reads =a and =b, which others write in each run up to the last given.
func (w *world) overtaken(last int, then func(run int)) func(tx *txn.Tx) error {
	runs := 0
	return func(tx *txn.Tx) error {
		if runs++; runs > 3*overtakenMax {
			return errors.New("it does not end")
		}
		if err := multi("=a", "=b")(tx); err != nil { // all are validated
			return err
		}
		if runs <= last {
			w.overwrite("=a", byte(10+runs))
			w.overwrite("=b", byte(100+runs))
		}
		if then != nil {
			then(runs)
		}
		return nil
	}
}

// view runs one that only reads, where parallel requests overlap.
func (h *handle) view(o txn.Options, fn func(tx *txn.Tx) error) (runs int, err error) {
	o.ReadOnly = true
	h.Every(slow)
	err = h.engine.Run(background, o, func(tx *txn.Tx) error {
		runs++
		return fn(tx)
	})
	return runs, err
}

// A transaction that only reads, and is always overtaken, locks what it reads in the end.
func TestViewLocks(t *testing.T) {
	for _, x := range []struct {
		name      string
		arrange   func(w *world, h *handle)
		last      int // the last run that is overtaken
		then      func(w *world) func(run int)
		runs      int
		escalated int64
	}{
		{"seldom overtaken: no locks", nil, overtakenMax - 1, nil, overtakenMax, 0},
		{"the locks find what was read", nil, overtakenMax, nil, overtakenMax + 1, 1},
		{"a key changes before it is locked: it runs on the locked values", nil,
			overtakenMax + 1, nil, overtakenMax + 2, 1},
		{"the locks are lost while it runs", nil, overtakenMax + 1,
			func(w *world) func(run int) {
				return func(run int) {
					if run == overtakenMax+2 {
						w.drop("=a")
						w.overwrite("=a", 99)
					}
				}
			}, overtakenMax + 3, 1},
		{"the answer of the commit write is lost", func(_ *world, h *handle) {
			h.LoseAnswer("=a", 1, nil)
		}, overtakenMax, nil, overtakenMax + 1, 1},
		{"the commit write is in doubt", func(w *world, h *handle) {
			h.LoseAnswer("=a", 1, func() { w.forget("=a"); w.forget("=b") })
		}, overtakenMax, nil, overtakenMax + 2, 1},
		{"it may not write", func(_ *world, h *handle) {
			h.Before(faulty.Put, "=a", 0, func(context.Context) error { return backend.ErrDenied })
		}, overtakenMax + 1, nil, overtakenMax + 2, 1},
		{"it may not write one of the keys", func(_ *world, h *handle) {
			h.Before(faulty.Put, "=b", 0, func(context.Context) error { return backend.ErrDenied })
		}, overtakenMax + 1, nil, overtakenMax + 2, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h := w.handle()
				if x.arrange != nil {
					x.arrange(w, h)
				}
				var then func(int)
				if x.then != nil {
					then = x.then(w)
				}
				runs, err := h.view(txn.Options{}, w.overtaken(x.last, then))
				require.NoError(t, err)
				assert.Equal(t, x.runs, runs)
				s := h.engine.Stats()
				assert.Equal(t, x.escalated, s.Escalated.Load())
				assert.EqualValues(t, 1, s.ReadOnly.Load())
				assert.Zero(t, s.Committed.Load()+s.InDoubt.Load())
				h.drain()
				assert.Zero(t, h.Planned(), "all that was to happen has happened")
				for _, name := range []string{"=a", "=b"} {
					c, _ := w.Cell(name)
					assert.Nil(t, c.Intent, name)
				}
			})
		})
	}
}

// told is what an observer was told of transactions.
type told struct {
	ends    []observe.Outcome
	retries []txn.Retry
}

// observed is handle with an observer.
func (w *world) observed() (*handle, *told) {
	net, x := w.Net(), &told{}
	h := w.Open(store.Options{Backend: net, Observer: &observe.Observer{
		Runtime: seam.Real(),
		TxEnd: func(_ context.Context, tx *observe.Tx, _ time.Duration, _ error) {
			x.ends = append(x.ends, tx.Outcome)
		},
		Retried: func(_ context.Context, r observe.Retry) {
			x.retries = append(x.retries, txn.Retry(r.Cause))
		},
	}}, patience)
	net.Forget()
	return w.engine(net, h), x
}

// An observer is told how one that commits under locks has ended, and of each run but the first
// why it is.
func TestLocksAreObserved(t *testing.T) {
	killed := func(w *world) func() {
		return func() {
			w.drop("=a")
			w.overwrite("=a", 99)
		}
	}
	for name, x := range map[string]struct {
		arrange func(w *world, h *handle)
		update  bool
		end     observe.Outcome
		last    txn.Retry
	}{
		"a view": {func(*world, *handle) {}, false, observe.ReadOnly, txn.StaleRead},
		"a view whose commit is in doubt": {func(w *world, h *handle) {
			h.LoseAnswer("=a", 1, func() { w.forget("=a"); w.forget("=b") })
		}, false, observe.ReadOnly, txn.LocksLost},
		"a view whose commit is refused": {func(w *world, h *handle) {
			h.meanwhile("=a", 1, killed(w))
		}, false, observe.ReadOnly, txn.LocksLost},
		"an update": {func(_ *world, h *handle) {
			h.tear()
		}, true, observe.Committed, txn.Conflict},
		"an update whose commit is refused": {func(w *world, h *handle) {
			h.tear()
			h.meanwhile("=a", 4, killed(w))
		}, true, observe.Committed, txn.LocksLost},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h, seen := w.observed()
				x.arrange(w, h)
				f := w.overtaken(overtakenMax, nil)
				if x.update {
					f = update("new", "=a", "=b")
				}
				var whys []txn.Retry
				fn := func(tx *txn.Tx) error {
					whys = append(whys, tx.Retry())
					return f(tx)
				}
				var err error
				if x.update {
					_, err = h.tx(background, fn)
				} else {
					_, err = h.view(txn.Options{}, fn)
				}
				require.NoError(t, err)
				h.drain()
				assert.Zero(t, h.Planned(), "all that was to happen has happened")
				assert.Equal(t, []observe.Outcome{x.end}, seen.ends)
				assert.Equal(t, whys[1:], seen.retries)
				assert.Equal(t, x.last, whys[len(whys)-1])
			})
		})
	}
}

// Locks are of no use to one that scans: it does not keep others from the keys while it runs again
// and again.
func TestViewThatScansKeepsNoLocks(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		h := w.handle()
		begun := overtakenMax + 2 // the run that begins under locks
		runs := 0
		f := w.overtaken(overtakenMax+1, nil)
		_, err := h.view(txn.Options{}, func(tx *txn.Tx) error {
			if err := f(tx); err != nil {
				return err
			}
			if runs++; runs < begun || runs > begun+1 {
				return nil
			}
			pass(time.Second)
			c, _ := w.Cell("=a")
			assert.Equal(t, runs == begun, c.Intent != nil, "run %d", runs)
			r := scan.Range{Interval: keyspace.Interval{From: "=c", To: "=d"}}
			err := tx.Scan(r, func(txn.Item) bool { return true })
			if runs == begun {
				w.overwrite("=c", 50)
			}
			return err
		})
		require.NoError(t, err)
		assert.Equal(t, begun+1, runs)
		h.drain()
	})
}

// Under its locks nobody else writes what a transaction reads.
func TestViewHoldsWritersBack(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.Before(faulty.Put, "=a", 1, func(context.Context) error { // the commit write
			for _, name := range []string{"=a", "=b"} {
				c, _ := w.Cell(name)
				require.NotNil(t, c.Intent, name)
				assert.Equal(t, cell.Lock, c.Intent.Action)
			}
			return nil
		})
		_, err := h.view(txn.Options{}, w.overtaken(overtakenMax, nil))
		require.NoError(t, err)
		assert.Zero(t, h.Planned())
	})
}

// One that has met the locks of others waits longer: they hold the writers back for it, too.
func TestViewLeavesLocksToOthers(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=z")
		h := w.handle()
		runs, err := h.view(txn.Options{}, w.overtaken(overtakenMax+3, func(run int) {
			if run == 1 {
				r := w.Rival(9, cell.Pending, "=z", "=b")
				r.Intent.Action, r.Intent.Value = cell.Lock, cell.Value{}
				r.Place("=z").Place("=b")
			}
		}))
		require.NoError(t, err)
		assert.Equal(t, overtakenMax+4, runs)
		assert.Zero(t, h.engine.Stats().Escalated.Load())
	})
}

// A handle that may only read takes none, however often it is overtaken.
func TestViewOfAReaderTakesNoLocks(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.handle() // makes the database
		net := w.Net()
		h := w.engine(net, w.Open(store.Options{Backend: net, ReadOnly: true}, patience))
		runs, err := h.view(txn.Options{}, w.overtaken(2*overtakenMax, nil))
		require.NoError(t, err)
		assert.Equal(t, 2*overtakenMax+1, runs)
		assert.Zero(t, h.puts())
	})
}

// Locks that are lost, of a transaction that has nothing to write in the end, were looked for again
// and again, and never taken anew.
func TestLocksForNothingAreLost(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.tear()
		h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
		runs := 0
		_, err := h.tx(background, func(tx *txn.Tx) error {
			if runs++; runs > 20 {
				return errors.New("it does not end")
			}
			if runs < 5 {
				return update("new", "=a", "=b")(tx)
			}
			if runs == 5 { // under locks
				w.drop("=a")
				w.overwrite("=a", 99)
			}
			if err := look(tx, "=a", "=b"); err != nil {
				return err
			}
			return tx.Delete("=x")
		})
		require.NoError(t, err)
		assert.LessOrEqual(t, runs, 7)
	})
}
