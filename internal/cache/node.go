package cache

import (
	"maps"
	"math"
	"strings"
	"time"
	"unsafe"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
)

const (
	// slotSize is what a partition's map takes for a name, in bytes, on average: 33 to 57
	// after filling, 43 to 76 after many have come and gone.
	slotSize = 57
	// shrinkPart and shrinkMin: once a partition holds less than that part of what it has
	// held, and has held that many, its map is made anew. A map never shrinks by itself.
	shrinkPart = 4
	shrinkMin  = 1024
	// wasteMin in bytes, and that part of what a cell was read from, is how much must be
	// saved by copying its value out of that.
	wasteMin  = 32
	wastePart = 16
)

// node is something that the cache keeps, and a link in the ring of all.
type node struct {
	prev, next *node
	partition  *partition
	name       string
	cost       int64
	fact
}

// fact is what an Entry tells beyond the moment in which it is learnt.
type fact struct {
	cell            *cell.Cell
	version         backend.Version
	size            int
	since, until    instant
	proved, settled uint64
}

// instant is a time by the cache's epoch, in nanoseconds: a time.Time takes three times as
// much.
type instant int64

// never is the instant of the zero time.
const never instant = math.MinInt64

// epoch is what instants count from.
type epoch struct{ start time.Time }

func (p epoch) instant(t time.Time) instant {
	if t.IsZero() {
		return never
	}
	return instant(t.Sub(p.start))
}

func (p epoch) time(i instant) time.Time {
	if i == never {
		return time.Time{}
	}
	return p.start.Add(time.Duration(i))
}

var noObject = &cell.Cell{}

// newFact returns what is kept of e, and what the cell in it takes. A cell that this
// process wrote may have bytes of one that it read: they are copied. So are the bytes of
// one that was read, if they take much less without what is around them.
func (p epoch) newFact(e Entry) (f fact, cost int) {
	f = fact{
		e.Cell, e.Version, e.Size, p.instant(e.Since), p.instant(e.Until), e.Proved, e.Settled,
	}
	switch {
	case e.Version == "":
		f.cell = noObject
	case e.Wrote || wasteful(e):
		f.cell, f.size = e.Cell.Apart(), 0
		cost = f.cell.Footprint(0)
	default:
		cost = f.cell.Footprint(e.Size)
	}
	return f, cost
}

// wasteful reports whether a part of the bytes that a cell was read from is worth a copy.
func wasteful(e Entry) bool {
	saved := cell.Allocated(e.Size) - cell.Allocated(len(e.Cell.Value.Data))
	return e.Cell.Intent == nil && len(e.Cell.Marks) == 0 && e.Cell.Value.Kind == cell.Inline &&
		saved >= wasteMin && saved >= e.Size/wastePart
}

func (p epoch) entry(f *fact) Entry {
	return Entry{
		Cell: f.cell, Version: f.version, Size: f.size, Since: p.time(f.since),
		Until: p.time(f.until), Proved: f.proved, Settled: f.settled,
	}
}

// confirm extends the interval by another request that has seen the same version.
func (p epoch) confirm(f *fact, e Entry) {
	f.settled = max(f.settled, e.Settled)
	if e.Proved > f.proved {
		f.proved, f.until = e.Proved, p.instant(e.Until)
	}
}

// kind tells cells and external values apart.
type kind uint8

const (
	cells kind = iota
	values
)

type place struct {
	space string
	kind  kind
}

// partition holds what is kept of one kind and one database, by name.
type partition struct {
	place place
	nodes map[string]*node
	most  int  // nodes since the map was made
	gone  bool // it was empty, and is not the partition of its place any more
}

func (s *partition) add(n *node) {
	s.nodes[n.name] = n
	s.most = max(s.most, len(s.nodes))
}

func (s *partition) remove(n *node) {
	delete(s.nodes, n.name)
	if s.most < shrinkMin || len(s.nodes) > s.most/shrinkPart {
		return
	}
	old := s.nodes
	s.nodes, s.most = make(map[string]*node, len(old)), len(old)
	maps.Copy(s.nodes, old)
}

// slot is a place, and the partition that was there when it was last looked for: to find that
// costs as much as to find a node.
type slot struct {
	place     place
	partition *partition
}

// find returns the node for a name, or nil.
func (c *Cache) find(at *slot, name string) *node {
	if at.partition == nil || at.partition.gone {
		if at.partition = c.partitions[at.place]; at.partition == nil {
			return nil
		}
	}
	return at.partition.nodes[name]
}

// use is find for somebody who needs the node.
func (c *Cache) use(at *slot, name string) *node {
	n := c.find(at, name)
	if n != nil {
		c.recent.remove(n)
		c.recent.push(n)
	}
	return n
}

// put keeps f, whose cell takes cost bytes, in a node; what was there goes.
func (c *Cache) put(n *node, f fact, cost int) {
	n.fact = f
	total := int64(cost + slotSize + cell.Allocated(int(unsafe.Sizeof(*n))) +
		cell.Allocated(len(n.name)) + cell.Allocated(len(f.version)))
	c.part.Add(total - n.cost)
	if n.cost = total; total > c.max {
		c.remove(n)
	}
	for c.part.Exceeds(c.max) {
		c.remove(c.recent.last())
	}
}

// insert makes a node that costs nothing yet. The name is copied: it may be part of a
// longer string, which would live as long.
func (c *Cache) insert(at *slot, name string) *node {
	if at.partition == nil {
		at.partition = &partition{place: at.place, nodes: map[string]*node{}}
		c.partitions[at.place] = at.partition
	}
	n := &node{partition: at.partition, name: strings.Clone(name)}
	at.partition.add(n)
	c.recent.push(n)
	return n
}

func (c *Cache) remove(n *node) {
	c.recent.remove(n)
	c.part.Add(-n.cost)
	n.partition.remove(n)
	if len(n.partition.nodes) == 0 {
		n.partition.gone, n.partition.nodes = true, nil
		delete(c.partitions, n.partition.place)
	}
}

// ring is all nodes, the most recently used first. Its own link closes it.
type ring struct{ end node }

func (r *ring) init() { r.end.prev, r.end.next = &r.end, &r.end }

func (r *ring) last() *node { return r.end.prev }

func (r *ring) push(n *node) {
	n.prev, n.next = &r.end, r.end.next
	n.prev.next, n.next.prev = n, n
}

func (r *ring) remove(n *node) { n.prev.next, n.next.prev = n.next, n.prev }
