package txn_test

import (
	"context"
	"errors"
	"strings"
	"sync"
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

func TestDirectCommit(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		h := w.handle()
		h.must(update("new", "=a"))
		got, _ := w.Cell("=a")
		tx := got.Writer
		assert.Equal(t, &cell.Cell{
			Value: inline("new"), Writer: tx, Recent: []txid.ID{tx, id(1)},
		}, got, "a value, and no intent at any time")
		assert.Equal(t, 1, h.puts())
		assert.Equal(t, int64(1), h.engine.Stats().Direct.Load())
		h.must(func(tx *txn.Tx) error { return tx.Delete("=a") })
		got, _ = w.Cell("=a")
		assert.Equal(t, cell.ShapeTombstone, got.Shape())
		assert.Len(t, got.Recent, 3)
	})
}

func TestParallelCommit(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		_, va := w.Cell("=a")
		_, vb := w.Cell("=b")
		h := w.handle()
		h.must(func(tx *txn.Tx) error {
			return errors.Join(
				update("new", "=b")(tx), tx.Delete("=a"), tx.Write("=c", []byte("c"), 0))
		})
		a, _ := w.Cell("=a")
		require.NotNil(t, a.Intent)
		tx := a.Intent.Tx
		list := cell.Members{List: []cell.Member{
			{Name: "=a", Expected: string(va)}, {Name: "=b", Expected: string(vb)}, {Name: "=c"},
		}}
		for name, action := range map[string]cell.Action{
			"=a": cell.Delete, "=b": cell.Put, "=c": cell.Put,
		} {
			got, _ := w.Cell(name)
			require.NotNil(t, got.Intent, name)
			assert.Equal(t, tx, got.Intent.Tx)
			assert.Equal(t, cell.Staged, got.Intent.Mode)
			assert.Equal(t, action, got.Intent.Action)
			assert.Equal(t, list, got.Intent.Members, "in name order, with the versions replaced")
			assert.NotEqual(t, tx, got.Writer, "the committed value stays until it is resolved")
		}
		assert.Equal(t, 3, h.puts())
		h.drain()
		marks := 0
		for _, name := range []string{"=a", "=b", "=c"} {
			got, _ := w.Cell(name)
			assert.Nil(t, got.Intent, name)
			assert.Equal(t, tx, got.Writer, name)
			assert.Equal(t, tx, got.Recent[0], name)
			for _, m := range got.Marks {
				assert.Equal(t, cell.Mark{Tx: tx, Members: list}, m, name)
				marks++
			}
		}
		assert.GreaterOrEqual(t, marks, 2, "only the last to be folded needs none")
		assert.Equal(t, 6, h.puts())
		h.must(write("next", "=a"))
		got, _ := w.Cell("=a")
		assert.Empty(t, got.Marks, "the next write of this client drops the mark")
		assert.Equal(t, 7, h.puts())
	})
}

// Pending intents; then, once they have all landed, validation; then the primary.
func TestValidatedCommit(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=r")
		h := w.handle()
		var mu sync.Mutex // guards log
		var log []string
		h.Every(func(_ context.Context, op faulty.Op, a *faulty.Answer) {
			what := string(op.Kind) + " " + strings.TrimPrefix(op.Name, prefix)
			if a != nil {
				what = "answer " + what
			}
			mu.Lock()
			defer mu.Unlock()
			log = append(log, what)
		})
		h.must(func(tx *txn.Tx) error {
			if err := errors.Join(look(tx, "=r", "=a"), update("new", "=b", "=a")(tx)); err != nil {
				return err
			}
			log = nil
			return nil
		})
		require.Len(t, log, 8, "%v", log)
		assert.ElementsMatch(t, []string{"put =a", "put =b", "answer put =a", "answer put =b"},
			log[:4], "first the intents")
		assert.Equal(t, []string{"get =r", "answer get =r", "put =a", "answer put =a"}, log[4:],
			"then what was read and not written; then the primary")

		a, _ := w.Cell("=a")
		tx := a.Writer
		assert.Equal(t, inline("new"), a.Value)
		assert.Nil(t, a.Intent)
		mark, ok := a.Mark(tx)
		require.True(t, ok, "the primary carries the mark")
		assert.Len(t, mark.List, 2)
		b, _ := w.Cell("=b")
		assert.True(t, b.Holds(tx))
		assert.Equal(t, cell.Pending, b.Intent.Mode)
		h.drain()
		b, _ = w.Cell("=b")
		assert.Nil(t, b.Intent)
		assert.Equal(t, tx, b.Writer)
		assert.Equal(t, 4, h.puts(), "n + 1, then n - 1 in the background")
	})
}

func TestValidatedCommitOfOneKeyLeavesNoMark(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=r")
		h := w.handle()
		h.must(copyOf("=r", "=a"))
		got, _ := w.Cell("=a")
		assert.Nil(t, got.Intent)
		assert.Empty(t, got.Marks)
		assert.Equal(t, inline("copied"), got.Value)
		assert.Equal(t, 2, h.puts())
	})
}

func TestLongListIsCarriedByThePrimaryOnly(t *testing.T) {
	for _, n := range []int{cell.ListMax, cell.ListMax + 1} {
		inWorld(t, func(w *world) {
			all := names(n)
			h := w.handle()
			h.must(write("new", all...))
			for i, name := range all {
				got, _ := w.Cell(name)
				require.NotNil(t, got.Intent)
				want := n
				if n > cell.ListMax && i > 0 {
					want = 1
				}
				assert.Len(t, got.Intent.List, want, "%s of %d", name, n)
				assert.Equal(t, "=a", got.Intent.Primary().Name)
				assert.Equal(t, n > cell.ListMax, got.Intent.Long)
			}
			other := w.handle()
			for _, name := range []string{"=a", "=e", all[n-1]} {
				v, took := other.read(name)
				assert.Equal(t, "new", v)
				assert.Zero(t, took)
			}
			h.drain()
		})
	}
}

// refusals are what may happen to =b between the read and the wave of a transaction.
func TestRefusedWave(t *testing.T) {
	for _, x := range []struct {
		name string
		fn   func(tx *txn.Tx) error
		then func(w *world)
		runs int
	}{
		{"only the version has moved: a new attempt, without the function",
			update("new", "=a", "=b"), func(w *world) { w.touch("=b") }, 1},
		{"a dead intent: only the version", update("new", "=a", "=b"),
			func(w *world) { w.rival(2, cell.Staged, "=b", "=x"); w.touch("=x") }, 1},
		{"the writer has changed: the function runs again",
			update("new", "=a", "=b"), func(w *world) { w.Value(2, "=b") }, 2},
		{"a committed intent: the writer has changed", update("new", "=a", "=b"),
			func(w *world) { w.rival(2, cell.Staged, "=b") }, 2},
		{"direct, only the version", update("new", "=b"), func(w *world) { w.touch("=b") }, 1},
		{"direct, the writer", update("new", "=b"), func(w *world) { w.Value(2, "=b") }, 2},
		{"validated, only the version", copyOf("=r", "=a", "=b"),
			func(w *world) { w.touch("=b"); w.touch("=r") }, 1},
		{"validated, the writer of what was read, too", copyOf("=r", "=a", "=b"),
			func(w *world) { w.touch("=b"); w.Value(2, "=r") }, 2},
		{"blind writes: whoever wrote meanwhile", write("new", "=a", "=b"),
			func(w *world) { w.Value(2, "=b") }, 1},
		{"a lock: the writer has changed", func(tx *txn.Tx) error {
			return errors.Join(tx.Lock([]string{"=b"}), tx.Write("=a", nil, 0))
		}, func(w *world) { w.Value(2, "=b") }, 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=r", "=x")
				h := w.handle()
				h.Before(faulty.Put, "=b", 0, func(context.Context) error { x.then(w); return nil })
				runs, err := h.tx(context.Background(), x.fn)
				require.NoError(t, err)
				assert.Equal(t, x.runs, runs, "runs of the function")
				assert.Equal(t, int64(1), h.engine.Stats().Refused.Load())
				h.drain()
				for _, name := range []string{"=a", "=b"} {
					got, _ := w.Cell(name)
					assert.Nil(t, got.Intent, name)
				}
			})
		})
	}
}

// A new attempt has a new id, since observers may have seen the old one dead.
func TestNewAttemptHasANewID(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		var mu sync.Mutex // guards ids
		var ids []txid.ID
		h.Every(func(_ context.Context, op faulty.Op, a *faulty.Answer) {
			if c, err := cell.Decode(op.Data); err == nil && a == nil && c.Intent != nil {
				mu.Lock()
				defer mu.Unlock()
				ids = append(ids, c.Intent.Tx)
			}
		})
		h.Before(faulty.Put, "=b", 0, func(context.Context) error { w.touch("=b"); return nil })
		h.must(update("new", "=a", "=b"))
		require.Len(t, ids, 4)
		assert.Equal(t, ids[0], ids[1])
		assert.Equal(t, ids[2], ids[3])
		assert.NotEqual(t, ids[0], ids[2])
		h.drain()
	})
}

// insert inserts keys, in one transaction.
func insert(names ...string) func(tx *txn.Tx) error {
	return func(tx *txn.Tx) error {
		for _, name := range names {
			if err := tx.Insert(name, []byte("inserted"), 0); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestInsert(t *testing.T) {
	tombstone := func(w *world) { w.Put("=b", &cell.Cell{Writer: id(9), Recent: []txid.ID{id(9)}}) }
	condemned := func(w *world) { w.Put("=b", &cell.Cell{Writer: id(9), Condemned: true}) }
	for _, x := range []struct {
		name   string
		before func(w *world)
		runs   int
		err    error
		gets   int // one more after a pause, beside another key
	}{
		{"over nothing", func(*world) {}, 1, nil, 0},
		{"over a tombstone", tombstone, 1, nil, 1},
		{"over a condemned tombstone", condemned, 1, nil, 1},
		{"over a dead intent", func(w *world) {
			w.rival(2, cell.Staged, "=b", "=x")
			w.Value(3, "=x")
		}, 1, nil, 3},
		{"over a committed delete", func(w *world) {
			w.Value(2, "=b")
			c, _ := w.Cell("=b")
			w.Put("=b", cell.Write(c, cell.Fold{}, id(3), cell.Delete, cell.Value{}))
		}, 1, nil, 1},
		{"over a value", func(w *world) { w.Value(2, "=b") }, 2, txn.ErrExists, 1},
		{"over a committed intent", func(w *world) { w.rival(2, cell.Staged, "=b") }, 2,
			txn.ErrExists, 1},
	} {
		for n, keys := range [][]string{{"=b"}, {"=a", "=b"}} {
			t.Run(x.name, func(t *testing.T) {
				inWorld(t, func(w *world) {
					x.before(w)
					h := w.handleOnce()
					runs, err := h.tx(context.Background(), insert(keys...))
					assert.ErrorIs(t, err, x.err)
					assert.Equal(t, x.runs, runs)
					gets, most := len(h.Sent(faulty.Get, "")), x.gets+n
					if x.err != nil {
						most += n // the other key is read before the error counts
					}
					assert.GreaterOrEqual(t, gets, x.gets)
					assert.LessOrEqual(t, gets, most, "an insert costs no read")
					h.drain()
					v, _ := w.handle().read("=b")
					a, _ := w.Cell("=a")
					if assert.Nil(t, a.Intent); x.err != nil {
						assert.NotEqual(t, "inserted", v)
						assert.Equal(t, cell.Absent, a.Value.Kind, "and nothing is left behind")
						return
					}
					assert.Equal(t, "inserted", v)
				})
			})
		}
	}
}

// The handle learns, after the Insert and before the commit, that the key exists: the
// insert must not become a write over it.
func TestInsertOfAKeyThatIsKnownToExistByThen(t *testing.T) {
	for _, keys := range [][]string{{"=b"}, {"=a", "=b"}} {
		inWorld(t, func(w *world) {
			h := w.handle()
			runs, err := h.tx(context.Background(), func(tx *txn.Tx) error {
				for _, name := range keys {
					if err := tx.Insert(name, []byte("inserted"), 0); err != nil {
						return err
					}
				}
				w.Value(2, "=b")
				h.read("=b")
				return nil
			})
			assert.ErrorIs(t, err, txn.ErrExists)
			assert.Equal(t, 2, runs)
			assert.Zero(t, h.puts())
			got, _ := w.Cell("=b")
			assert.Equal(t, id(2), got.Writer)
		})
	}
}

// The ErrExists of an insert is a read: it is validated like any other.
func TestErrExistsIsValidated(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=b", "=r")
		h := w.handle()
		h.read("=b") // now cached
		c, _ := w.Cell("=b")
		w.Put("=b", cell.Write(c, cell.Fold{}, id(3), cell.Delete, cell.Value{}))
		runs, err := h.tx(context.Background(), func(tx *txn.Tx) error {
			return tx.Insert("=b", []byte("inserted"), 0)
		})
		require.NoError(t, err, "it exists no more")
		assert.Equal(t, 2, runs)
		v, _ := h.read("=b")
		assert.Equal(t, "inserted", v)
	})
}

// Two transactions each read what the other writes. Locks, or validation, make one of
// them see the other.
func TestWriteSkewIsPrevented(t *testing.T) {
	onCall := func(mine, other string, lock bool) func(tx *txn.Tx) error {
		return func(tx *txn.Tx) error {
			v, err := tx.Read(other)
			if err != nil && !errors.Is(err, backend.ErrNotFound) {
				return err
			}
			if lock {
				if err := tx.Lock([]string{other}); err != nil {
					return err
				}
			}
			if string(v) == "off" {
				return nil
			}
			return tx.Write(mine, []byte("off"), 0)
		}
	}
	for _, lock := range []bool{true, false} {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b")
			one, two := w.handle(), w.handle()
			two.must(func(tx *txn.Tx) error { return look(tx, "=a", "=b") }) // cached
			one.must(onCall("=a", "=b", lock))
			runs, err := two.tx(context.Background(), onCall("=b", "=a", lock))
			require.NoError(t, err)
			assert.Equal(t, 2, runs)
			one.drain()
			two.drain()
			b, _ := w.handle().read("=b")
			assert.Equal(t, "v", b, "both went off")
		})
	}
}

func TestConcurrentWriteSkew(t *testing.T) {
	for _, lock := range []bool{true, false} {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b")
			done := make(chan error)
			var handles []*handle
			for i, mine := range []string{"=a", "=b"} {
				other := []string{"=b", "=a"}[i]
				h := w.handle()
				handles = append(handles, h)
				h.Every(func(_ context.Context, _ faulty.Op, a *faulty.Answer) {
					pass(20 * time.Millisecond)
				})
				go func() {
					_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
						v, err := tx.Read(other)
						if err != nil || string(v) == "off" {
							return err
						}
						if lock {
							if err := tx.Lock([]string{other}); err != nil {
								return err
							}
						}
						return tx.Write(mine, []byte("off"), 0)
					})
					done <- err
				}()
			}
			require.NoError(t, <-done)
			require.NoError(t, <-done)
			for _, h := range handles {
				h.drain()
			}
			a, _ := w.handle().read("=a")
			b, _ := w.handle().read("=b")
			assert.ElementsMatch(t, []string{"v", "off"}, []string{a, b}, "exactly one goes off")
		})
	}
}

func TestLockLeavesValueAndWriter(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		before, _ := w.Cell("=b")
		h := w.handle()
		h.must(func(tx *txn.Tx) error {
			return errors.Join(tx.Lock([]string{"=b", "=gone"}), tx.Write("=a", []byte("new"), 0))
		})
		held, _ := w.Cell("=b")
		require.NotNil(t, held.Intent)
		assert.Equal(t, cell.Lock, held.Intent.Action)
		assert.Equal(t, int64(1), h.engine.Stats().Parallel.Load(), "one round instead of three")
		h.drain()
		after, _ := w.Cell("=b")
		after.Marks = nil
		assert.Equal(t, before, after)
		gone, _ := w.Cell("=gone")
		assert.True(t, gone.Writer.IsZero(), "an absent key can be locked too")
		assert.Equal(t, cell.Absent, gone.Value.Kind)
	})
}

func TestLocksAloneWriteNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.must(func(tx *txn.Tx) error { return tx.Lock([]string{"=a", "=b"}) })
		assert.Zero(t, h.puts())
	})
}

func TestNeedlessDeletesWriteNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Put("=b", &cell.Cell{Writer: id(9)})
		h := w.handleOnce()
		h.must(func(tx *txn.Tx) error { return errors.Join(tx.Delete("=a"), tx.Delete("=b")) })
		assert.Zero(t, h.puts())
		assert.Equal(t, int64(1), h.engine.Stats().ReadOnly.Load())
		w.Value(1, "=a")
		runs, err := h.tx(context.Background(),
			func(tx *txn.Tx) error { return tx.Delete("=a") })
		require.NoError(t, err)
		assert.Equal(t, 2, runs, "the cached absence was validated")
		v, _ := h.read("=a")
		assert.Empty(t, v)
	})
}

// A delete of nothing beside another one is written: others must see that it happened.
func TestDeleteOfNothingBesideAWrite(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.must(func(tx *txn.Tx) error {
			return errors.Join(tx.Delete("=a"), tx.Write("=b", []byte("x"), 0))
		})
		h.drain()
		got, _ := w.Cell("=a")
		assert.Equal(t, cell.ShapeTombstone, got.Shape())
		b, _ := w.Cell("=b")
		assert.Equal(t, b.Writer, got.Writer)
	})
}
