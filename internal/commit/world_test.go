package commit_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/commit"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	prefix   = "db/"
	patience = 2 * time.Second
)

// world is a store in virtual time. The test sees and changes its cells directly, and
// opens handles on it.
type world struct {
	t     *testing.T
	mem   *memory.Backend
	nonce uint64
}

func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(&world{t: t, mem: memory.New()}) })
}

// pass lets virtual time pass.
func pass(d time.Duration) { time.Sleep(d) }

// cell is what is stored, and its version.
func (w *world) cell(name string) (*cell.Cell, backend.Version) {
	o, err := w.mem.Get(context.Background(), prefix+name, "")
	if errors.Is(err, backend.ErrNotFound) {
		return &cell.Cell{}, ""
	}
	require.NoError(w.t, err)
	c, err := cell.Decode(o.Data)
	require.NoError(w.t, err)
	return c, o.Version
}

// put replaces what is stored.
func (w *world) put(name string, c *cell.Cell) {
	_, v := w.cell(name)
	cond := backend.IfAbsent()
	if v != "" {
		cond = backend.IfVersion(v)
	}
	w.nonce++
	_, err := w.mem.Put(context.Background(), prefix+name, cell.Encode(c, w.nonce), cond)
	require.NoError(w.t, err)
}

// value stores a committed value of attempt n over whatever is there; an intent in it
// counts as dead.
func (w *world) value(n byte, names ...string) {
	for _, name := range names {
		c, _ := w.cell(name)
		w.put(name, cell.Write(c, cell.Fold{Outcome: cell.Dead}, id(n), cell.Put, inline("v")))
	}
}

// touch moves a cell's version, as a fence does.
func (w *world) touch(name string) {
	c, _ := w.cell(name)
	w.put(name, cell.Fence(c))
}

// commit resolves the intents in cells as committed, with the mark, as a stranger does
// who has found out.
func (w *world) commit(names ...string) {
	for _, name := range names {
		c, _ := w.cell(name)
		w.put(name, cell.Resolve(c, cell.Fold{Outcome: cell.Committed}))
	}
}

// forget writes a cell so often that its recent attempts are all new, and that no mark
// is left.
func (w *world) forget(name string) {
	for n := range byte(cell.RecentMax) {
		c, _ := w.cell(name)
		f := cell.Fold{Outcome: cell.Dead}
		for _, m := range c.Marks {
			f.Drop = append(f.Drop, m.Tx)
		}
		w.put(name, cell.Write(c, f, id(200+n), cell.Put, inline("later")))
	}
}

// rival stores the intent of an attempt of another client, of priority n, in the first
// of its members.
func (w *world) rival(n byte, m cell.Mode, names ...string) {
	in := &cell.Intent{
		Tx: id(n), Priority: txid.Priority{Time: int64(n)}, Mode: m, Action: cell.Put,
		Value: inline("rival"),
	}
	for _, name := range names {
		_, v := w.cell(name)
		in.List = append(in.List, cell.Member{Name: name, Expected: string(v)})
	}
	c, _ := w.cell(names[0])
	w.put(names[0], cell.Place(c, cell.Fold{}, in))
}

// handle is one client of the world.
type handle struct {
	w      *world
	st     *store.Store
	rs     *resolve.Resolver
	engine *commit.Engine
	net    *faulty.Backend
	stop   context.CancelFunc

	mu    sync.Mutex // guards all below
	steps []*step
	count map[place]int
	ops   []faulty.Op
	// every is called for each request, before it is sent and after its answer.
	every func(ctx context.Context, op faulty.Op, a *faulty.Answer)
}

// place is where a step happens: before a request for a cell is sent, or before its
// answer arrives.
type place struct {
	kind  faulty.Kind
	name  string
	after bool
}

// step is what happens at the nth time (from 0) in a place.
type step struct {
	at     place
	nth    int
	before func(ctx context.Context) error
	answer func(a *faulty.Answer)
}

// handle opens one. Its requests are counted from then on.
func (w *world) handle() *handle { return w.handleCaching(1 << 20) }

// handleCaching is handle with a cache of so many bytes.
func (w *world) handleCaching(bytes int64) *handle {
	h := &handle{w: w, count: map[place]int{}}
	h.net = faulty.New(w.mem, faulty.Options{Before: h.sent, After: h.answered})
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{
		Backend: h.net, Runtime: seam.Real(), Cache: cache.New(bytes), Prefix: prefix,
		Concurrency: 64,
	})
	require.NoError(w.t, err)
	life, stop := context.WithCancel(ctx)
	log := slog.New(slog.DiscardHandler)
	h.st, h.stop = st, stop
	h.rs = resolve.New(life, resolve.Options{
		Store: st, Patience: patience, Concurrency: 8, Logger: log,
	})
	h.engine = commit.New(st, h.rs, commit.InlineMax)
	w.t.Cleanup(stop)
	h.ops, h.count = nil, map[place]int{}
	return h
}

// before makes something happen before the nth request (from 0) of that kind.
func (h *handle) before(k faulty.Kind, name string, nth int, do func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, &step{at: place{k, name, false}, nth: nth, before: do})
}

// after changes the nth answer (from 0) to requests of that kind.
func (h *handle) after(k faulty.Kind, name string, nth int, do func(a *faulty.Answer)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, &step{at: place{k, name, true}, nth: nth, answer: do})
}

// loseRequest makes the nth Put of a cell get lost, after meanwhile has happened.
func (h *handle) loseRequest(name string, nth int, meanwhile func()) {
	h.before(faulty.Put, name, nth, func(context.Context) error {
		happen(meanwhile)
		return backend.ErrOutcomeUnknown
	})
}

// loseAnswer makes the nth Put of a cell land, and its answer get lost after meanwhile
// has happened.
func (h *handle) loseAnswer(name string, nth int, meanwhile func()) {
	h.after(faulty.Put, name, nth, func(a *faulty.Answer) {
		require.NoError(h.w.t, a.Err)
		happen(meanwhile)
		a.Err = backend.ErrOutcomeUnknown
	})
}

// happen lets the other writes of the wave land first.
func happen(meanwhile func()) {
	if meanwhile != nil {
		time.Sleep(time.Millisecond)
		meanwhile()
	}
}

func (h *handle) sent(ctx context.Context, op faulty.Op) error {
	h.mu.Lock()
	h.ops = append(h.ops, op)
	every := h.every
	h.mu.Unlock()
	if every != nil {
		every(ctx, op, nil)
	}
	if s := h.next(op, false); s != nil {
		return s.before(ctx)
	}
	return nil
}

func (h *handle) answered(ctx context.Context, op faulty.Op, a *faulty.Answer) {
	if s := h.next(op, true); s != nil {
		s.answer(a)
	}
	h.mu.Lock()
	every := h.every
	h.mu.Unlock()
	if every != nil {
		every(ctx, op, a)
	}
}

// next is the step whose turn it is, which is then done with.
func (h *handle) next(op faulty.Op, after bool) *step {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := place{op.Kind, strings.TrimPrefix(op.Name, prefix), after}
	n := h.count[at]
	h.count[at]++
	for i, s := range h.steps {
		if s.at == at && s.nth == n {
			h.steps = append(h.steps[:i:i], h.steps[i+1:]...)
			return s
		}
	}
	return nil
}

// sentOf are the requests of a kind so far, for one cell, or "" for all.
func (h *handle) sentOf(k faulty.Kind, name string) []faulty.Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ops []faulty.Op
	for _, op := range h.ops {
		if op.Kind == k && (name == "" || op.Name == prefix+name) {
			ops = append(ops, op)
		}
	}
	return ops
}

func (h *handle) puts() int { return len(h.sentOf(faulty.Put, "")) }

// tx runs a transaction, and counts the runs of its function.
func (h *handle) tx(ctx context.Context, fn func(tx *commit.Tx) error) (runs int, err error) {
	err = h.engine.Run(ctx, commit.Options{}, func(tx *commit.Tx) error {
		runs++
		return fn(tx)
	})
	return runs, err
}

// must runs a transaction that has to commit in one run of its function.
func (h *handle) must(fn func(tx *commit.Tx) error) {
	runs, err := h.tx(context.Background(), fn)
	require.NoError(h.w.t, err)
	require.Equal(h.w.t, 1, runs, "runs of the function")
}

// drain waits until the background has nothing left to do.
func (h *handle) drain() { require.NoError(h.w.t, h.rs.Drain(context.Background())) }

// read is the value of a key, "" if absent, and how long it took.
func (h *handle) read(name string) (string, time.Duration) {
	start := time.Now()
	v, err := h.engine.Read(context.Background(), name, 0)
	if !errors.Is(err, backend.ErrNotFound) {
		require.NoError(h.w.t, err)
	}
	return string(v), time.Since(start)
}

// write writes keys blindly, in one transaction.
func write(value string, names ...string) func(tx *commit.Tx) error {
	return func(tx *commit.Tx) error {
		for _, name := range names {
			if err := tx.Write(name, []byte(value)); err != nil {
				return err
			}
		}
		return nil
	}
}

// update reads keys and writes them, in one transaction.
func update(value string, names ...string) func(tx *commit.Tx) error {
	return func(tx *commit.Tx) error {
		if err := look(tx, names...); err != nil {
			return err
		}
		return write(value, names...)(tx)
	}
}

// copyOf reads a key and writes others: a validated commit.
func copyOf(from string, to ...string) func(tx *commit.Tx) error {
	return func(tx *commit.Tx) error {
		if err := look(tx, from); err != nil {
			return err
		}
		return write("copied", to...)(tx)
	}
}

// look reads keys, one after the other.
func look(tx *commit.Tx, names ...string) error {
	for _, name := range names {
		if _, err := tx.Read(name); err != nil && !errors.Is(err, backend.ErrNotFound) {
			return err
		}
	}
	return nil
}

// id is a readable attempt.
func id(n byte) txid.ID { return txid.ID{0: n, 15: n} }

func inline(s string) cell.Value { return cell.Value{Kind: cell.Inline, Data: []byte(s)} }

// names are n members: =a, =b and so on.
func names(n int) []string {
	var s []string
	for i := range n {
		s = append(s, "="+string(rune('a'+i)))
	}
	return s
}
