package follow

import (
	"slices"
	"strings"

	"github.com/strictkv/strictkv/internal/keyspace"
)

// Limits of listing.
const (
	// partMax is how many names a part had when it was last listed: with some more it is still
	// one page.
	partMax = 950
	// markEvery is after how many names a bound of a part may be.
	markEvery = 25
)

// Span is an interval of names, of one collection or of a whole database, cells and others.
type Span struct {
	// Path is the collection; empty for the database.
	Path keyspace.Path
	// From and To are the bounds: From is within, To is not.
	From, To string

	prefix, after string // how to list it
}

// SpanOf is the span of an interval of a collection.
func SpanOf(i keyspace.Interval) Span {
	s := Span{Path: i.Path, From: i.From, To: i.To}
	if i.Empty() {
		s.To = s.From
		return s
	}
	s.prefix, s.after = i.Listing()
	return s
}

// Everything is the span of all collections.
func Everything() Span {
	prefix := keyspace.Path("").Folders()
	last := len(prefix) - 1
	return Span{From: prefix, To: prefix[:last] + string(prefix[last]+1), prefix: prefix}
}

// Contains reports whether a name is within the span.
func (s Span) Contains(name string) bool { return s.From <= name && name < s.To }

// begin is the least name that is within the span, and behind a name.
func (s Span) begin(after string) string {
	if after == "" {
		return s.From
	}
	return max(s.From, keyspace.UpTo(after))
}

// Part is what is listed of a span at a time: the names behind one, up to another. No name is
// the open end.
type Part struct {
	Span
	After, Last string
}

// contains reports whether a name is within the part.
func (p Part) contains(name string) bool {
	return p.Span.Contains(name) && name > p.After && (p.Last == "" || name <= p.Last)
}

// listing tells how to list the part.
func (p Part) listing() (prefix, after string) {
	if p.After != "" {
		return p.prefix, p.After
	}
	return p.prefix, p.after
}

// mark says that a pass has seen so many names up to one, since the mark before.
type mark struct {
	name  string
	count int
}

// marks of what was listed.
func marksOf(rows []Row) []mark {
	var marks []mark
	for i := 0; i < len(rows); i += markEvery {
		n := min(markEvery, len(rows)-i)
		marks = append(marks, mark{rows[i+n-1].Name, n})
	}
	return marks
}

// bounds are the last names of parts of which each has partMax names at most.
func bounds(marks []mark) []string {
	slices.SortFunc(marks, func(x, y mark) int { return strings.Compare(x.name, y.name) })
	var ends []string
	n := 0
	for i, m := range marks {
		if n += m.count; i+1 < len(marks) && n+marks[i+1].count > partMax {
			ends, n = append(ends, m.name), 0
		}
	}
	return ends
}

// parts cuts the span at the ends.
func (s Span) parts(ends []string) []Part {
	if s.From >= s.To {
		return nil
	}
	var parts []Part
	p := Part{Span: s}
	for _, end := range ends {
		p.Last = end
		parts = append(parts, p)
		p = Part{Span: s, After: end}
	}
	return append(parts, p)
}
