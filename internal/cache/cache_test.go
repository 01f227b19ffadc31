package cache_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txid"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// seen is what a read has shown that was sent at the logical time and second proved,
// and answered at the second since.
func seen(v string, proved, since int) cache.Entry {
	return cache.Entry{
		Cell: &cell.Cell{Writer: txid.ID{1, byte(since)}}, Version: backend.Version(v), Size: 40,
		Proved: uint64(proved), Settled: uint64(proved), Until: at(proved), Since: at(since),
	}
}

// written is the answer of a write that was sent at sent and answered at answered.
func written(v string, sent, answered int) cache.Entry {
	e := seen(v, sent, answered)
	e.Settled = uint64(answered)
	return e
}

// large is seen with an inline value of that many bytes.
func large(v string, proved, size int) cache.Entry {
	e := seen(v, proved, proved+1)
	e.Cell.Value = cell.Value{Kind: cell.Inline, Data: make([]byte, size)}
	e.Size += size
	return e
}

func learn(entries ...cache.Entry) cache.Entry {
	s := cache.New(1 << 20).Space("db")
	for _, e := range entries {
		s.Learn("=a", e)
	}
	got, _ := s.Lookup("=a")
	return got
}

func TestWhatIsNewerStays(t *testing.T) {
	for _, x := range []struct {
		name    string
		entries []cache.Entry
		want    backend.Version
	}{
		{"a later read replaces an earlier one",
			[]cache.Entry{seen("1", 1, 2), seen("2", 3, 4)}, "2"},
		{"an earlier read that is answered later does not",
			[]cache.Entry{seen("2", 3, 4), seen("1", 1, 5)}, "2"},
		{"a read sent before the answer of a write does not replace it",
			[]cache.Entry{written("2", 1, 5), seen("1", 3, 6)}, "2"},
		{"a read sent after the answer does",
			[]cache.Entry{written("2", 1, 5), seen("3", 6, 7)}, "3"},
		{"an absence seen later replaces a value",
			[]cache.Entry{seen("1", 1, 2), seen("", 3, 4)}, ""},
		{"an absence seen earlier does not", []cache.Entry{seen("1", 3, 4), seen("", 1, 5)}, "1"},
		{"an old absence does not replace a write",
			[]cache.Entry{written("1", 1, 5), seen("", 3, 6)}, "1"},
		{"a value replaces an absence", []cache.Entry{seen("", 1, 2), seen("1", 3, 4)}, "1"},
	} {
		assert.Equal(t, x.want, learn(x.entries...).Version, x.name)
	}
}

func TestTheSameVersionExtendsTheInterval(t *testing.T) {
	got := learn(seen("1", 1, 2), seen("1", 7, 8))
	assert.Equal(t, at(2), got.Since, "the first answer")
	assert.Equal(t, at(7), got.Until, "the last sending")
	assert.Equal(t, uint64(7), got.Proved)
	assert.Equal(t, txid.ID{1, 2}, got.Cell.Writer, "the cell in the cache is shared")

	got = learn(seen("1", 7, 8), seen("1", 1, 9))
	assert.Equal(t, at(7), got.Until, "an earlier request does not shorten it")
	assert.Equal(t, uint64(7), got.Proved)
	assert.Equal(t, at(8), got.Since)
}

// A read of the version just written must not make the cache forget that older reads
// may still be on their way.
func TestTheSameVersionKeepsWhatAWriteHasSettled(t *testing.T) {
	got := learn(written("2", 1, 6), seen("2", 3, 7), seen("1", 4, 8))
	assert.Equal(t, backend.Version("2"), got.Version)
	got = learn(seen("2", 3, 4), written("2", 1, 6), seen("1", 5, 8))
	assert.Equal(t, backend.Version("2"), got.Version)
}

// An absence is the one state that can recur: two sightings prove nothing of the time
// between.
func TestAnAbsenceNeverExtends(t *testing.T) {
	got := learn(seen("", 1, 2), seen("", 7, 8))
	assert.Equal(t, at(8), got.Since)
	assert.Equal(t, at(7), got.Until)
	assert.True(t, got.Since.After(got.Until), "an empty interval")
	got = learn(seen("", 7, 8), seen("", 1, 9))
	assert.Equal(t, at(7), got.Until, "the later one stays")
}

func TestSpacesAreApart(t *testing.T) {
	c := cache.New(1 << 20)
	c.Space("one").Learn("=a", seen("1", 1, 2))
	_, ok := c.Space("two").Lookup("=a")
	assert.False(t, ok)
	e, ok := c.Space("one").Lookup("=a")
	assert.True(t, ok, "two spaces of the same id are the same")
	assert.Equal(t, backend.Version("1"), e.Version)
	_, ok = c.Space("one").Lookup("=b")
	assert.False(t, ok)
}

func TestTicksAreNew(t *testing.T) {
	c := cache.New(0)
	s := c.Space("db")
	last := uint64(0)
	for range 10 {
		for _, now := range []uint64{c.Tick(), s.Tick()} {
			require.Greater(t, now, last)
			last = now
		}
	}
}

func TestSizeIsBounded(t *testing.T) {
	const limit = 20_000
	c := cache.New(limit)
	s := c.Space("db")
	for i := range 200 {
		s.Learn(fmt.Sprintf("=%d", i), large("1", i, 10*i))
		require.LessOrEqual(t, c.Size(), int64(limit))
	}
	_, ok := s.Lookup("=199")
	assert.True(t, ok, "the last one is there")
	_, ok = s.Lookup("=0")
	assert.False(t, ok, "the first one is not")
	for i := range 200 {
		s.Learn(fmt.Sprintf("=%d", i), large("2", 1000+i, 5000)) // grows
		require.LessOrEqual(t, c.Size(), int64(limit))
	}
}

// cost is what an entry counts.
func cost(e cache.Entry) int64 {
	c := cache.New(1 << 20)
	c.Space("db").Learn("=a", e)
	return c.Size()
}

func TestTheLeastRecentlyUsedGoesFirst(t *testing.T) {
	c := cache.New(cost(seen("1", 1, 2)) * 3)
	s := c.Space("db")
	for i, name := range []string{"=a", "=b", "=c"} {
		s.Learn(name, seen("1", i, i))
	}
	s.Lookup("=a")
	s.Learn("=b", seen("1", 5, 6))
	s.Learn("=d", seen("1", 7, 8))
	for name, want := range map[string]bool{"=a": true, "=b": true, "=c": false, "=d": true} {
		_, ok := s.Lookup(name)
		assert.Equal(t, want, ok, name)
	}
}

func TestWhatIsTooLargeIsNotKept(t *testing.T) {
	for _, size := range []int64{-1, 0, 100} {
		c := cache.New(size)
		c.Space("db").Learn("=a", seen("1", 1, 2))
		_, ok := c.Space("db").Lookup("=a")
		assert.False(t, ok)
		assert.Zero(t, c.Size())
	}
}

// An entry that has grown beyond the whole cache costs itself, and no others.
func TestAnEntryThatGrowsTooLargeEvictsNoOthers(t *testing.T) {
	c := cache.New(2000)
	s := c.Space("db")
	s.Learn("=a", seen("1", 1, 2))
	s.Learn("=b", seen("1", 1, 2))
	s.Learn("=a", large("2", 3, 5000))
	_, ok := s.Lookup("=a")
	assert.False(t, ok, "what it was is out of date")
	_, ok = s.Lookup("=b")
	assert.True(t, ok)
	assert.LessOrEqual(t, c.Size(), int64(2000))
}
