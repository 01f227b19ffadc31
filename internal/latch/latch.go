// Package latch is where the transactions of one handle wait for each other, in memory,
// instead of refusing each other's writes in the store.
//
// Latches in a queue are CockroachDB's and TiKV's, that those who wait for one commit together
// is group commit (DeWitt et al. 1984).
//
// A Latch is on a set of cells that are going to be written together, for one or several
// waiters: transactions. It is granted after the latches before it that want one of its cells,
// and only those, so that there is no deadlock. Who comes meanwhile and wants one of its
// cells shares it, and all of them commit together. Nobody is overtaken: of two that
// want the same cell, the first to come has the earlier latch, or both have the same.
//
// Latches only save requests. Nothing is wrong if somebody writes a cell without having one.
package latch

import (
	"cmp"
	"slices"

	"github.com/strictkv/strictkv/internal/seam"
)

// Limits of a latch that several share.
const (
	// WaitersMax is how many transactions share a latch.
	WaitersMax = 256
	// CellsMax is how many cells a shared latch writes, where each costs requests of its own, and
	// CellsTogetherMax where one request writes them all.
	CellsMax         = 64
	CellsTogetherMax = 96
)

// Queue orders the latches of one handle. W is what a waiter is to its owner; it must be
// comparable.
type Queue[W comparable] struct {
	rt    seam.Runtime
	cells int // that a shared latch writes, at most

	mu   seam.Mutex // guards all below, and the latches
	last map[string]*Latch[W]
	seq  uint64
}

// Latch is a place in the queue. Its zero value is one that nobody has taken.
type Latch[W comparable] struct {
	seq     uint64 // it is granted after those of lower seq that want one of its cells
	writes  []string
	room    [2]string // for writes, mostly
	waiters []W
	// single says that it is not shared; closed that nobody may come or go.
	single, closed bool
	// before counts the latches that it waits for, after are those that wait for it.
	before int
	after  []*Latch[W]
	ready  seam.Event
	// size is how many waiters the latch had in the end. Its and its predecessors' waiters
	// are expected to come again: expected of them all would fill the latch.
	size, expected int
	full           seam.Event
}

// NewQueue returns a Queue whose latches write as many cells if they are shared.
func NewQueue[W comparable](rt seam.Runtime, cells int) *Queue[W] {
	return &Queue[W]{rt: rt, cells: cells, last: map[string]*Latch[W]{}}
}

// Place is what Acquire has found for a waiter.
type Place uint8

// The places.
const (
	// Held: the latch is granted at once, and not shared.
	Held Place = iota
	// First: it is the first waiter of a latch that must wait.
	First
	// Shared: it shares a latch that waits.
	Shared
)

// Acquire gives a waiter the next latch for the cells that it writes. Of those that it only
// reads, it waits for who is going to write them. Unless it gets to share another's, the
// latch is own, which must be zero. A waiter that is not to share has its latch alone.
func (l *Queue[W]) Acquire(
	own *Latch[W], w W, share bool, writes, reads []string,
) (*Latch[W], Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var before []*Latch[W]
	for _, names := range [][]string{writes, reads} {
		for _, name := range names {
			if t := l.last[name]; t != nil && !slices.Contains(before, t) {
				before = append(before, t)
			}
		}
	}
	if share {
		if t := l.shareableLocked(before, writes); t != nil {
			l.joinLocked(t, before, writes)
			if t.waiters = append(t.waiters, w); t.full != nil && len(t.waiters) >= t.expected {
				t.full.Set()
			}
			return t, Shared
		}
	}
	l.seq++
	own.seq, own.size, own.writes = l.seq, 1, own.room[:0]
	l.joinLocked(own, before, writes)
	own.single, own.closed = !share, own.before == 0
	if own.closed {
		return own, Held
	}
	own.ready, own.waiters = l.rt.NewEvent(), append(own.waiters, w)
	return own, First
}

// shareableLocked is the latest of some latches, if it waits and wants one of the cells: to
// share it makes it wait for the others, which are earlier. One that has been granted
// does not begin to wait again.
func (l *Queue[W]) shareableLocked(latches []*Latch[W], writes []string) *Latch[W] {
	if len(latches) == 0 {
		return nil
	}
	t := slices.MaxFunc(latches, func(a, b *Latch[W]) int { return cmp.Compare(a.seq, b.seq) })
	fresh := 0
	for _, name := range writes {
		if l.last[name] != t {
			fresh++
		}
	}
	switch {
	case t.single || t.closed || fresh == len(writes) || t.before == 0 && len(latches) > 1:
		return nil
	case len(t.waiters) >= WaitersMax || len(t.writes)+fresh > l.cells:
		return nil
	}
	return t
}

// joinLocked makes a latch want cells too, and wait for other latches.
func (l *Queue[W]) joinLocked(t *Latch[W], before []*Latch[W], writes []string) {
	for _, b := range before {
		if b != t {
			b.after = append(b.after, t)
			t.before++
		}
	}
	for _, name := range writes {
		if l.last[name] != t { // so it has not wanted this before: nobody is behind it there
			l.last[name] = t
			t.writes = append(t.writes, name)
		}
	}
}

// Ready is set when the latch is granted; nil if it was at once.
func (t *Latch[W]) Ready() seam.Event { return t.ready }

// Full returns an event that is set once as many share the latch as are expected to; nil if it
// is so already, or nobody may. Those who had the latches before are expected to come again.
func (l *Queue[W]) Full(t *Latch[W]) seam.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.single || len(t.waiters) >= t.expected {
		return nil
	}
	t.full = l.rt.NewEvent()
	return t.full
}

// Close lets nobody come or go any more, and returns who is there. It calls f with each of
// them before they can find that they may not leave.
func (l *Queue[W]) Close(t *Latch[W], f func(W)) []W {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.closed = true
	t.size = len(t.waiters)
	for _, w := range t.waiters {
		f(w)
	}
	return t.waiters
}

// Leave takes a waiter out of a latch, unless that is closed.
func (l *Queue[W]) Leave(t *Latch[W], w W) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.closed {
		return false
	}
	t.waiters = slices.DeleteFunc(t.waiters, func(x W) bool { return x == w })
	return true
}

// Done ends a latch, however it was used. It must be called once for each. After one that was
// shared, and that nobody waits for, comes another for the same cells: its waiters are expected
// to come again, and who comes first should not go alone.
func (l *Queue[W]) Done(t *Latch[W]) (next *Latch[W]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.size > 1 && len(t.after) == 0 {
		l.seq++
		next = &Latch[W]{seq: l.seq, writes: t.writes, expected: t.size}
		for _, name := range t.writes {
			l.last[name] = next
		}
		return next
	}
	for _, name := range t.writes {
		if l.last[name] == t {
			delete(l.last, name)
		}
	}
	for _, x := range t.after {
		x.expected += t.size
		if x.before--; x.before == 0 {
			x.expected += len(x.waiters)
			x.ready.Set()
		}
	}
	t.after = nil
	return nil
}
