// Package turn is where the transactions of one handle wait for each other, in memory,
// instead of refusing each other's writes in the store.
//
// A Turn is a set of cells that are going to be written together, for one or several
// riders: transactions. It waits for the turns before it that want one of its cells, and
// only for those, so that there is no deadlock. Who comes meanwhile and wants one of its
// cells rides along, and all of them commit together. Nobody is overtaken: of two that
// want the same cell, the first to come has the earlier turn, or both have the same.
//
// Turns only save requests. Nothing is wrong if somebody writes a cell without having one.
package turn

import (
	"cmp"
	"slices"

	"github.com/strictkv/strictkv/internal/seam"
)

// Limits of a turn that several share.
const (
	// RidersMax is how many transactions share a turn.
	RidersMax = 256
	// CellsMax is how many cells a shared turn writes.
	CellsMax = 64
)

// Line orders the turns of one handle. R is what a rider is to its owner; it must be
// comparable.
type Line[R comparable] struct {
	rt seam.Runtime

	mu   seam.Mutex // guards all below, and the turns
	last map[string]*Turn[R]
	seq  uint64
}

// Turn is a place in line. Its zero value is one that nobody has taken.
type Turn[R comparable] struct {
	seq    uint64 // its turn comes after those of lower seq that want one of its cells
	writes []string
	room   [2]string // for writes, mostly
	riders []R
	// single says that it is not shared; closed that nobody may come or go.
	single, closed bool
	// before counts the turns that it waits for, after are those that wait for it.
	before int
	after  []*Turn[R]
	ready  seam.Event
	// size is how many riders the turn had in the end. Its and its predecessors' riders
	// are expected to come again: expected of them all would fill the turn.
	size, expected int
	full           seam.Event
}

// NewLine returns a Line.
func NewLine[R comparable](rt seam.Runtime) *Line[R] {
	return &Line[R]{rt: rt, last: map[string]*Turn[R]{}}
}

// Place is what Enter has found for a rider.
type Place uint8

// The places in line.
const (
	// Alone: its turn has come, and it has it for itself.
	Alone Place = iota
	// First: it is the first rider of a turn that must wait.
	First
	// Along: it rides along in a turn that waits.
	Along
)

// Enter gives a rider the next turn for the cells that it writes. Of those that it only
// reads, it waits for who is going to write them. Unless it gets to share another's, the
// turn is own, which must be zero. A rider that is not to share has its turn alone.
func (l *Line[R]) Enter(own *Turn[R], r R, share bool, writes, reads []string) (*Turn[R], Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var before []*Turn[R]
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
			if t.riders = append(t.riders, r); t.full != nil && len(t.riders) >= t.expected {
				t.full.Set()
			}
			return t, Along
		}
	}
	l.seq++
	own.seq, own.size, own.writes = l.seq, 1, own.room[:0]
	l.joinLocked(own, before, writes)
	own.single, own.closed = !share, own.before == 0
	if own.closed {
		return own, Alone
	}
	own.ready, own.riders = l.rt.NewEvent(), append(own.riders, r)
	return own, First
}

// shareableLocked is the latest of some turns, if it waits and wants one of the cells: to
// share it makes it wait for the others, which are earlier. One whose turn has come does
// not begin to wait again.
func (l *Line[R]) shareableLocked(turns []*Turn[R], writes []string) *Turn[R] {
	if len(turns) == 0 {
		return nil
	}
	t := slices.MaxFunc(turns, func(a, b *Turn[R]) int { return cmp.Compare(a.seq, b.seq) })
	fresh := 0
	for _, name := range writes {
		if l.last[name] != t {
			fresh++
		}
	}
	switch {
	case t.single || t.closed || fresh == len(writes) || t.before == 0 && len(turns) > 1:
		return nil
	case len(t.riders) >= RidersMax || len(t.writes)+fresh > CellsMax:
		return nil
	}
	return t
}

// joinLocked makes a turn want cells too, and wait for other turns.
func (l *Line[R]) joinLocked(t *Turn[R], before []*Turn[R], writes []string) {
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

// Ready is set when the turn has come; nil if it has come at once.
func (t *Turn[R]) Ready() seam.Event { return t.ready }

// Full returns an event that is set once as many ride along as are expected to; nil if it
// is so already, or nobody may. Those who have ridden in the turns before are expected to
// come again.
func (l *Line[R]) Full(t *Turn[R]) seam.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.single || len(t.riders) >= t.expected {
		return nil
	}
	t.full = l.rt.NewEvent()
	return t.full
}

// Close lets nobody come or go any more, and returns who is there. It calls f with each of
// them before they can find that they may not leave.
func (l *Line[R]) Close(t *Turn[R], f func(R)) []R {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.closed = true
	t.size = len(t.riders)
	for _, r := range t.riders {
		f(r)
	}
	return t.riders
}

// Leave takes a rider out of a turn, unless that is closed.
func (l *Line[R]) Leave(t *Turn[R], r R) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.closed {
		return false
	}
	t.riders = slices.DeleteFunc(t.riders, func(x R) bool { return x == r })
	return true
}

// Done ends a turn, however it was used. It must be called once for each. After one that was
// shared, and that nobody waits for, comes another for the same cells: its riders are expected
// to come again, and who comes first should not go alone.
func (l *Line[R]) Done(t *Turn[R]) (next *Turn[R]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.size > 1 && len(t.after) == 0 {
		l.seq++
		next = &Turn[R]{seq: l.seq, writes: t.writes, expected: t.size}
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
			x.expected += len(x.riders)
			x.ready.Set()
		}
	}
	t.after = nil
	return nil
}
