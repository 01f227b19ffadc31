package scan

import (
	"slices"
	"time"

	"github.com/strictkv/strictkv/internal/seam"
)

// Limits of a Memory.
const (
	rememberedMax   = 64
	rememberedBytes = 16 << 20
	// foundBytes is what a cell takes in it beside its value, roughly.
	foundBytes = 256
	// writtenMax is how many names are remembered that this handle has written lately.
	writtenMax = 1024
)

// Memory keeps what transactions have seen and validated: listings of which the instant is
// known at which all was current. What it holds is bounded in number and in bytes.
type Memory struct {
	mu    seam.Mutex // guards all below
	all   []*Listing // the newest first
	bytes int64
	used  bool
	// written are names that this handle has written lately, the oldest first; of what it
	// wrote until dropped, some may be missing.
	written []written
	dropped time.Time
}

// written is a name that was forgotten.
type written struct {
	name string
	at   time.Time
}

// Use must come before whatever Keep is to remember is read: from then on, Forget counts.
func (m *Memory) Use() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = true
}

// Keep remembers spans that were current at an instant. Those are not kept with cells that
// the transaction had written itself, or this handle since; nor are those of which as much
// is remembered already, and as new.
func (m *Memory) Keep(spans []*Span, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range spans {
		own := func(f Found) bool { return f.Own }
		if s.Empty() || slices.ContainsFunc(s.found, own) || m.outdatedLocked(s, at) {
			continue
		}
		l := &Listing{Interval: s.consumed, found: s.ordered(), at: at}
		l.bytes = s.bytes + foundBytes*int64(len(l.found))
		m.removeLocked(func(old *Listing) bool {
			return l.From <= old.From && old.To <= l.To
		})
		m.all = slices.Insert(m.all, 0, l)
		m.bytes += l.bytes
	}
	for len(m.all) > rememberedMax || m.bytes > rememberedBytes {
		last := m.all[len(m.all)-1]
		m.removeLocked(func(l *Listing) bool { return l == last })
	}
}

// outdatedLocked reports whether a span that was current at an instant is not to be kept. The
// caller holds m.mu.
func (m *Memory) outdatedLocked(s *Span, at time.Time) bool {
	since := func(w written) bool { return !w.at.Before(at) && s.consumed.Contains(w.name) }
	covers := func(l *Listing) bool {
		return l.From <= s.consumed.From && s.consumed.To <= l.To && !l.at.Before(at)
	}
	return !m.dropped.Before(at) || slices.ContainsFunc(m.written, since) ||
		slices.ContainsFunc(m.all, covers)
}

// Forget forgets the listings with any of the names, which this handle has written by now.
func (m *Memory) Forget(now time.Time, names ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removeLocked(func(l *Listing) bool { return slices.ContainsFunc(names, l.Contains) })
	for _, name := range names {
		m.written = append(m.written, written{name, now})
	}
	if n := len(m.written) - writtenMax; n > 0 {
		n = min(n+writtenMax/2, len(m.written)) // not with each name
		m.dropped = m.written[n-1].at
		m.written = slices.Delete(m.written, 0, n)
	}
}

// Used reports whether anything is, or may be, remembered.
func (m *Memory) Used() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

func (m *Memory) removeLocked(which func(l *Listing) bool) {
	m.all = slices.DeleteFunc(m.all, func(l *Listing) bool {
		if which(l) {
			m.bytes -= l.bytes
			return true
		}
		return false
	})
}

// Recall returns the newest listing that has all of the range, or else the newest that the
// range begins in, if it was current at the oldest instant wanted, or later.
func (m *Memory) Recall(r Range, oldest time.Time) []*Listing {
	m.mu.Lock()
	defer m.mu.Unlock()
	var begin []*Listing
	for _, l := range m.all {
		switch {
		case l.at.Before(oldest):
		case l.From <= r.From && r.To <= l.To:
			return []*Listing{l}
		case begin == nil && l.begins(r):
			begin = []*Listing{l}
		}
	}
	return begin
}
