// Package protocoltest is the world of tests that look into the protocol: a store in virtual
// time whose cells a test makes by hand, attempts of others that it makes one write at a
// time, and a connection on which something happens at a certain request.
package protocoltest

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/cleanup"
	"github.com/strictkv/strictkv/internal/contention"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// Prefix is that of the database; names of cells are relative to it.
const Prefix = "db/"

// World is a store in virtual time. The test sees and changes its cells directly.
type World struct {
	T *testing.T
	// Mem is the store. Nothing fails there, nor takes time.
	Mem *memory.Backend

	nonce uint64
	leap  atomic.Int64 // by which the store's clock is ahead
}

// Leap lets days pass by the store's clock, of which those of clients know nothing.
func (w *World) Leap(d time.Duration) { w.leap.Add(int64(d)) }

// Run runs f in virtual time, on an empty store.
func Run(t *testing.T, f func(w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &World{T: t}
		w.Mem = memory.New(memory.WithClock(func() time.Time {
			return time.Now().Add(time.Duration(w.leap.Load()))
		}))
		f(w)
	})
}

// Pass lets virtual time pass.
func Pass(d time.Duration) { time.Sleep(d) }

// Handle is one client's, but for an engine on it, which is the test's own.
type Handle struct {
	Store      *store.Store
	Resolver   *resolve.Resolver
	Background *cleanup.Background
	Keys       *contention.Keys
	// Stop ends its life.
	Stop context.CancelFunc
}

// Open opens a handle. Of o it needs the backend, and what else is zero there is as usual. The
// handle lives until Stop, or to the end of the test.
func (w *World) Open(o store.Options, patience time.Duration) *Handle {
	o.Runtime, o.Prefix = seam.Real(), Prefix
	if o.Cache == nil {
		o.Cache = cache.New(1 << 20)
	}
	if o.Concurrency == 0 {
		o.Concurrency = 64
	}
	st, err := store.Open(context.Background(), o)
	require.NoError(w.T, err)
	life, stop := context.WithCancel(context.Background())
	w.T.Cleanup(stop)
	h := &Handle{Store: st, Keys: contention.NewKeys(o.Runtime), Stop: stop}
	h.Resolver = resolve.New(resolve.Options{Store: st, Patience: patience})
	h.Background = cleanup.New(life, cleanup.Options{
		Resolver: h.Resolver, Store: st, Keys: h.Keys, Concurrency: 8,
		Logger: slog.New(slog.DiscardHandler),
	})
	return h
}

// Drain waits until the background has nothing left to do.
func (w *World) Drain(h *Handle) {
	w.T.Helper()
	require.NoError(w.T, h.Background.Drain(context.Background()))
}

// Cell is what is stored, and its version.
func (w *World) Cell(name string) (*cell.Cell, backend.Version) {
	o, err := w.Mem.Get(context.Background(), Prefix+name, "")
	if errors.Is(err, backend.ErrNotFound) {
		return &cell.Cell{}, ""
	}
	require.NoError(w.T, err)
	c, err := cell.Decode(o.Data)
	require.NoError(w.T, err)
	return c, o.Version
}

// Put replaces what is stored.
func (w *World) Put(name string, c *cell.Cell) {
	w.nonce++
	w.PutData(name, cell.Encode(c, w.nonce))
}

// PutData is Put for objects that need not be cells.
func (w *World) PutData(name string, data []byte) {
	cond := backend.IfAbsent()
	if o, err := w.Mem.Get(context.Background(), Prefix+name, ""); err == nil {
		cond = backend.IfVersion(o.Version)
	}
	_, err := w.Mem.Put(context.Background(), Prefix+name, data, cond)
	require.NoError(w.T, err)
}

// Remove takes an object away, as a sweep does.
func (w *World) Remove(name string) {
	o, err := w.Mem.Get(context.Background(), Prefix+name, "")
	require.NoError(w.T, err)
	require.NoError(w.T, w.Mem.Delete(context.Background(), Prefix+name, o.Version))
}

// Write writes cells as direct commits of attempt n do, who knows everything of what is
// there: an intent counts as dead.
func (w *World) Write(n byte, a cell.Action, v cell.Value, names ...string) {
	for _, name := range names {
		c, _ := w.Cell(name)
		w.Put(name, cell.Write(c, cell.Fold{Outcome: cell.Dead}, ID(n), a, v))
	}
}

// Value is Write of a value that is of no matter.
func (w *World) Value(n byte, names ...string) { w.Write(n, cell.Put, Inline("v"), names...) }

// Fold resolves the intents in cells as committed, with the mark, as a stranger does who
// has found out.
func (w *World) Fold(names ...string) {
	for _, name := range names {
		c, _ := w.Cell(name)
		w.Put(name, cell.Resolve(c, cell.Fold{Outcome: cell.Committed}))
	}
}
