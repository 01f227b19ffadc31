package scan

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/internal/keyspace"
)

// span is one that has consumed an interval in which nothing is.
func span(from, to string) *Span {
	s := NewSpan(Range{Interval: keyspace.Interval{From: from, To: to}}, new(int64))
	s.End(time.Time{})
	return s
}

// TestMemoryHasRoomForSoMany: the oldest goes when there are too many, and what is wholly within
// a newer one takes no room.
func TestMemoryHasRoomForSoMany(t *testing.T) {
	at := time.Unix(1000, 0)
	var m Memory
	m.Keep([]*Span{span("a", "b")}, at)
	for _, within := range [][2]string{{"k", "m"}, {"k", "l"}, {"l", "m"}, {"k1", "l"}} {
		for i := range rememberedMax {
			m.Keep([]*Span{span(within[0], within[1])}, at.Add(time.Duration(2*i)))
			m.Keep([]*Span{span("k", "m")}, at.Add(time.Duration(2*i+1)))
		}
	}
	begin := span("a", "b").Range
	assert.NotEmpty(t, m.Recall(begin, at))
	for i := range rememberedMax - 2 {
		m.Keep([]*Span{span(fmt.Sprintf("x%02d", i), fmt.Sprintf("x%02d~", i))}, at)
	}
	assert.NotEmpty(t, m.Recall(begin, at), "of %d", len(m.all))
	m.Keep([]*Span{span("y", "z")}, at)
	assert.Empty(t, m.Recall(begin, at))
	assert.Len(t, m.all, rememberedMax)
	assert.Zero(t, m.bytes)
}

// TestMemoryRecallsTheNewest: one that has all of a range, down to its bounds, before one in which
// it only begins; of two, the newer.
func TestMemoryRecallsTheNewest(t *testing.T) {
	at := time.Unix(1000, 0)
	for name, x := range map[string]struct {
		keep    [][2]string
		reverse bool
		want    int // of keep
	}{
		"the same":                  {[][2]string{{"a", "z"}, {"f", "k"}}, false, 1},
		"from the same on":          {[][2]string{{"a", "z"}, {"f", "l"}}, false, 1},
		"to the same":               {[][2]string{{"a", "z"}, {"e", "k"}}, false, 1},
		"the newer, and larger":     {[][2]string{{"f", "k"}, {"a", "z"}}, false, 1},
		"all before its beginning":  {[][2]string{{"a", "z"}, {"e", "g"}}, false, 0},
		"its beginning, the newer":  {[][2]string{{"e", "g"}, {"f", "h"}}, false, 1},
		"its end, as that is first": {[][2]string{{"e", "g"}, {"j", "k"}, {"e", "h"}}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var m Memory
			for i, k := range x.keep {
				m.Keep([]*Span{span(k[0], k[1])}, at.Add(time.Duration(i)))
			}
			r := span("f", "k").Range
			r.Reverse = x.reverse
			found := m.Recall(r, at)
			if assert.Len(t, found, 1) {
				i := found[0].Interval
				kept := x.keep[x.want]
				assert.Equal(t, kept[0], i.From)
				assert.Equal(t, kept[1], i.To)
			}
		})
	}
}

// TestMemoryForgetsInBulk: of the names that were written lately so many are remembered.
func TestMemoryForgetsInBulk(t *testing.T) {
	var m Memory
	assert.False(t, m.Used())
	m.Use()
	assert.True(t, m.Used())
	at := time.Unix(1000, 0)
	for i := range writtenMax + 1 {
		assert.Len(t, m.written, i)
		assert.Zero(t, m.dropped, "there is room")
		m.Forget(at.Add(time.Duration(i)), fmt.Sprint(i))
	}
	assert.Len(t, m.written, writtenMax/2, "half of them, not with each name")
	assert.Equal(t, at.Add(writtenMax/2), m.dropped, "the last that is not remembered")
	m.Forget(at, make([]string, 5*writtenMax)...)
	assert.Len(t, m.written, writtenMax/2)
}

// TestFirstPage: a scan with a limit asks for little more than that.
func TestFirstPage(t *testing.T) {
	for _, x := range []struct {
		limit   int
		reverse bool
		page    int
	}{
		{0, false, pageMax}, {1, false, 1 + pageSlack}, {10, true, pageMax},
		{pageMax - pageSlack - 1, false, pageMax - 1}, {pageMax - pageSlack, false, pageMax},
		{pageMax, false, pageMax}, {5000, false, pageMax},
	} {
		r := Range{Limit: x.limit, Reverse: x.reverse}
		assert.Equal(t, x.page, (&Scanner{}).newPages(r, nil).limit, "%+v", x)
	}
}
