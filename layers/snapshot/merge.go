package snapshot

import (
	"bytes"
	"context"
	"hash/maphash"

	"github.com/strictkv/strictkv/layers/snapshot/internal/table"
)

// cursor goes through sorted entries.
type cursor interface {
	Seek(key []byte)
	SeekBefore(key []byte)
	Next()
	Prev()
	Entry() *table.Entry // nil if there is none
	Err() error
}

// merge goes through several sorted runs as through one: of a key that is in several, the first run
// counts. With few runs, looking at each is quicker than any order among them.
type merge struct {
	runs    []cursor
	reverse bool
	at      int // the run with the entry; -1 at the end
}

func (s *Snapshot) merged(ctx context.Context, reverse bool) *merge {
	m := &merge{reverse: reverse}
	if s.changes != nil {
		m.runs = append(m.runs, &changesCursor{root: s.changes})
	}
	for _, f := range s.files {
		m.runs = append(m.runs, f.Cursor(ctx))
	}
	return m
}

// seek goes to the first key that is not less, or, in reverse, to the last that is less; nil is
// the first of all in the order.
func (m *merge) seek(key []byte) {
	for _, r := range m.runs {
		if m.reverse {
			r.SeekBefore(key)
		} else {
			r.Seek(key)
		}
	}
	if m.choose(); m.err() != nil {
		m.at = -1
	}
}

func (m *merge) choose() {
	m.at = -1
	var best []byte
	for i, r := range m.runs {
		e := r.Entry()
		if e == nil {
			continue
		}
		if c := bytes.Compare(e.Key, best); m.at < 0 || c < 0 && !m.reverse || c > 0 && m.reverse {
			m.at, best = i, e.Key
		}
	}
}

// entry is the entry that the merge stands on, nil if there is none; what it points to goes on with
// the merge.
func (m *merge) entry() *table.Entry {
	if m.at < 0 {
		return nil
	}
	return m.runs[m.at].Entry()
}

func (m *merge) next() {
	if len(m.runs) == 1 { // as most are
		m.step(m.runs[0])
		return
	}
	key := m.entry().Key
	for _, r := range m.runs {
		if x := r.Entry(); x != nil && bytes.Equal(x.Key, key) {
			m.step(r)
		}
	}
	if m.choose(); m.err() != nil {
		m.at = -1
	}
}

func (m *merge) step(r cursor) {
	if m.reverse {
		r.Prev()
	} else {
		r.Next()
	}
}

func (m *merge) err() error {
	for _, r := range m.runs {
		if err := r.Err(); err != nil {
			return err
		}
	}
	return nil
}

// node is a persistent treap of entries: a change makes new nodes on the way to it alone.
type node struct {
	table.Entry
	rank        uint64 // not less than those below
	left, right *node
}

var seed = maphash.MakeSeed()

func (n *node) with(e table.Entry) *node {
	if n == nil {
		return &node{Entry: e, rank: maphash.Bytes(seed, e.Key)}
	}
	c := *n
	switch by := bytes.Compare(e.Key, n.Key); {
	case by == 0:
		c.Entry = e
	case by < 0:
		if c.left = n.left.with(e); c.left.rank > c.rank { // c.left is new
			l := c.left
			c.left, l.right = l.right, &c
			return l
		}
	default:
		if c.right = n.right.with(e); c.right.rank > c.rank {
			r := c.right
			c.right, r.left = r.left, &c
			return r
		}
	}
	return &c
}

func (n *node) find(key []byte) (table.Entry, bool) {
	for n != nil {
		switch by := bytes.Compare(key, n.Key); {
		case by == 0:
			return n.Entry, true
		case by < 0:
			n = n.left
		default:
			n = n.right
		}
	}
	return table.Entry{}, false
}

// first is the node with the first key that is not less.
func (n *node) first(key []byte) (at *node) {
	for n != nil {
		if bytes.Compare(n.Key, key) >= 0 {
			at, n = n, n.left
		} else {
			n = n.right
		}
	}
	return at
}

// last is the node with the last key that is less; nil is any.
func (n *node) last(key []byte) (at *node) {
	for n != nil {
		if key == nil || bytes.Compare(n.Key, key) < 0 {
			at, n = n, n.right
		} else {
			n = n.left
		}
	}
	return at
}

// next is the node that follows n below root.
func (n *node) next(root *node) (at *node) {
	for root != nil {
		if bytes.Compare(root.Key, n.Key) > 0 {
			at, root = root, root.left
		} else {
			root = root.right
		}
	}
	return at
}

// changesCursor goes through a treap.
type changesCursor struct{ root, at *node }

func (c *changesCursor) Seek(key []byte)       { c.at = c.root.first(key) }
func (c *changesCursor) SeekBefore(key []byte) { c.at = c.root.last(key) }
func (c *changesCursor) Next()                 { c.at = c.at.next(c.root) }
func (c *changesCursor) Prev()                 { c.at = c.root.last(c.at.Key) }
func (c *changesCursor) Err() error            { return nil }

func (c *changesCursor) Entry() *table.Entry {
	if c.at == nil {
		return nil
	}
	return &c.at.Entry
}
