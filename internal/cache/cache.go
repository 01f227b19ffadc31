// Package cache remembers the cells that a process has seen: a least recently
// used cache bounded in bytes. An entry is a cell as stored (or the absence of
// its object), its version, and the interval in which it is known to have been
// current. Strong reads revalidate entries; weak reads are served from those that
// are fresh enough.
//
// External values, which never change, are kept beside the cells under the same
// bound.
package cache

import (
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/budget"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/seam"
)

// Cache holds entries of one or several databases. It is safe for concurrent use,
// and may be shared by several handles of a process.
type Cache struct {
	max   int64
	clock atomic.Uint64
	disk  Disk // nil if there is none

	mu         seam.Mutex // guards all below
	epoch      epoch
	part       *budget.Part
	recent     ring
	partitions map[place]*partition
	clocks     map[string]*Clock // by the id of the database
}

// Entry is what is known of one object.
type Entry struct {
	// Cell is the object's state: the zero cell if there is no object.
	Cell *cell.Cell
	// Version is the object's version, empty if there is no object.
	Version backend.Version
	// Size is the length of the encoded cell in bytes, or of the buffer that it was
	// decoded from if that is larger.
	Size int
	// Since is when the first request that saw this version was answered; Until
	// is when the last request that proved it was sent. In between it was current.
	Since, Until time.Time
	// Proved is Until by the cache's logical clock.
	Proved uint64
	// Wrote is set for the answer of a write, and Replaces is the version (or none)
	// that it replaced. They serve Learn; Lookup does not return them.
	Wrote    bool
	Replaces backend.Version
	// Settled is the logical time from which on a request must have been sent to
	// know better: a read that was sent before it may be older than this entry.
	Settled uint64
}

// New returns a cache for at most size bytes of heap, everything counted that an
// entry takes there; an entry that is larger than that is not kept. A size of zero
// or less keeps nothing.
func New(size int64) *Cache {
	c := &Cache{
		max: max(size, 0), part: &budget.Part{},
		partitions: map[place]*partition{}, clocks: map[string]*Clock{},
	}
	c.recent.init()
	return c
}

// Within is New for a cache whose size bounds all caches of a budget together. They share
// nothing else: what one of them knows, the others do not.
func Within(b *budget.Budget, size int64) *Cache {
	c := New(size)
	c.part = budget.For(b, c)
	return c
}

// Tick advances the cache's logical clock and returns it. It orders the instants
// at which requests are sent and answered, and facts become known.
func (c *Cache) Tick() uint64 { return c.clock.Add(1) }

// Size is the number of bytes that the entries take on the heap. What the runtime's
// maps take varies with their history; their average is counted.
func (c *Cache) Size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.part.Size()
}

// Space is the part of a cache that belongs to one database.
type Space struct {
	// Clock is the store's.
	*Clock
	cache         *Cache
	cells, values slot // guarded by cache.mu
}

// Space returns the part for the database with that id.
func (c *Cache) Space(id string) *Space {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clocks[id] == nil {
		c.clocks[id] = &Clock{}
	}
	return &Space{
		Clock: c.clocks[id], cache: c,
		cells: slot{place: place{id, cells}}, values: slot{place: place{id, values}},
	}
}

// Tick is Cache.Tick.
func (s *Space) Tick() uint64 { return s.cache.Tick() }

// Lookup returns the entry for an object name.
func (s *Space) Lookup(name string) (Entry, bool) {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.use(&s.cells, name)
	if n == nil {
		return Entry{}, false
	}
	return c.epoch.entry(&n.fact), true
}

// Learn records what a request that was sent at e.Proved has shown, unless the
// cache knows better. An entry of the same version keeps its Since; an absence, the
// one state that can recur, does not.
func (s *Space) Learn(name string, e Entry) {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch.start.IsZero() {
		c.epoch.start = e.Until
	}
	n := c.use(&s.cells, name)
	if n != nil {
		switch old := n.fact; {
		case old.version == e.Version && e.Version != "":
			c.epoch.confirm(&n.fact, e)
			return
		case e.Wrote && old.version == e.Replaces: // newer, whenever that was read
		case e.Proved < old.settled:
			return
		}
	}
	f, cost := c.epoch.newFact(e)
	if n == nil {
		n = c.insert(&s.cells, name)
	}
	c.put(n, f, cost)
}
