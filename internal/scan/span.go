package scan

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/strictkv/strictkv/internal/keyspace"
)

// keptBytes is how many bytes of values the Spans of a transaction keep of what they have
// seen, as listed.
const keptBytes = 8 << 20

// Span is what a transaction has seen of a range: the interval that it has consumed, and
// every cell in it. Who leaves a scan has consumed it up to the last cell taken, and what
// was fetched beyond does not matter.
type Span struct {
	Range
	consumed keyspace.Interval
	found    []Found // in the order of the scan
	bytes    int64   // of what is kept of found
	kept     *int64  // by all spans of the transaction
	// at is the instant at which all of it was current; zero if it is not known.
	at    time.Time
	begun bool
}

// NewSpan returns the Span of a scan that begins. The spans of a transaction share kept,
// which counts the bytes of values that they keep.
func NewSpan(r Range, kept *int64) *Span {
	s := &Span{Range: r, consumed: r.Interval, kept: kept}
	if s.To = max(r.From, r.To); r.Reverse {
		s.consumed.From = s.To
	} else {
		s.consumed.To = r.From
	}
	return s
}

// Add says that the scan has gone on to an item. At is what its Walker says.
func (s *Span) Add(item Item, at time.Time) {
	f := item.Found
	if item.Live || s.begun && !at.Equal(s.at) {
		at = time.Time{}
	}
	s.at, s.begun = at, true
	if f.reading != nil {
		if *s.kept+f.Size > keptBytes {
			f.reading = nil
		} else {
			s.bytes += f.Size
			*s.kept += f.Size
		}
	}
	s.upTo(f)
}

// AddOwn says that the scan has gone on to a cell that the transaction has written.
func (s *Span) AddOwn(name string) { s.upTo(Found{Name: name, Own: true}) }

func (s *Span) upTo(f Found) {
	s.found = append(s.found, f)
	if s.Reverse {
		s.consumed.From = f.Name
	} else {
		s.consumed.To = keyspace.UpTo(f.Name)
	}
}

// End says that nothing is left of the range. At is what its Walker says.
func (s *Span) End(at time.Time) {
	if s.begun && !at.Equal(s.at) {
		at = time.Time{}
	}
	s.at, s.begun = at, true
	s.consumed = s.Interval
}

// At is the instant at which all that was seen was current at once; zero if none is known.
func (s *Span) At() time.Time { return s.at }

// Ends is when, after a time of the store's clock, the first value becomes due that is in the
// Span; the end of time if none does.
func (s *Span) Ends(after int64) int64 {
	first := int64(math.MaxInt64)
	for i := range s.found {
		if f := &s.found[i]; !f.Own && f.expires > after {
			first = min(first, f.expires)
		}
	}
	return first
}

// Empty reports whether nothing was consumed.
func (s *Span) Empty() bool { return s.consumed.Empty() }

// ordered are the cells in the order of names.
func (s *Span) ordered() []Found {
	if !s.Reverse {
		return s.found
	}
	found := slices.Clone(s.found)
	slices.Reverse(found)
	return found
}

// Listing is an interval of which all cells are known that have an object.
type Listing struct {
	keyspace.Interval
	found []Found // in the order of names
	// at, if not zero, is an instant at which all of it was current at once.
	at time.Time
	// bytes is what is kept of values.
	bytes int64
}

// search returns the index of the first cell that is not before the bound.
func (l *Listing) search(bound string) int {
	return sort.Search(len(l.found), func(i int) bool { return l.found[i].Name >= bound })
}
