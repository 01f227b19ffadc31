// Package cache remembers the cells that a process has seen: a least recently
// used cache bounded in bytes. An entry is a cell as stored (or the absence of
// its object), its version, and the interval in which it is known to have been
// current. Strong reads revalidate entries; weak reads are served from those that
// are fresh enough.
package cache

import (
	"container/list"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/seam"
)

// DefaultSize is the size of a cache for which none was given, in bytes.
const DefaultSize = 256 << 20

// entryOverhead is what an entry costs beyond its name, version and encoded cell,
// in bytes: list element, map slot, decoded structures.
const entryOverhead = 400

// Cache holds entries of one or several databases. It is safe for concurrent use,
// and may be shared by several handles of a process.
type Cache struct {
	max   int64
	clock atomic.Uint64

	mu     seam.Mutex // guards all below
	size   int64
	recent *list.List // of *node, most recently used first
	nodes  map[key]*list.Element
}

type key struct{ space, name string }

type node struct {
	key   key
	entry Entry
	cost  int64
}

// Entry is what is known of one object.
type Entry struct {
	// Cell is the object's state: the zero cell if there is no object.
	Cell *cell.Cell
	// Version is the object's version, empty if there is no object.
	Version backend.Version
	// Size is the length of the encoded cell in bytes.
	Size int
	// Since is when the first request that saw this version was answered; Until
	// is when the last request that proved it was sent. In between it was current.
	Since, Until time.Time
	// Proved is Until by the cache's logical clock.
	Proved uint64
	// Wrote is set for the answer of a write, and Replaces is the version (or none)
	// that it replaced.
	Wrote    bool
	Replaces backend.Version
	// Settled is the logical time from which on a request must have been sent to
	// know better: a read that was sent before it may be older than this entry.
	Settled uint64
}

// New returns a cache for at most size bytes; an entry that is larger than that
// is not kept. A size of zero or less keeps nothing.
func New(size int64) *Cache {
	return &Cache{max: size, recent: list.New(), nodes: map[key]*list.Element{}}
}

// Tick advances the cache's logical clock and returns it. It orders the instants
// at which requests are sent and answered, and facts become known.
func (c *Cache) Tick() uint64 { return c.clock.Add(1) }

// Size is the number of bytes that the entries take.
func (c *Cache) Size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

// Space is the part of a cache that belongs to one database.
type Space struct {
	cache *Cache
	id    string
}

// Space returns the part for the database with that id.
func (c *Cache) Space(id string) *Space { return &Space{cache: c, id: id} }

// Tick is Cache.Tick.
func (s *Space) Tick() uint64 { return s.cache.Tick() }

// Lookup returns the entry for an object name.
func (s *Space) Lookup(name string) (Entry, bool) {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.nodes[key{s.id, name}]
	if !ok {
		return Entry{}, false
	}
	c.recent.MoveToFront(el)
	return el.Value.(*node).entry, true
}

// Learn records what a request that was sent at e.Proved has shown, unless the
// cache knows better. An entry of the same version keeps its Since; an absence, the
// one state that can recur, does not.
func (s *Space) Learn(name string, e Entry) {
	c := s.cache
	k := key{s.id, name}
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.nodes[k]
	if !ok {
		c.insert(k, e)
		return
	}
	n := el.Value.(*node)
	switch old := n.entry; {
	case old.Version == e.Version && e.Version != "":
		e.Cell, e.Since, e.Settled = old.Cell, old.Since, max(old.Settled, e.Settled)
		if old.Proved > e.Proved {
			e.Proved, e.Until = old.Proved, old.Until
		}
	case e.Wrote && old.Version == e.Replaces: // newer, whenever that was read
	case e.Proved < old.Settled:
		return
	}
	c.resize(n, e)
	if n.cost > c.max {
		c.remove(el)
		return
	}
	c.recent.MoveToFront(el)
	c.evict()
}

func (c *Cache) insert(k key, e Entry) {
	n := &node{key: k}
	c.resize(n, e)
	if n.cost > c.max {
		c.size -= n.cost
		return
	}
	c.nodes[k] = c.recent.PushFront(n)
	c.evict()
}

func (c *Cache) resize(n *node, e Entry) {
	cost := int64(len(n.key.name)+len(e.Version)+e.Size) + entryOverhead
	c.size += cost - n.cost
	n.entry, n.cost = e, cost
}

func (c *Cache) evict() {
	for c.size > c.max {
		c.remove(c.recent.Back())
	}
}

func (c *Cache) remove(el *list.Element) {
	n := el.Value.(*node)
	c.recent.Remove(el)
	delete(c.nodes, n.key)
	c.size -= n.cost
}
