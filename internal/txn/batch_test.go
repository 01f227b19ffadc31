package txn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/commit"
	"github.com/strictkv/strictkv/internal/protocoltest"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txn"
)

// together is a connection to a store that writes several objects at one instant. One handle
// alone uses it.
type together struct {
	*protocoltest.Net
	w *world
	// before happens before the nth batch (from 0) takes effect. An error is its answer, and it
	// does not. lost says that the answer to one that did is lost.
	before  func(n int) error
	lost    bool
	batches int
}

func (b *together) PutAll(
	ctx context.Context, writes []backend.Write,
) (at []backend.Stamp, refused int, err error) {
	n := b.batches
	b.batches++
	if b.before != nil {
		if err := b.before(n); err != nil {
			return nil, 0, err
		}
	}
	for i, x := range writes {
		o, err := b.w.Mem.Get(ctx, x.Name, "")
		if absent := err != nil; absent != x.If.Absent() || o.Version != x.If.Version() {
			return nil, i, backend.ErrPrecondition
		}
	}
	for _, x := range writes {
		made, err := b.w.Mem.Put(ctx, x.Name, x.Data, x.If)
		require.NoError(b.w.T, err)
		at = append(at, made)
	}
	if b.lost {
		return nil, 0, backend.ErrOutcomeUnknown
	}
	return at, 0, nil
}

func (*together) BatchMax() int { return 1 << 20 }

// Capabilities are those of a store on a local disk.
func (b *together) Capabilities() backend.Capabilities {
	c := b.Net.Capabilities()
	c.Near = true
	return c
}

// batching is a handle whose store writes several objects at one instant.
func (w *world) batching() (*handle, *together) {
	net := &together{Net: w.Net(), w: w}
	net.Once = true
	h := w.Open(store.Options{Backend: net, Cache: cache.New(1 << 20)}, patience)
	net.Forget()
	return w.engine(net.Net, h), net
}

// TestBatchTornForEver: writers of one key beat a batch each time, as it holds nothing that they
// would have to wait for. So it takes locks at last.
func TestBatchTornForEver(t *testing.T) {
	for _, x := range []struct {
		name string
		torn []string
	}{
		{"by a writer of one of its keys", []string{"=b"}},
		{"by a writer of each of them", []string{"=a", "=b"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h, net := w.batching()
				next := byte(1)
				net.before = func(int) error {
					for _, name := range x.torn {
						next++
						w.overwrite(name, next)
					}
					return nil
				}
				err := h.engine.Run(context.Background(), txn.Options{MaxAttempts: 20},
					update("new", "=a", "=b"))
				require.NoError(t, err)
				assert.LessOrEqual(t, net.batches, 4)
			})
		})
	}
}

// TestBatchLostToOne: who has lost all keys to one rival has stood in line.
func TestBatchLostToOne(t *testing.T) {
	inWorld(t, func(w *world) {
		const losses = 12
		w.Value(1, "=a", "=b")
		h, net := w.batching()
		net.before = func(n int) error {
			if n < losses {
				w.Value(byte(n+2), "=a", "=b")
			}
			return nil
		}
		runs, err := h.tx(context.Background(), update("new", "=a", "=b"))
		require.NoError(t, err)
		assert.Equal(t, losses+1, runs)
		assert.Equal(t, losses+1, net.batches, "locks would make all of them wait")
	})
}

// TestBatchThatIsAlwaysRefused: a store that goes on refusing batches is written to one by one at
// last.
func TestBatchThatIsAlwaysRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h, net := w.batching()
		net.before = func(int) error { return backend.ErrPrecondition }
		err := h.engine.Run(background, txn.Options{MaxAttempts: 50}, update("new", "=a", "=b"))
		require.NoError(t, err)
		assert.Less(t, net.batches, 10)
		h.drain()
	})
}

// TestBatchUnknown: an attempt of unknown outcome is in doubt, and is not sent again.
func TestBatchUnknown(t *testing.T) {
	for _, x := range []struct {
		name string
		lost bool
		want string
	}{
		{"the answer is lost", true, "new"},
		{"the request is lost", false, "v"},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h, net := w.batching()
				if net.lost = x.lost; !x.lost {
					net.before = func(int) error { return backend.ErrOutcomeUnknown }
				}
				runs, err := h.tx(context.Background(), update("new", "=a", "=b"))
				require.ErrorIs(t, err, commit.ErrInDoubt)
				require.ErrorIs(t, err, backend.ErrOutcomeUnknown)
				assert.Equal(t, 1, runs)
				h.drain()
				assert.Equal(t, 1, net.batches)
				for _, name := range []string{"=a", "=b"} {
					c, _ := w.Cell(name)
					assert.Equal(t, inline(x.want), c.Value)
					assert.Nil(t, c.Intent)
				}
				net.lost, net.before = false, nil
				got, _ := h.read("=b")
				assert.Equal(t, x.want, got)
				require.NoError(t, h.engine.Run(context.Background(), txn.Options{},
					update("later", "=a", "=b")))
			})
		})
	}
}

// TestBatchNotApplied: what certainly was not applied is sent again, or is no doubt.
func TestBatchNotApplied(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h, net := w.batching()
		net.before = func(n int) error {
			if n == 0 {
				return backend.ErrThrottled
			}
			return nil
		}
		h.must(update("new", "=a", "=b"))
		assert.Equal(t, 2, net.batches)

		net.before = func(int) error { return backend.ErrDenied }
		_, err := h.tx(context.Background(), update("newer", "=a", "=b"))
		require.ErrorIs(t, err, backend.ErrDenied)
		require.NotErrorIs(t, err, commit.ErrInDoubt)
	})
}

// TestBatchValidates: only what is written is a part of a batch; what is read otherwise needs
// intents.
func TestBatchValidates(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=r")
		h, net := w.batching()
		h.must(copyOf("=r", "=a", "=b"))
		assert.Zero(t, net.batches)
	})
}

// TestBatchLeavesOut: a value that is an object of its own, and a key that is only locked, are no
// part of a batch: a link that is sent late has to be fenced.
func TestBatchLeavesOut(t *testing.T) {
	for name, fn := range map[string]func(tx *txn.Tx) error{
		"a link": func(tx *txn.Tx) error {
			return errors.Join(write(big, "=a")(tx), write("new", "=b")(tx))
		},
		"a lock": func(tx *txn.Tx) error {
			return errors.Join(tx.Lock([]string{"=a"}), write("new", "=b")(tx))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h, net := w.batching()
				h.must(fn)
				assert.Zero(t, net.batches)
				h.drain()
			})
		})
	}
}

// TestBatchErrorIsNotTheCallers: that a request ran out of its time does not say that the caller
// has.
func TestBatchErrorIsNotTheCallers(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h, net := w.batching()
		net.before = func(int) error {
			return errors.Join(backend.ErrDenied, context.DeadlineExceeded)
		}
		_, err := h.tx(context.Background(), update("new", "=a", "=b"))
		require.ErrorIs(t, err, backend.ErrDenied)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
	})
}

// TestBatchFolds: a batch folds what others have left in cells, as a direct commit does.
func TestBatchFolds(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		w.rivalIn(2, cell.Staged, "=a", "=b", "=c") // committed
		h, net := w.batching()
		_, err := h.tx(context.Background(), update("new", "=a", "=b"))
		require.NoError(t, err)
		assert.Equal(t, 1, net.batches)
		got, took := h.read("=c")
		assert.Equal(t, "rival", got)
		assert.Less(t, took, time.Second)
	})
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		w.rivalIn(2, cell.Staged, "=a", "=b", "=c")
		h, _ := w.batching()
		_, err := h.tx(context.Background(), update("new", "=a", "=b"))
		require.NoError(t, err)
		other := w.handle()
		got, _ := other.read("=c")
		assert.Equal(t, "rival", got, "the marks tell")
	})
}

// TestReadsWaitAtOnce: who reads what many have left undecided waits for all of them at the same
// time, also where reads follow each other.
func TestReadsWaitAtOnce(t *testing.T) {
	keys := names(20)
	for _, x := range []struct {
		name string
		fn   func(tx *txn.Tx, runs int, leave func()) error
	}{
		{"when they are read", func(tx *txn.Tx, runs int, leave func()) error {
			if runs == 1 {
				leave()
			}
			errs := make([]error, len(keys))
			tx.ReadMulti(keys, make([][]byte, len(keys)), errs, nil)
			return errors.Join(errs...)
		}},
		{"when they are validated", func(tx *txn.Tx, runs int, leave func()) error {
			if err := look(tx, keys...); err != nil {
				return err
			}
			if runs == 1 {
				leave()
			}
			return write("new", "=other")(tx)
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, keys...)
				h, _ := w.batching()
				began := time.Now()
				runs := 0
				_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
					runs++
					return x.fn(tx, runs, func() {
						for i, key := range keys {
							w.rivalIn(byte(i+2), cell.Pending, key)
						}
					})
				})
				require.NoError(t, err)
				assert.Less(t, time.Since(began), 4*patience)
			})
		})
	}
}
