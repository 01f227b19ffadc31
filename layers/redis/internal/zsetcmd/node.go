package zsetcmd

import (
	"encoding/binary"
	"slices"
)

// node is one of a tree: a leaf with entries, or one with children. It has some of either.
type node struct {
	entries  []entry
	children []child
	dirty    bool
}

// child is a node below another.
type child struct {
	id uint64
	// n is how many entries it has, with those below it.
	n int
	// low is not above any of them, and above those of the children before. That of the first
	// child means nothing.
	low entry
}

const (
	leafNode  = 0
	innerNode = 1
)

func (nd *node) leaf() bool { return len(nd.children) == 0 }

// size is how many entries or children a node has.
func (nd *node) size() int { return len(nd.entries) + len(nd.children) }

// n is how many entries there are in a node, and below it.
func (nd *node) n() int {
	n := len(nd.entries)
	for _, c := range nd.children {
		n += c.n
	}
	return n
}

// bytes is how long the stored form is, about.
func (nd *node) bytes() int {
	n := 0
	for _, e := range nd.entries {
		n += scoreLen + 1 + len(e.member)
	}
	for _, c := range nd.children {
		n += scoreLen + 4 + len(c.low.member)
	}
	return n
}

// full reports whether a node is to be split: it is long, or has many entries or children. It
// leaves children enough for the tree to be flat if their names are long.
func (nd *node) full() bool {
	const least = 4
	return nd.size() > nodeMax || nd.size() >= least && nd.bytes() > nodeBytes
}

// fits reports whether two nodes may become one, with room left in it.
func (nd *node) fits(other *node) bool {
	return nd.size()+other.size() <= nodeMax*3/4 && nd.bytes()+other.bytes() <= nodeBytes*3/4
}

// at is the index of the child in which entries are, of which below tells whether they are before
// the place that is looked for.
func (nd *node) at(below func(entry) bool) int {
	i := 0
	for i+1 < len(nd.children) && below(nd.children[i+1].low) {
		i++
	}
	return i
}

// split takes the upper part off: half of it, or only the last one.
func (nd *node) split(half bool) *node {
	at := nd.size() - 1
	if half {
		at = nd.size() / 2
	}
	upper := &node{dirty: true}
	if nd.leaf() {
		upper.entries = slices.Clone(nd.entries[at:])
		nd.entries = nd.entries[:at]
	} else {
		upper.children = slices.Clone(nd.children[at:])
		nd.children = nd.children[:at]
	}
	return upper
}

// low is an entry that is not above any in the node, as it is, or as it was.
func (nd *node) low() entry {
	if nd.leaf() {
		return nd.entries[0]
	}
	return nd.children[0].low
}

// encodeNode is the stored form of a node: the format's version, the kind, then entries as in a
// small set, each of them after the ID of a child and how many entries that has, as varints, if
// these are the lowest ones of children.
func encodeNode(nd *node) []byte {
	if nd.leaf() {
		out := []byte{format, leafNode}
		for _, e := range nd.entries {
			out = appendEntry(out, e)
		}
		return out
	}
	out := []byte{format, innerNode}
	for _, c := range nd.children {
		out = binary.AppendUvarint(out, c.id)
		out = binary.AppendUvarint(out, uint64(c.n))
		out = appendEntry(out, c.low)
	}
	return out
}

// decodeNode is the inverse of encodeNode. The members share the memory.
func decodeNode(b []byte) (*node, error) {
	if len(b) < 2 || b[0] != format || b[1] > innerNode {
		return nil, damaged("no node of this layer, or of a newer version of it")
	}
	nd := &node{}
	for rest := b[2:]; len(rest) > 0; {
		var c child
		if b[1] == innerNode {
			id, used := binary.Uvarint(rest)
			n, more := binary.Uvarint(rest[max(used, 0):])
			if used <= 0 || more <= 0 || id == 0 || n == 0 || n > membersMax {
				return nil, damaged("a child that can't be")
			}
			c.id, c.n, rest = id, int(n), rest[used+more:]
		}
		var err error
		if c.low, rest, err = cutEntry(rest); err != nil {
			return nil, err
		}
		if b[1] == innerNode {
			nd.children = append(nd.children, c)
		} else {
			nd.entries = append(nd.entries, c.low)
		}
	}
	if nd.size() == 0 {
		return nil, damaged("an empty node")
	}
	return nd, nil
}
