package feed

import (
	"context"
	"slices"

	"github.com/strictkv/strictkv/internal/seam"
)

// Limits of what waits for a follower that does not come.
const (
	// waitingMax is how many names wait.
	waitingMax = 1 << 14
	// waitingBytesMax is how many bytes they have together.
	waitingBytesMax = 1 << 20
)

// Hints are cells that have been written, or may have been.
type Hints struct {
	// Names are those of the cells, relative to the database, each once.
	Names []string
	// Missed says that there may be others: everything has to be looked at.
	Missed bool
}

// names are those that wait to be passed on, in the order in which they came first. Those that
// don't fit are left out, which is Missed.
type names struct {
	hints Hints
	known map[string]struct{}
	bytes int
}

// add takes names in, up to so many of so many bytes together.
func (n *names) add(more []string, most, bytesMost int) {
	for _, name := range more {
		if _, ok := n.known[name]; ok {
			continue
		}
		if len(n.hints.Names) >= most || n.bytes+len(name) > bytesMost {
			n.hints.Missed = true
			return
		}
		if n.known == nil {
			n.known = map[string]struct{}{}
		}
		n.known[name] = struct{}{}
		n.hints.Names = append(n.hints.Names, name)
		n.bytes += len(name)
	}
}

func (n *names) empty() bool { return len(n.hints.Names) == 0 && !n.hints.Missed }

// take empties it.
func (n *names) take() Hints {
	h := n.hints
	*n = names{}
	return h
}

// Local hands the hints of a handle to those who have subscribed.
type Local struct {
	rt seam.Runtime

	mu            seam.Mutex // guards all below, and the subscriptions
	subscriptions []*Subscription
}

// NewLocal returns one without subscriptions.
func NewLocal(rt seam.Runtime) *Local { return &Local{rt: rt} }

// Note passes names on. It never waits for those who have subscribed.
func (l *Local) Note(written []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.subscriptions {
		s.waiting.add(written, waitingMax, waitingBytesMax)
		if s.arrived != nil {
			s.arrived.Set()
			s.arrived = nil
		}
	}
}

// Subscribe begins a subscription, to what is noted from now on. It must be stopped.
func (l *Local) Subscribe() *Subscription {
	s := &Subscription{l: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscriptions = append(l.subscriptions, s)
	return s
}

// Subscription is what waits for one follower: of one goroutine, but for Stop.
type Subscription struct {
	l *Local
	// The rest is guarded by Local.mu.
	waiting names
	arrived seam.Event // set when there is something; nil if nobody waits
}

// Next returns what has been noted since it was called last, and waits until there is something.
// It returns the error of ctx if that ends before.
func (s *Subscription) Next(ctx context.Context) (Hints, error) {
	for {
		h, arrived := s.poll()
		if arrived == nil {
			return h, nil
		}
		if err := arrived.Wait(ctx); err != nil {
			return Hints{}, err
		}
	}
}

// Now is Next without waiting: there may be nothing.
func (s *Subscription) Now() Hints {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	return s.waiting.take()
}

// poll returns what there is, or else an event to wait for.
func (s *Subscription) poll() (Hints, seam.Event) {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	if !s.waiting.empty() {
		return s.waiting.take(), nil
	}
	s.arrived = s.l.rt.NewEvent()
	return Hints{}, s.arrived
}

// Stop ends the subscription: nothing more waits for it.
func (s *Subscription) Stop() {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.l.subscriptions = slices.DeleteFunc(s.l.subscriptions, func(o *Subscription) bool {
		return o == s
	})
}
