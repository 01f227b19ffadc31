package scan

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/resolve"
)

// TestSpanConsumes: a span reaches over what was taken, in its direction, and not beyond.
func TestSpanConsumes(t *testing.T) {
	type bounds = [2]string
	add := func(s *Span, name string) { s.Add(Item{Found: Found{Name: name}}, time.Time{}) }
	for _, reverse := range []bool{false, true} {
		r := Range{Interval: keyspace.Interval{From: "b", To: "k"}, Reverse: reverse}
		s := NewSpan(r, new(int64))
		begin, some, more := bounds{"b", "b"}, bounds{"b", keyspace.UpTo("e")},
			bounds{"b", keyspace.UpTo("f")}
		first, second := "e", "f"
		if reverse {
			begin, some, more = bounds{"k", "k"}, bounds{"f", "k"}, bounds{"e", "k"}
			first, second = "f", "e"
		}
		has := func() bounds { return bounds{s.consumed.From, s.consumed.To} }
		assert.Equal(t, begin, has())
		assert.True(t, s.Empty())
		add(s, first)
		assert.Equal(t, some, has())
		s.AddOwn(second)
		assert.Equal(t, more, has())
		require.Len(t, s.ordered(), 2)
		assert.Equal(t, []string{"e", "f"}, []string{s.ordered()[0].Name, s.ordered()[1].Name})
		assert.Equal(t, []bool{false, true}, []bool{s.found[0].Own, s.found[1].Own})
		s.End(time.Time{})
		assert.Equal(t, bounds{"b", "k"}, has())
	}
}

// TestSpanIsOfOneInstant: only if all that was seen is.
func TestSpanIsOfOneInstant(t *testing.T) {
	at, other := time.Unix(1000, 0), time.Unix(1001, 0)
	type seen struct {
		at   time.Time
		live bool
	}
	for name, x := range map[string]struct {
		items []seen
		end   time.Time // none if it is zero, as at the end of what was listed
		want  time.Time
	}{
		"nothing":            {nil, at, at},
		"all":                {[]seen{{at, false}, {at, false}}, at, at},
		"one was read":       {[]seen{{at, true}, {at, false}}, at, time.Time{}},
		"the last was":       {[]seen{{at, false}, {at, true}}, at, time.Time{}},
		"two instants":       {[]seen{{at, false}, {other, false}}, other, time.Time{}},
		"the end of another": {[]seen{{at, false}}, other, time.Time{}},
		"listed to its end":  {[]seen{{at, false}}, time.Time{}, time.Time{}},
		"one of none":        {[]seen{{time.Time{}, false}, {at, false}}, at, time.Time{}},
	} {
		s := NewSpan(Range{Interval: keyspace.Interval{From: "b", To: "k"}}, new(int64))
		for i, f := range x.items {
			s.Add(Item{Found: Found{Name: fmt.Sprintf("c%d", i)}, Live: f.live}, f.at)
		}
		s.End(x.end)
		assert.Equal(t, x.want, s.At(), name)
	}
}

// TestSpanEnds: at the first instant after one at which a value becomes due that was seen.
func TestSpanEnds(t *testing.T) {
	s := NewSpan(Range{Interval: keyspace.Interval{From: "b", To: "k"}}, new(int64))
	assert.Equal(t, int64(math.MaxInt64), s.Ends(0))
	s.found = []Found{{expires: 0}, {expires: 30}, {expires: 20}, {expires: 5, Own: true},
		{expires: 10}, {expires: 40}}
	for after, ends := range map[int64]int64{
		0: 10, 9: 10, 10: 20, 29: 30, 30: 40, 40: math.MaxInt64,
	} {
		assert.Equal(t, ends, s.Ends(after), after)
	}
	f := Found{known: true, present: true, expires: 10}
	for now, present := range map[int64]bool{9: true, 10: false, 11: false} {
		assert.Equal(t, present, f.PresentAt(now), now)
	}
}

// TestSpansKeepOnlySoMuch: of values, what is beyond is not kept, and not counted.
func TestSpansKeepOnlySoMuch(t *testing.T) {
	kept := new(int64)
	r := Range{Interval: keyspace.Interval{From: "b", To: "k"}}
	a, b := NewSpan(r, kept), NewSpan(r, kept)
	add := func(s *Span, size int64) bool {
		s.Add(Item{Found: Found{Name: "c", Size: size, reading: &resolve.Reading{}}}, time.Time{})
		return s.found[len(s.found)-1].reading != nil
	}
	assert.True(t, add(a, keptBytes-100))
	assert.False(t, add(b, 101))
	assert.True(t, add(b, 60))
	assert.True(t, add(a, 40), "what there is room for")
	assert.False(t, add(a, 1))
	assert.Equal(t, []int64{keptBytes - 60, 60, keptBytes}, []int64{a.bytes, b.bytes, *kept})
}

// TestKnownPagesAreOfOneInstant: what is taken of a listing without one, of another than the first
// taken, or of any after something was listed, is live.
func TestKnownPagesAreOfOneInstant(t *testing.T) {
	one, two, none := time.Unix(1000, 0), time.Unix(1001, 0), time.Time{}
	for name, x := range map[string]struct {
		of     []time.Time
		listed bool // before
		at     time.Time
		live   []bool
	}{
		"one":         {[]time.Time{one}, false, one, []bool{false}},
		"the same":    {[]time.Time{one, one}, false, one, []bool{false, false}},
		"another":     {[]time.Time{one, two}, false, one, []bool{false, true}},
		"none":        {[]time.Time{none}, false, none, []bool{true}},
		"none before": {[]time.Time{none, one}, false, none, []bool{true, true}},
		"none behind": {[]time.Time{one, none}, false, one, []bool{false, true}},
		"listed":      {[]time.Time{one}, true, none, []bool{true}},
	} {
		p := &pages{Range: Range{Interval: keyspace.Interval{From: "a", To: "z"}}, live: x.listed}
		for i, at := range x.of {
			from, to := string(rune('a'+i)), string(rune('a'+i+1))
			l := &Listing{Interval: keyspace.Interval{From: from, To: to}, at: at,
				found: []Found{{Name: from + "1"}}}
			found := p.take(l)
			require.Len(t, found, 1, name)
			assert.Equal(t, x.live[i], found[0].live, "%s, %d", name, i)
			assert.Equal(t, to, p.From)
		}
		assert.Equal(t, x.at, p.at, name)
		assert.Equal(t, x.listed || slices.Contains(x.live, true), p.live, name)
	}
}

// TestMarks: of too many beginnings of pages every second one is forgotten, but not the first.
func TestMarks(t *testing.T) {
	p := &pages{}
	for i := range marksMax + 1 {
		p.mark(fmt.Sprintf("%05d", i))
	}
	require.Len(t, p.marks, marksMax/2+1)
	for i, mark := range p.marks {
		require.Equal(t, fmt.Sprintf("%05d", 2*i), mark)
	}
}
