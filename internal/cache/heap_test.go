package cache_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txid"
)

const (
	shortName = "=key-%07d"
	longName  = "+collection/+of-another-collection/=a-key-that-has-a-long-name-%07d"
)

// shape is a kind of entry. learn puts number i of them into the cache, and must keep
// nothing of it elsewhere.
type shape struct {
	name  string
	learn func(s *cache.Space, i int)
}

func shapes() []shape {
	list := []shape{
		{"value of 10 B", read(shortName, inlined(10, 1))},
		{"value of 10 B, recent full", read(shortName, inlined(10, cell.RecentMax))},
		{"value of 10 B, long name", read(longName, inlined(10, 1))},
		{"value of 10 B, written", wrote(shortName, inlined(10, 3))},
		{"value of 10 B, read and fenced", fenced(shortName, inlined(10, cell.RecentMax))},
		{"value of 1 KiB", read(shortName, inlined(1<<10, 1))},
		{"value of 1 KiB, recent full", read(shortName, inlined(1<<10, cell.RecentMax))},
		{"value of 1 KiB, written", wrote(shortName, inlined(1<<10, 2))},
		{"value of 100 KiB", read(shortName, inlined(100<<10, 1))},
		{"value of 100 KiB, written", wrote(shortName, inlined(100<<10, 1))},
		{"absence", absence(shortName)},
		{"absence, long name", absence(longName)},
		{"absence, name out of a longer string", func(s *cache.Space, i int) {
			name := fmt.Sprintf(shortName, i)
			s.Learn((name + strings.Repeat(" ", 100))[:len(name)], cache.Entry{Proved: uint64(i)})
		}},
		{"tombstone", read(shortName, inlined(-1, 2))},
		{"tombstone, written", wrote(shortName, inlined(-1, 2))},
		{"reference to an external value", read(shortName, external)},
		{"intent of 2 members", read(shortName, intended(2))},
		{"intent of 8 members", read(shortName, intended(8))},
		{"intent of 8 members, long names", read(longName, intended(8))},
		{"3 marks of 4 members", read(shortName, marked(3, 4))},
		{"mark of 100 members", read(shortName, marked(1, 100))},
		{"external value of 300 KiB", valueOf(300 << 10)},
		{"external value of 5000 B", valueOf(5000)},
	}
	for _, n := range []int{2, 8, 100} {
		list = append(list, shape{fmt.Sprintf("intent of %d members, written", n),
			together(n, func(c *cell.Cell, in *cell.Intent) *cell.Cell {
				return cell.Place(c, cell.Fold{}, in)
			})})
		list = append(list, shape{fmt.Sprintf("mark of %d members, written", n),
			together(n, func(c *cell.Cell, in *cell.Intent) *cell.Cell {
				placed := cell.Place(c, cell.Fold{}, in)
				return cell.Resolve(placed, cell.Fold{Outcome: cell.Committed})
			})})
	}
	return list
}

// version is one of a length as stores have it.
func version(i int) backend.Version { return backend.Version(fmt.Sprintf("%016d", i)) }

func id(i, n int) txid.ID { return txid.ID{1, byte(i), byte(i >> 8), byte(i >> 16), byte(n)} }

func entry(c *cell.Cell, i int) cache.Entry {
	return cache.Entry{Cell: c, Version: version(i), Since: at(i), Until: at(i), Proved: uint64(i)}
}

// read learns what a store has sent.
func read(format string, make func(i int) *cell.Cell) func(s *cache.Space, i int) {
	return func(s *cache.Space, i int) {
		data := cell.Encode(make(i), uint64(i))
		c, err := cell.Decode(data)
		if err != nil {
			panic(err)
		}
		e := entry(c, i)
		e.Size = len(data)
		s.Learn(fmt.Sprintf(format, i), e)
	}
}

// wrote learns what this process has written.
func wrote(format string, make func(i int) *cell.Cell) func(s *cache.Space, i int) {
	return func(s *cache.Space, i int) {
		e := entry(make(i), i)
		e.Wrote = true
		s.Learn(fmt.Sprintf(format, i), e)
	}
}

// fenced learns what this process has written, with a value that it had read.
func fenced(format string, make func(i int) *cell.Cell) func(s *cache.Space, i int) {
	return func(s *cache.Space, i int) {
		c, err := cell.Decode(cell.Encode(make(i), uint64(i)))
		if err != nil {
			panic(err)
		}
		wrote(format, func(int) *cell.Cell { return cell.Fence(c) })(s, i)
	}
}

// together learns what this process has written in one transaction of n members, once
// i has come to the last of them.
func together(
	n int, write func(c *cell.Cell, in *cell.Intent) *cell.Cell,
) func(s *cache.Space, i int) {
	return func(s *cache.Space, i int) {
		if i%n != 0 {
			return
		}
		whole := cell.Members{List: make([]cell.Member, n), Long: n > cell.ListMax}
		for j := range whole.List {
			whole.List[j] = cell.Member{
				Name: fmt.Sprintf(shortName, i+j), Expected: string(version(i + j)),
			}
		}
		m := whole
		for j := range n {
			if j == 1 && m.Long {
				m.List = m.List[:1]
			}
			e := entry(write(inlined(100, 1)(i+j), &cell.Intent{
				Tx: id(i, 9), Mode: cell.Staged, Action: cell.Put, Members: m,
				Value: cell.Value{Kind: cell.Inline, Data: make([]byte, 100)},
			}), i+j)
			e.Wrote = true
			s.Learn(fmt.Sprintf(shortName, i+j), e)
		}
	}
}

func absence(format string) func(s *cache.Space, i int) {
	return func(s *cache.Space, i int) {
		e := entry(&cell.Cell{}, i)
		e.Version = ""
		s.Learn(fmt.Sprintf(format, i), e)
	}
}

// inlined makes cells with an inline value, or none if size is less than 0, and that
// many recent attempts.
func inlined(size, recent int) func(i int) *cell.Cell {
	return func(i int) *cell.Cell {
		c := &cell.Cell{Writer: id(i, 0)}
		if size >= 0 {
			c.Value = cell.Value{Kind: cell.Inline, Data: make([]byte, size)}
		}
		for j := range recent {
			c.Recent = append(c.Recent, id(i, j))
		}
		return c
	}
}

func external(i int) *cell.Cell {
	c := inlined(-1, 1)(i)
	c.Value = cell.Value{
		Kind: cell.External, Size: 300 << 10,
		Ref: fmt.Sprintf("*key-%07d.%032d", i, i),
	}
	return c
}

func members(i, n int) cell.Members {
	m := cell.Members{Long: n > cell.ListMax}
	for j := range n {
		m.List = append(m.List, cell.Member{
			Name: fmt.Sprintf(shortName, n*i+j), Expected: string(version(n*i + j)),
		})
	}
	return m
}

func intended(n int) func(i int) *cell.Cell {
	return func(i int) *cell.Cell {
		c := inlined(100, 1)(i)
		c.Intent = &cell.Intent{
			Tx: id(i, 9), Mode: cell.Staged, Action: cell.Put, Members: members(i, n),
			Value: cell.Value{Kind: cell.Inline, Data: make([]byte, 100)},
		}
		return c
	}
}

func marked(marks, n int) func(i int) *cell.Cell {
	return func(i int) *cell.Cell {
		c := inlined(100, 3)(i)
		for j := range marks {
			c.Marks = append(c.Marks, cell.Mark{Tx: id(i, j), Members: members(i, n)})
		}
		return c
	}
}

func valueOf(size int) func(s *cache.Space, i int) {
	return func(s *cache.Space, i int) {
		s.LearnValue(fmt.Sprintf("*key-%07d.%032d", i, i), make([]byte, size))
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// assertHonest compares what the cache counts with what the heap has grown by.
func assertHonest(t *testing.T, c *cache.Cache, before int64, when string) {
	t.Helper()
	taken := heap() - before
	runtime.KeepAlive(c)
	off := float64(c.Size())/float64(taken) - 1
	t.Logf("%s: counted %d bytes, taken %d: %+.1f %%", when, c.Size(), taken, 100*off)
	assert.InDelta(t, 0, off, 0.1, when)
}

// TestSizeIsWhatTheHeapHolds fills a cache, and then churns it.
func TestSizeIsWhatTheHeapHolds(t *testing.T) {
	for _, x := range shapes() {
		t.Run(strings.ReplaceAll(x.name, " ", "_"), func(t *testing.T) {
			before := heap()
			c := cache.New(2 << 20)
			s := c.Space("db")
			i := 0
			for ; c.Size() < 7<<18; i++ {
				x.learn(s, i)
			}
			assertHonest(t, c, before, fmt.Sprintf("%d entries", i))
			t.Logf("%d bytes for an entry", c.Size()/int64(i))
			for range 2 * i {
				x.learn(s, i)
				i++
			}
			require.Greater(t, c.Size(), int64(7<<18))
			assertHonest(t, c, before, "churned")
		})
	}
}

// A cache of all shapes, with entries that are replaced by others.
func TestSizeOfAMixture(t *testing.T) {
	all := shapes()
	random := rand.New(rand.NewPCG(1, 2))
	before := heap()
	c := cache.New(8 << 20)
	s := c.Space("db")
	for range 25_000 {
		all[random.IntN(len(all))].learn(s, 100*random.IntN(5000))
	}
	require.Greater(t, c.Size(), int64(30<<18))
	assertHonest(t, c, before, "mixture")
}

// A map of the runtime never shrinks by itself: what many small entries needed must be free
// once large ones have driven them out, or those of another database.
func TestWhatManyEntriesTookIsFree(t *testing.T) {
	before := heap()
	c := cache.New(8 << 20)
	fill := func(databases, entries int) {
		for db := range databases {
			s := c.Space(fmt.Sprint("db", db))
			for i := range entries {
				absence(shortName)(s, i)
			}
		}
	}
	fill(500, 500)
	assertHonest(t, c, before, "the entries of the last databases")
	fill(4, 40_000)
	assertHonest(t, c, before, "the entries of the last database")
	s := c.Space("db3")
	for i := range 4000 {
		read(shortName, inlined(2<<10, 1))(s, i+100_000)
	}
	assertHonest(t, c, before, "larger ones")
}
