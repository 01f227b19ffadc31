package protocoltest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
)

// Net is one client's connection to a world. It keeps the requests, and something may
// happen at the nth of those of a kind for a cell.
type Net struct {
	*faulty.Backend
	// Once makes it declare that nobody on the way sends a write twice.
	Once bool
	t    *testing.T

	mu    sync.Mutex // guards all below
	ops   []faulty.Op
	steps []*step
	count map[place]int
	every func(ctx context.Context, op faulty.Op, a *faulty.Answer)
	// refusing are the names of the cells of which all writes are refused.
	refusing []string
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

// Net connects one more client.
func (w *World) Net() *Net {
	n := &Net{t: w.T, count: map[place]int{}}
	n.Backend = faulty.New(w.Mem, faulty.Options{Before: n.sent, After: n.answered})
	return n
}

// Capabilities are those of the store, and Once.
func (n *Net) Capabilities() backend.Capabilities {
	c := n.Backend.Capabilities()
	c.SendsOnce = n.Once
	return c
}

// Before makes something happen before the nth request (from 0) of that kind is sent. An
// error is its answer, and it is not sent.
func (n *Net) Before(k faulty.Kind, name string, nth int, do func(context.Context) error) {
	n.plan(&step{at: place{k, name, false}, nth: nth, before: do})
}

// After changes the nth answer (from 0) to requests of that kind.
func (n *Net) After(k faulty.Kind, name string, nth int, do func(a *faulty.Answer)) {
	n.plan(&step{at: place{k, name, true}, nth: nth, answer: do})
}

// LoseRequest makes the nth Put of a cell get lost, after meanwhile has happened.
func (n *Net) LoseRequest(name string, nth int, meanwhile func()) {
	n.Before(faulty.Put, name, nth, func(context.Context) error {
		happen(meanwhile)
		return backend.ErrOutcomeUnknown
	})
}

// LoseAnswer makes the nth Put of a cell land, and its answer get lost after meanwhile has
// happened.
func (n *Net) LoseAnswer(name string, nth int, meanwhile func()) {
	n.After(faulty.Put, name, nth, func(a *faulty.Answer) {
		require.NoError(n.t, a.Err)
		happen(meanwhile)
		a.Err = backend.ErrOutcomeUnknown
	})
}

// happen lets the other writes of the wave land first.
func happen(meanwhile func()) {
	if meanwhile != nil {
		Pass(time.Millisecond)
		meanwhile()
	}
}

// Every makes something happen at each request: before it is sent, without an answer, and
// before its answer arrives. A nil function ends that.
func (n *Net) Every(do func(ctx context.Context, op faulty.Op, a *faulty.Answer)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.every = do
}

// Refuse makes the store refuse all writes of cells from now on, whatever their version.
func (n *Net) Refuse(names ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refusing = names
}

// Planned is how many of the things that were to happen once have not.
func (n *Net) Planned() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.steps)
}

// Sent are the requests so far, of a kind and for a cell; "" stands for all.
func (n *Net) Sent(k faulty.Kind, name string) []faulty.Op {
	n.mu.Lock()
	defer n.mu.Unlock()
	var ops []faulty.Op
	for _, op := range n.ops {
		if (k == "" || op.Kind == k) && (name == "" || op.Name == Prefix+name) {
			ops = append(ops, op)
		}
	}
	return ops
}

// Forget forgets the requests so far: the next of each kind is the first.
func (n *Net) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ops, n.count = nil, map[place]int{}
}

func (n *Net) plan(s *step) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.steps = append(n.steps, s)
}

func (n *Net) sent(ctx context.Context, op faulty.Op) error {
	n.mu.Lock()
	n.ops = append(n.ops, op)
	every := n.every
	refused := op.Kind == faulty.Put &&
		slices.Contains(n.refusing, strings.TrimPrefix(op.Name, Prefix))
	n.mu.Unlock()
	if every != nil {
		every(ctx, op, nil)
	}
	if s := n.next(op, false); s != nil {
		return s.before(ctx)
	}
	if refused {
		return backend.ErrPrecondition
	}
	return nil
}

func (n *Net) answered(ctx context.Context, op faulty.Op, a *faulty.Answer) {
	if s := n.next(op, true); s != nil {
		s.answer(a)
	}
	n.mu.Lock()
	every := n.every
	n.mu.Unlock()
	if every != nil {
		every(ctx, op, a)
	}
}

// next is the step whose turn it is, which is then done with.
func (n *Net) next(op faulty.Op, after bool) *step {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := place{op.Kind, strings.TrimPrefix(op.Name, Prefix), after}
	nth := n.count[at]
	n.count[at]++
	for i, s := range n.steps {
		if s.at == at && s.nth == nth {
			n.steps = append(n.steps[:i:i], n.steps[i+1:]...)
			return s
		}
	}
	return nil
}
