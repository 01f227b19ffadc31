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
	"github.com/strictkv/strictkv/internal/txn"
)

// clean checks that no cell holds an intent, and that the keys have their first value.
func (w *world) clean(names ...string) {
	w.T.Helper()
	for _, name := range names {
		got, _ := w.Cell(name)
		assert.Nil(w.T, got.Intent, "%s holds an intent", name)
		assert.Equal(w.T, id(1), got.Writer, "%s was written", name)
	}
}

// What ends without a commit leaves nothing behind, whether or not an attempt has come
// to nothing before.
func TestNothingIsLeftBehind(t *testing.T) {
	own := errors.New("own error")
	for _, x := range []struct {
		name string
		end  func(tx *txn.Tx) error
		err  error
	}{
		{"error", func(*txn.Tx) error { return own }, own},
		{"abort", func(tx *txn.Tx) error { return tx.Abort() }, txn.ErrAborted},
		{"abort, ignored", func(tx *txn.Tx) error { _ = tx.Abort(); return nil },
			txn.ErrAborted},
		{"panic", func(*txn.Tx) error { panic("user") }, nil},
		{"too large", func(tx *txn.Tx) error {
			return tx.Write("=z", make([]byte, txn.ValueMax+1), 0)
		}, txn.ErrTooLarge},
	} {
		for _, after := range []int{0, 1} {
			t.Run(x.name, func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.Value(1, "=a", "=b", "=r")
					h := w.handle()
					h.Before(faulty.Put, "=b", 0, func(context.Context) error {
						c, _ := w.Cell("=b")
						w.Put("=b", cell.Write(c, cell.Fold{}, id(2), cell.Put, inline("v")))
						c, _ = w.Cell("=r")
						w.Put("=r", cell.Write(c, cell.Fold{}, id(2), cell.Put, inline("v")))
						return nil
					})
					runs := 0
					run := func() error {
						_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
							if err := copyOf("=r", "=a", "=b")(tx); err != nil {
								return err
							}
							if runs++; runs > after {
								return x.end(tx)
							}
							return nil
						})
						return err
					}
					if x.err != nil {
						assert.ErrorIs(t, run(), x.err)
					} else {
						assert.PanicsWithValue(t, "user", func() { _ = run() })
					}
					assert.Equal(t, after+1, runs)
					h.drain()
					w.clean("=a")
					b, _ := w.Cell("=b")
					assert.Nil(t, b.Intent)
					if after == 0 {
						assert.Zero(t, h.puts())
					}
				})
			})
		}
	}
}

func TestTxIsDoneAfterItsFunction(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		var kept *txn.Tx
		h.must(func(tx *txn.Tx) error { kept = tx; return tx.Write("=a", nil, 0) })
		_, err := kept.Read("=a")
		assert.ErrorIs(t, err, txn.ErrTxDone)
		assert.ErrorIs(t, kept.Write("=a", nil, 0), txn.ErrTxDone)
		assert.ErrorIs(t, kept.Insert("=a", nil, 0), txn.ErrTxDone)
		assert.ErrorIs(t, kept.Delete("=a"), txn.ErrTxDone)
		assert.ErrorIs(t, kept.Lock([]string{"=a"}), txn.ErrTxDone)
		assert.ErrorIs(t, kept.Abort(), txn.ErrTxDone)
	})
}

// The owner of a committed transaction need not resolve before it goes on.
func TestChainFoldsThePreviousIntents(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		h := w.handle()
		h.must(update("one", "=a", "=b", "=c"))
		one, _ := w.Cell("=a")
		h.must(update("two", "=a", "=b"))
		assert.Equal(t, 5, h.puts(), "nothing was resolved between")
		for _, name := range []string{"=a", "=b"} {
			got, _ := w.Cell(name)
			require.NotNil(t, got.Intent)
			assert.NotEqual(t, one.Intent.Tx, got.Intent.Tx)
			assert.Equal(t, one.Intent.Tx, got.Writer, "folded in the same write")
			_, marked := got.Mark(one.Intent.Tx)
			assert.True(t, marked, "=c still holds it")
		}
		got, _ := w.Cell("=c")
		assert.True(t, got.Holds(one.Intent.Tx))
		other := w.handle()
		for name, want := range map[string]string{"=a": "two", "=b": "two", "=c": "one"} {
			v, took := other.read(name)
			assert.Equal(t, want, v)
			assert.Zero(t, took)
		}
		h.drain()
		assert.Equal(t, 8, h.puts(), "=c of the first, and both of the second")
		for _, name := range []string{"=a", "=b", "=c"} {
			got, _ := w.Cell(name)
			assert.Nil(t, got.Intent)
		}
	})
}

// A chain over the same cells drops the marks of the transaction before the last.
func TestMarksDoNotPileUpInAChain(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		for range 3 * cell.MarksMax {
			h.must(write("v", "=a", "=b", "=c"))
		}
		h.drain()
		for _, name := range []string{"=a", "=b", "=c"} {
			got, _ := w.Cell(name)
			assert.LessOrEqual(t, len(got.Marks), 3, name)
		}
	})
}

// A dead chained wave has folded the previous intents in some cells only.
func TestDeadChainedWaveKeepsThePreviousTransaction(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handleOnce()
		h.must(write("one", "=a", "=b"))
		ctx, cancel := context.WithCancel(context.Background())
		h.Before(faulty.Put, "=b", 1, func(context.Context) error {
			w.touch("=b")
			return nil
		})
		h.After(faulty.Get, "=b", 1, func(*faulty.Answer) { cancel() })
		_, err := h.tx(ctx, write("two", "=a", "=b"))
		require.ErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, txn.ErrInDoubt, "the cell that refused proves it dead")
		assert.Zero(t, h.Planned())
		other := w.handle()
		for _, name := range []string{"=a", "=b"} {
			v, _ := other.read(name)
			assert.Equal(t, "one", v)
		}
		h.drain()
		for _, name := range []string{"=a", "=b"} {
			got, _ := w.Cell(name)
			assert.Nil(t, got.Intent, "what it left is removed, the rest resolved")
			assert.Equal(t, inline("one"), got.Value)
		}
	})
}

// What a transaction took from the background goes back there if it comes to nothing.
func TestClaimsAreReturned(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.must(write("one", "=a", "=b"))
		ctx, cancel := context.WithCancel(context.Background())
		_, err := h.tx(ctx, func(tx *txn.Tx) error {
			cancel()
			return write("two", "=a", "=b")(tx)
		})
		require.ErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, txn.ErrInDoubt)
		h.drain()
		for _, name := range []string{"=a", "=b"} {
			got, _ := w.Cell(name)
			assert.Nil(t, got.Intent)
			assert.Equal(t, inline("one"), got.Value)
		}
	})
}

func TestMaxAttempts(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		for i := range 3 {
			h.Before(faulty.Put, "=b", i, func(context.Context) error { w.touch("=b"); return nil })
		}
		err := h.engine.Run(context.Background(), txn.Options{MaxAttempts: 3},
			update("new", "=a", "=b"))
		var conflict *txn.ConflictError
		require.ErrorAs(t, err, &conflict)
		assert.Equal(t, 3, conflict.Attempts)
		assert.ErrorIs(t, err, txn.ErrConflict)
		h.drain()
		w.clean("=a", "=b")
	})
}

// Two attempts that refused each other's writes: each finds the other dead, and both
// commit in the end, without a kill.
func TestTwoAttemptsThatRefuseEachOther(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		one, two := w.handle(), w.handle()
		var haveRead sync.WaitGroup
		haveRead.Add(2)
		done := make(chan error)
		for i, h := range []*handle{one, two} {
			h.Before(faulty.Put, []string{"=b", "=a"}[i], 0, func(context.Context) error {
				pass(10 * time.Millisecond) // each has landed one of its writes
				return nil
			})
			runs := 0
			fn := func(tx *txn.Tx) error {
				err := look(tx, "=a", "=b")
				if runs++; runs == 1 {
					haveRead.Done()
					haveRead.Wait()
				}
				return errors.Join(err, write("x", "=a", "=b")(tx))
			}
			go func() { _, err := h.tx(context.Background(), fn); done <- err }()
		}
		start := time.Now()
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		assert.Less(t, time.Since(start), patience)
		refused := one.engine.Stats().Refused.Load() + two.engine.Stats().Refused.Load()
		assert.GreaterOrEqual(t, refused, int64(2), "both were refused")
		one.drain()
		two.drain()
	})
}

// A transaction's writes wait for an undecided older one, and say so by their context.
func TestLeavingWhileWaitingForAnother(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		w.rival(2, cell.Pending, "=a", "=b")
		h := w.handle()
		ctx, cancel := context.WithTimeout(context.Background(), patience/2)
		defer cancel()
		_, err := h.tx(ctx, write("x", "=a", "=c"))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, txn.ErrInDoubt)
		assert.Zero(t, h.puts())
	})
}

// A transaction meets more marks than a cell may carry.
func TestCommitOnCellsFullOfMarks(t *testing.T) {
	fill := func(w *world, h *handle) {
		for i := range cell.MarksMax {
			name := "=m" + string(rune('0'+i))
			other := w.handle() // knows nothing of the others
			other.must(write("v", "=a", name))
			other.stop()
		}
	}
	for name, fn := range map[string]func(tx *txn.Tx) error{
		"direct":    write("new", "=a"),
		"parallel":  write("new", "=a", "=b"),
		"validated": copyOf("=r", "=a", "=b"),
		"delete":    func(tx *txn.Tx) error { return tx.Delete("=a") },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				h := w.handle()
				fill(w, h)
				full, _ := w.Cell("=a")
				require.GreaterOrEqual(t, len(full.Marks), cell.MarksMax-1)
				require.NotNil(t, full.Intent)
				h.must(fn)
				h.drain()
				got, _ := w.Cell("=a")
				assert.LessOrEqual(t, len(got.Marks), cell.MarksMax)
				late := w.handle()
				for i := range cell.MarksMax {
					v, took := late.read("=m" + string(rune('0'+i)))
					assert.Equal(t, "v", v)
					assert.Zero(t, took, "every one is known to have committed")
				}
			})
		})
	}
}

// The reads of a function that fails are validated before its error counts.
func TestErrorOfAFunctionIsValidated(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.must(func(tx *txn.Tx) error { return look(tx, "=a", "=b") })
		w.Value(2, "=a")
		own := errors.New("own")
		var seen []string
		_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
			a, err := tx.Read("=a")
			seen = append(seen, string(a))
			return errors.Join(own, err)
		})
		assert.ErrorIs(t, err, own)
		assert.Len(t, seen, 2, "the cached value was stale")
	})
}

// The store fails while the function runs: its error ends the transaction.
func TestStoreFailsDuringTheFunction(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.Before(faulty.Get, "=a", 0, func(context.Context) error { return backend.ErrDenied })
		runs, err := h.tx(context.Background(), func(tx *txn.Tx) error {
			_, _ = tx.Read("=a")
			return tx.Write("=b", nil, 0)
		})
		assert.ErrorIs(t, err, backend.ErrDenied)
		assert.Equal(t, 1, runs)
		assert.Zero(t, h.puts())
		synctest.Wait()
	})
}

// While too many cells wait for the background, an attempt waits that would leave more, and only
// such a one.
func TestOnlySoMuchIsLeftToTheBackground(t *testing.T) {
	for name, x := range map[string]struct {
		fn    func(tx *txn.Tx) error
		waits bool
	}{
		"direct":    {write("v", "=1"), false},
		"parallel":  {write("v", "=1", "=2"), true},
		"validated": {copyOf("=0", "=1", "=2"), true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				h := w.handle()
				all := names(2 * 33)
				for i := 0; i < len(all); i += 2 {
					h.must(write("v", all[i], all[i+1]))
				}
				start := time.Now()
				h.must(x.fn)
				assert.Equal(t, x.waits, time.Since(start) > 0)
				h.drain()
			})
		})
	}
}
