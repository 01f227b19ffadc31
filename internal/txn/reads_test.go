package txn_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/txn"
)

// multi reads keys in parallel.
func multi(names ...string) func(tx *txn.Tx) error {
	return func(tx *txn.Tx) error {
		errs := make([]error, len(names))
		tx.ReadMulti(names, make([][]byte, len(names)), errs, nil)
		return errors.Join(errs...)
	}
}

// slow makes requests take their time, so that parallel ones overlap.
func slow(context.Context, faulty.Op, *faulty.Answer) { pass(time.Millisecond) }

func inTurn(names ...string) func(tx *txn.Tx) error {
	return func(tx *txn.Tx) error { return look(tx, names...) }
}

// Which keys of a transaction that only reads are read again, and which need not be.
func TestReadsAreValidated(t *testing.T) {
	for _, x := range []struct {
		name   string
		cached []string
		fn     func(tx *txn.Tx) error
		gets   map[string]int
	}{
		{"one key", nil, inTurn("=a"), map[string]int{"=a": 1}},
		{"one key from the cache", []string{"=a"}, inTurn("=a"), map[string]int{"=a": 1}},
		{"in turn: but for the last", nil, inTurn("=a", "=b", "=c"),
			map[string]int{"=a": 2, "=b": 2, "=c": 1}},
		{"in parallel: all", nil, multi("=a", "=b"), map[string]int{"=a": 2, "=b": 2}},
		{"from the cache: all", []string{"=a", "=b"}, inTurn("=a", "=b"),
			map[string]int{"=a": 1, "=b": 1}},
		{"from the cache, then from the store", []string{"=a"}, inTurn("=a", "=b"),
			map[string]int{"=a": 1, "=b": 1}},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=c")
				h := w.handle()
				for _, name := range x.cached {
					h.read(name)
				}
				h.Forget()
				h.Every(slow)
				h.must(x.fn)
				for name, n := range x.gets {
					assert.Len(t, h.Sent(faulty.Get, name), n, name)
				}
			})
		})
	}
}

// A read is answered when the status of the intent that it met is known, not when its
// bytes are: what was requested between is not the last of sequential reads.
func TestReadIsAnsweredWhenTheStatusIsKnown(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		w.rival(2, cell.Staged, "=a", "=b")
		h := w.handle()
		gate := make(chan struct{})
		h.Before(faulty.Get, "=b", 0, func(context.Context) error { <-gate; return nil })
		h.must(func(tx *txn.Tx) error {
			var wg sync.WaitGroup
			wg.Go(func() { assert.NoError(t, look(tx, "=a")) })
			synctest.Wait() // =a has been read, and waits for the status
			err := look(tx, "=c")
			close(gate)
			wg.Wait()
			return err
		})
		assert.Len(t, h.Sent(faulty.Get, "=c"), 2, "it is validated")
		assert.GreaterOrEqual(t, len(h.Sent(faulty.Get, "=a")), 1)
	})
}

// The effective value of a cell can change without the cell.
func TestNotModifiedProvesNothingOfAnUndecidedIntent(t *testing.T) {
	for name, fn := range map[string]func(tx *txn.Tx) error{
		"reads only": multi("=a", "=c"),
		"validated":  copyOf("=a", "=c"),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=c")
				w.staged("=a", "=b")
				h := w.handle()
				h.Before(faulty.Get, "=a", 1, func(context.Context) error {
					w.join("=a", "=b") // commits
					return nil
				})
				var seen []string
				runs, err := h.tx(context.Background(), func(tx *txn.Tx) error {
					v, err := tx.Read("=a")
					seen = append(seen, string(v))
					return errors.Join(err, fn(tx))
				})
				require.NoError(t, err)
				assert.Equal(t, 2, runs)
				assert.Equal(t, []string{"v", "rival"}, seen)
				h.drain()
			})
		})
	}
}

// staged stores the intent of an attempt on cells in the first of them.
func (w *world) staged(names ...string) { w.rival(2, cell.Staged, names...) }

// join stores in another member the intent of the attempt that is in a cell.
func (w *world) join(from, to string) {
	c, _ := w.Cell(from)
	other, _ := w.Cell(to)
	w.Put(to, cell.Place(other, cell.Fold{}, c.Intent))
}

// A CAS at the version read stands for the value read only if no intent was undecided.
func TestWriteOverAnIntentThatCommittedSinceItWasRead(t *testing.T) {
	for _, keys := range [][]string{{"=a"}, {"=a", "=c"}} {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b", "=c")
			w.staged("=a", "=b")
			h := w.handle()
			var seen []string
			runs, err := h.tx(context.Background(), func(tx *txn.Tx) error {
				v, err := tx.Read("=a")
				if seen = append(seen, string(v)); len(seen) == 1 {
					w.join("=a", "=b")
				}
				return errors.Join(err, write("new", keys...)(tx))
			})
			require.NoError(t, err)
			assert.Equal(t, 2, runs)
			assert.Equal(t, []string{"v", "rival"}, seen)
			h.drain()
			got, _ := w.Cell("=a")
			assert.Equal(t, id(2), got.Recent[1], "the rival's write is not lost")
			b, _ := w.handle().read("=b")
			assert.Equal(t, "rival", b)
		})
	}
}

// A writer never replaces an undecided intent: it waits, then kills.
func TestWriterMeetsAnUndecidedIntent(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.staged("=a", "=b")
		h := w.handle()
		start := time.Now()
		h.must(write("new", "=a"))
		assert.Equal(t, patience, time.Since(start).Round(time.Millisecond))
		fenced, _ := w.Cell("=b")
		assert.Equal(t, id(1), fenced.Writer)
		got, _ := w.Cell("=a")
		assert.Equal(t, id(1), got.Recent[1])
	})
}

// A scan with a staleness bound does not show what this handle has replaced since.
func TestWeakScansSeeOwnCommits(t *testing.T) {
	for name, fn := range map[string]func(tx *txn.Tx) error{
		"direct": write("copied", "=a"), "parallel": write("copied", "=a", "=b"),
		"validated": copyOf("=r", "=a"),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=r")
				h := w.handle()
				scanned := func() (got string) {
					err := h.engine.Run(background,
						txn.Options{ReadOnly: true, Staleness: time.Hour},
						func(tx *txn.Tx) error {
							r := scan.Range{Interval: keyspace.Interval{From: "=a", To: "=b"}}
							return tx.Scan(r, func(i txn.Item) bool {
								got = string(i.Value)
								return true
							})
						})
					require.NoError(t, err)
					return got
				}
				require.Equal(t, "v", scanned())
				pass(time.Second)
				h.Forget()
				require.Equal(t, "v", scanned())
				require.Empty(t, h.Sent("", ""), "it is remembered")
				h.must(fn)
				assert.Equal(t, "copied", scanned())
				h.drain()
			})
		})
	}
}

// The handle's own commits are seen by its reads of any staleness, whatever is read at
// the same time.
func TestWeakReadsSeeOwnCommits(t *testing.T) {
	for name, fn := range map[string]func(tx *txn.Tx) error{
		"direct": write("new", "=a"), "parallel": write("new", "=a", "=b"),
		"validated": copyOf("=r", "=a"), "validated, secondary": copyOf("=r", "=B", "=a"),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=r")
				h := w.handle()
				h.read("=a")
				h.must(fn)
				sent := len(h.Sent("", ""))
				v, _, err := h.engine.Read(context.Background(), "=a", time.Hour)
				require.NoError(t, err)
				assert.NotEqual(t, "v", string(v))
				assert.Len(t, h.Sent("", ""), sent, "without a request")
				h.drain()
			})
		})
	}
	t.Run("a read while the write is on its way", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.Value(1, "=a")
			h := w.handle()
			h.Before(faulty.Put, "=a", 0, func(context.Context) error {
				v, _ := h.read("=a")
				assert.Equal(t, "v", v)
				return nil
			})
			h.must(write("new", "=a"))
			v, _, err := h.engine.Read(context.Background(), "=a", time.Hour)
			require.NoError(t, err)
			assert.Equal(t, "new", string(v))
		})
	})
}

func TestSnapshotOfBoundedStaleness(t *testing.T) {
	view := func(h *handle, names ...string) (gets int) {
		h.Forget()
		h.Every(slow)
		err := h.engine.Run(context.Background(),
			txn.Options{ReadOnly: true, Staleness: time.Minute}, multi(names...))
		require.NoError(h.w.T, err)
		return len(h.Sent(faulty.Get, ""))
	}
	warm := func(h *handle, names ...string) {
		for _, name := range names {
			h.read(name)
			pass(time.Second)
		}
	}
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		warm(h, "=a", "=b")
		assert.Equal(t, 2, view(h, "=a", "=b"), "not known to have been current at one instant")
		warm(h, "=a", "=b")
		assert.Zero(t, view(h, "=a", "=b"), "both were current when =a was read the last time")
		pass(time.Minute)
		assert.Equal(t, 2, view(h, "=a", "=b"), "too old: read again, and unchanged since then")
		pass(2 * time.Minute)
		w.Value(2, "=a")
		assert.Equal(t, 4, view(h, "=a", "=b"), "too old: read again, changed, and validated")
	})
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.must(write("new", "=a", "=b"))
		h.read("=a")
		h.read("=b")
		assert.Positive(t, view(h, "=a", "=b"), "an intent's value is current since its commit")
		h.drain()
	})
}

func TestReadOnlyTransactionsDoNotWrite(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		for _, do := range []func(tx *txn.Tx) error{
			write("x", "=a"),
			func(tx *txn.Tx) error { return tx.Delete("=a") },
			func(tx *txn.Tx) error { return tx.Insert("=a", nil, 0) },
			func(tx *txn.Tx) error { return tx.Lock([]string{"=a"}) },
		} {
			err := h.engine.Run(context.Background(), txn.Options{ReadOnly: true},
				func(tx *txn.Tx) error { _ = do(tx); return nil })
			assert.ErrorIs(t, err, txn.ErrReadOnly, "it sticks")
		}
		_, _, err := h.engine.Read(context.Background(), "=a", 0)
		assert.ErrorIs(t, err, backend.ErrNotFound)
		assert.Zero(t, h.puts())
	})
}

// A process stands still for hours, of which its clocks know nothing. As soon as an answer has
// told it the store's time, what it knew before is too old for a weak read.
func TestWeakReadsAfterAStandstill(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Write(1, cell.Put, inline("old"), "=a", "=b")
		h := w.handleOnce()
		weak := func() string {
			v, _, err := h.engine.Read(context.Background(), "=a", time.Minute)
			require.NoError(t, err)
			return string(v)
		}
		h.read("=a")
		w.Write(2, cell.Put, inline("new"), "=a")
		assert.Equal(t, "old", weak(), "within the bound")
		pass(time.Second)
		w.Leap(10 * time.Hour)
		h.read("=b")
		assert.Equal(t, "new", weak())
	})
}

// What a cell held before an intent in it says nothing of how it is within a staleness, unless the
// intent is known to be undecided or final, or a lock: it may have committed long ago.
func TestWeakReadOfACellWithAnIntent(t *testing.T) {
	for action, want := range map[cell.Action]string{cell.Put: "rival", cell.Lock: "v"} {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b")
			r := w.Rival(50, cell.Pending, "=b", "=a")
			r.Intent.Value = inline("rival")
			if r.Intent.Action = action; action == cell.Lock {
				r.Intent.Value = cell.Value{}
			}
			r.Place("=a", "=b")
			held, _ := w.Cell("=b")
			w.Put("=b", cell.Commit(held, id(50), cell.Fold{}))
			pass(5 * time.Minute)
			h := w.handle()
			_, err := h.rs.Read(context.Background(), "=a") // now it is cached
			require.NoError(t, err)
			h.Forget()
			v, _, err := h.engine.Read(context.Background(), "=a", time.Minute)
			require.NoError(t, err)
			assert.Equal(t, want, string(v))
			assert.Equal(t, action == cell.Lock, len(h.Sent("", "")) == 0, "asks the store")
		})
	}
}
