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
)

// Memory keeps what transactions have seen and validated: listings of which the instant is
// known at which all was current. What it holds is bounded in number and in bytes.
type Memory struct {
	mu    seam.Mutex // guards all below
	all   []*Listing // the newest first
	bytes int64
}

// Keep remembers spans that were current at an instant. Those with cells that the
// transaction had written itself are not kept.
func (m *Memory) Keep(spans []*Span, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range spans {
		own := func(f Found) bool { return f.Own }
		if s.Empty() || slices.ContainsFunc(s.found, own) {
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

// Forget forgets the listings with any of the names, which this handle has written.
func (m *Memory) Forget(names ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removeLocked(func(l *Listing) bool { return slices.ContainsFunc(names, l.Contains) })
}

// Empty tells whether nothing is remembered.
func (m *Memory) Empty() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.all) == 0
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
