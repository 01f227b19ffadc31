package resolve_test

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
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	prefix   = "db/"
	patience = 2 * time.Second
	// grant is what an older writer grants a staged attempt: the latency of a write,
	// of which a fresh client knows nothing yet.
	grant = 50 * time.Millisecond
)

// world is a store whose cells the test makes by hand, in virtual time.
type world struct {
	t     *testing.T
	mem   *memory.Backend
	nonce uint64
}

// inWorld runs f in virtual time.
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

// value stores a committed value of attempt n, whose folder knows everything of what
// it replaces.
func (w *world) value(n byte, names ...string) {
	for _, name := range names {
		c, _ := w.cell(name)
		w.put(name, cell.Write(c, cell.Fold{Outcome: cell.Dead}, id(n), cell.Put, inline("v")))
	}
}

// remove takes an object away, as a sweep does.
func (w *world) remove(name string) {
	_, v := w.cell(name)
	require.NoError(w.t, w.mem.Delete(context.Background(), prefix+name, v))
}

// rival is an attempt of another client, whose writes the test does one by one.
type rival struct {
	w       *world
	intent  cell.Intent
	members cell.Members
}

// rival begins an attempt on the cells as they are now. The first is the primary.
func (w *world) rival(n byte, m cell.Mode, names ...string) *rival {
	r := &rival{w: w, members: cell.Members{Long: len(names) > cell.ListMax}}
	for _, name := range names {
		_, v := w.cell(name)
		x := cell.Member{Name: name, Expected: string(v)}
		r.members.List = append(r.members.List, x)
	}
	r.intent = cell.Intent{
		Tx: id(n), Priority: txid.Priority{Time: int64(n)}, Mode: m, Action: cell.Put,
		Value: inline("new"),
	}
	return r
}

// carried is the list that a member carries.
func (r *rival) carried(name string) cell.Members {
	m := r.members
	if m.Long && name != m.List[0].Name {
		m.List = m.List[:1]
	}
	return m
}

// place writes the attempt's intents over cells with no undecided intent.
func (r *rival) place(names ...string) *rival {
	for _, name := range names {
		c, _ := r.w.cell(name)
		in := r.intent
		in.Members = r.carried(name)
		r.w.put(name, cell.Place(c, cell.Fold{Outcome: cell.Dead}, &in))
	}
	return r
}

// all are the names of the members.
func (r *rival) all() []string {
	var names []string
	for _, m := range r.members.List {
		names = append(names, m.Name)
	}
	return names
}

// fold resolves the intents of the committed attempt, with the mark.
func (r *rival) fold(names ...string) *rival {
	for _, name := range names {
		c, _ := r.w.cell(name)
		r.w.put(name, cell.Resolve(c, cell.Fold{Outcome: cell.Committed}))
	}
	return r
}

// settled writes cells once more, without the attempt's marks.
func (r *rival) settled(n byte, names ...string) *rival {
	for _, name := range names {
		c, _ := r.w.cell(name)
		f := cell.Fold{Drop: []txid.ID{r.intent.Tx}}
		r.w.put(name, cell.Write(c, f, id(n), cell.Put, inline("later")))
	}
	return r
}

type snapshot = store.Snapshot

// client is a handle's resolver, and its connection.
type client struct {
	w    *world
	st   *store.Store
	rs   *resolve.Resolver
	stop context.CancelFunc

	mu    sync.Mutex // guards all below
	steps []*step
	count map[place]int
	ops   []faulty.Op
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
	before func(op faulty.Op) error
	answer func(a *faulty.Answer)
}

// client opens a handle. Its requests are counted from then on.
func (w *world) client() *client { return w.clientOf(patience) }

func (w *world) clientOf(patience time.Duration) *client {
	c := &client{w: w, count: map[place]int{}}
	net := faulty.New(w.mem, faulty.Options{Before: c.sent, After: c.answered})
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{
		Backend: net, Runtime: seam.Real(), Cache: cache.New(1 << 20), Prefix: prefix,
		Concurrency: 64,
	})
	require.NoError(w.t, err)
	life, stop := context.WithCancel(ctx)
	c.st, c.stop = st, stop
	c.rs = resolve.New(life, resolve.Options{
		Store: st, Patience: patience, Concurrency: 8, Logger: slog.New(slog.DiscardHandler),
	})
	w.t.Cleanup(stop)
	c.ops, c.count = nil, map[place]int{}
	return c
}

// before makes something happen before the nth request (from 0) of that kind.
func (c *client) before(k faulty.Kind, name string, nth int, do func(op faulty.Op) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, &step{at: place{k, name, false}, nth: nth, before: do})
}

// after changes the nth answer (from 0) to requests of that kind.
func (c *client) after(k faulty.Kind, name string, nth int, do func(a *faulty.Answer)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, &step{at: place{k, name, true}, nth: nth, answer: do})
}

func loseAnswer(a *faulty.Answer) { a.Err = backend.ErrOutcomeUnknown }

func loseRequest(faulty.Op) error { return backend.ErrOutcomeUnknown }

func (c *client) sent(_ context.Context, op faulty.Op) error {
	c.mu.Lock()
	c.ops = append(c.ops, op)
	c.mu.Unlock()
	if s := c.next(op, false); s != nil {
		return s.before(op)
	}
	return nil
}

func (c *client) answered(_ context.Context, op faulty.Op, a *faulty.Answer) {
	if s := c.next(op, true); s != nil {
		s.answer(a)
	}
}

// next is the step whose turn it is, which is then done with.
func (c *client) next(op faulty.Op, after bool) *step {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := place{op.Kind, strings.TrimPrefix(op.Name, prefix), after}
	n := c.count[at]
	c.count[at]++
	for i, s := range c.steps {
		if s.at == at && s.nth == n {
			c.steps = append(c.steps[:i:i], c.steps[i+1:]...)
			return s
		}
	}
	return nil
}

// requests counts the requests of a kind so far.
func (c *client) requests(k faulty.Kind) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, op := range c.ops {
		if op.Kind == k {
			n++
		}
	}
	return n
}

// read reads a cell, without asking for the status of an intent in it.
func (c *client) read(name string) store.Snapshot {
	s, err := c.rs.Read(context.Background(), name)
	require.NoError(c.w.t, err)
	return s
}

// status asks what has become of the attempt in a cell.
func (c *client) status(name string) resolve.Reading {
	rd, err := c.rs.Status(context.Background(), c.read(name))
	require.NoError(c.w.t, err)
	return rd
}

// effective is the effective value of a cell, and how long it took to find out.
func (c *client) effective(name string, role resolve.Role) (resolve.Reading, time.Duration) {
	start := time.Now()
	rd, err := c.rs.Effective(context.Background(), name, role)
	require.NoError(c.w.t, err)
	return rd, time.Since(start)
}

// write replaces a settled cell, as a direct commit of attempt n does.
func (c *client) write(rd resolve.Reading, n byte) store.Result {
	next := cell.Write(rd.Cell, c.rs.FoldOf(rd), id(n), cell.Put, inline("direct"))
	res, _, _ := c.rs.Send(context.Background(), c.st.Prepare(rd.Snapshot, next))
	return res
}

// id is a readable attempt.
func id(n byte) txid.ID { return txid.ID{0: n, 15: n} }

func ids(ns ...byte) (s []txid.ID) {
	for _, n := range ns {
		s = append(s, id(n))
	}
	return s
}

func inline(s string) cell.Value { return cell.Value{Kind: cell.Inline, Data: []byte(s)} }

// writer is the role of a transaction begun at n.
func writer(n byte) resolve.Role {
	return resolve.Role{Writer: true, Ranked: true, Priority: txid.Priority{Time: int64(n)}}
}

// names are n members: =a, =b and so on.
func names(n int) []string {
	var s []string
	for i := range n {
		s = append(s, "="+string(rune('a'+i)))
	}
	return s
}
