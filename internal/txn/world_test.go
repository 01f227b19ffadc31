package txn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/protocoltest"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	prefix   = protocoltest.Prefix
	patience = 2 * time.Second
)

// Tests say these often.
var (
	pass   = protocoltest.Pass
	id     = protocoltest.ID
	inline = protocoltest.Inline
	names  = protocoltest.Names
)

// world is one in which the test opens handles.
type world struct{ *protocoltest.World }

func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	protocoltest.Run(t, func(w *protocoltest.World) { f(&world{w}) })
}

// touch moves a cell's version, as a fence does.
func (w *world) touch(name string) {
	c, _ := w.Cell(name)
	w.Put(name, cell.Fence(c))
}

// forget writes a cell so often that its recent attempts are all new, and that no mark
// is left.
func (w *world) forget(name string) {
	for n := range byte(cell.RecentMax) {
		c, _ := w.Cell(name)
		f := cell.Fold{Outcome: cell.Dead}
		for _, m := range c.Marks {
			f.Drop = append(f.Drop, m.Tx)
		}
		w.Put(name, cell.Write(c, f, id(200+n), cell.Put, inline("later")))
	}
}

// rival stores the intent of an attempt of another client, of priority n, in the first
// of its members.
func (w *world) rival(n byte, m cell.Mode, names ...string) *protocoltest.Rival {
	r := w.Rival(n, m, names...)
	r.Intent.Value = inline("rival")
	return r.Place(names[0])
}

// handle is one client of the world.
type handle struct {
	*protocoltest.Net
	w      *world
	h      *protocoltest.Handle
	rs     *resolve.Resolver
	engine *txn.Engine
	stop   context.CancelFunc
}

// handle opens one. Its requests are counted from then on.
func (w *world) handle() *handle { return w.handleCaching(1 << 20) }

// handleCaching is handle with a cache of so many bytes.
func (w *world) handleCaching(bytes int64) *handle {
	return w.connect(w.Net(), bytes)
}

// handleOnce is handle where nobody on the way to the store sends a write twice.
func (w *world) handleOnce() *handle {
	net := w.Net()
	net.Once = true
	return w.connect(net, 1<<20)
}

func (w *world) connect(net *protocoltest.Net, bytes int64) *handle {
	o := store.Options{Backend: net, Cache: cache.New(bytes)}
	h := w.Open(o, patience)
	net.Forget()
	return w.engine(net, h)
}

// handleOf is handle with another patience.
func (w *world) handleOf(patience time.Duration) *handle {
	net := w.Net()
	h := w.Open(store.Options{Backend: net}, patience)
	net.Forget()
	return w.engine(net, h)
}

func (w *world) engine(net *protocoltest.Net, h *protocoltest.Handle) *handle {
	e := txn.New(txn.Config{
		Store: h.Store, Resolver: h.Resolver, Background: h.Background, Keys: h.Keys,
		InlineMax: txn.InlineMax,
	})
	return &handle{Net: net, w: w, h: h, rs: h.Resolver, engine: e, stop: h.Stop}
}

func (h *handle) puts() int { return len(h.Sent(faulty.Put, "")) }

// tx runs a transaction, and counts the runs of its function.
func (h *handle) tx(ctx context.Context, fn func(tx *txn.Tx) error) (runs int, err error) {
	err = h.engine.Run(ctx, txn.Options{}, func(tx *txn.Tx) error {
		runs++
		return fn(tx)
	})
	return runs, err
}

// must runs a transaction that has to commit in one run of its function.
func (h *handle) must(fn func(tx *txn.Tx) error) {
	runs, err := h.tx(context.Background(), fn)
	require.NoError(h.w.T, err)
	require.Equal(h.w.T, 1, runs, "runs of the function")
}

// drain waits until the background has nothing left to do.
func (h *handle) drain() { h.w.Drain(h.h) }

// read is the value of a key, "" if absent, and how long it took.
func (h *handle) read(name string) (string, time.Duration) {
	start := time.Now()
	v, _, err := h.engine.Read(context.Background(), name, 0)
	if !errors.Is(err, backend.ErrNotFound) {
		require.NoError(h.w.T, err)
	}
	return string(v), time.Since(start)
}

// write writes keys blindly, in one transaction.
func write(value string, names ...string) func(tx *txn.Tx) error {
	return func(tx *txn.Tx) error {
		for _, name := range names {
			if err := tx.Write(name, []byte(value), 0); err != nil {
				return err
			}
		}
		return nil
	}
}

// update reads keys and writes them, in one transaction.
func update(value string, names ...string) func(tx *txn.Tx) error {
	return func(tx *txn.Tx) error {
		if err := look(tx, names...); err != nil {
			return err
		}
		return write(value, names...)(tx)
	}
}

// copyOf reads a key and writes others: a validated commit.
func copyOf(from string, to ...string) func(tx *txn.Tx) error {
	return func(tx *txn.Tx) error {
		if err := look(tx, from); err != nil {
			return err
		}
		return write("copied", to...)(tx)
	}
}

// look reads keys, one after the other.
func look(tx *txn.Tx, names ...string) error {
	for _, name := range names {
		if _, err := tx.Read(name); err != nil && !errors.Is(err, backend.ErrNotFound) {
			return err
		}
	}
	return nil
}
