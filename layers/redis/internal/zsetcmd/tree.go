package zsetcmd

import (
	"encoding/binary"
	"maps"
	"slices"
)

// nodeMax is how many entries, or children, a node has at most. Tests lower it. nodeBytes is how
// long a node is, unless it has few entries, which are long.
var nodeMax = 64

const nodeBytes = 2 << 10

// tree has the entries of a large set in order: a B+ tree whose nodes know how many entries there
// are below each child, so that a rank is found on the way down, and an entry by its rank. Nodes
// are read when they are needed, and changed in memory; changed tells which are to be written.
type tree struct {
	treeHeader
	// load reads the stored forms of nodes.
	load  func(ids []uint64) ([][]byte, error)
	nodes map[uint64]*node // nil is one that is no more
}

// treeHeader is what a tree begins with.
type treeHeader struct {
	n    int
	root uint64 // 0 if the tree is empty
	next uint64 // ID of the next new node
}

// membersMax is how many entries a tree may have.
const membersMax = 1 << 40

const headerLen = 1 + 3*8

// encode is the header of a large set: the format's version, how many members there are, the root's
// ID, and the next one.
func (h treeHeader) encode() []byte {
	out := append(make([]byte, 0, headerLen), format)
	for _, n := range []uint64{uint64(h.n), h.root, h.next} {
		out = binary.LittleEndian.AppendUint64(out, n)
	}
	return out
}

func decodeHeader(b []byte) (treeHeader, error) {
	if len(b) != headerLen || b[0] != format {
		return treeHeader{}, damaged("no header of this layer, or of a newer version of it")
	}
	n := binary.LittleEndian.Uint64(b[1:])
	h := treeHeader{
		root: binary.LittleEndian.Uint64(b[9:]), next: binary.LittleEndian.Uint64(b[17:]),
	}
	if n == 0 || n > membersMax || h.root == 0 || h.root >= h.next {
		return treeHeader{}, damaged("a header that can't be")
	}
	h.n = int(n)
	return h, nil
}

// ahead reads nodes that are not in memory, in one wave.
func (t *tree) ahead(ids ...uint64) error {
	var missing []uint64
	for _, id := range ids {
		if _, known := t.nodes[id]; !known {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	stored, err := t.load(missing)
	if err != nil {
		return err
	}
	if t.nodes == nil {
		t.nodes = map[uint64]*node{}
	}
	for i, b := range stored {
		if t.nodes[missing[i]], err = decodeNode(b); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) node(id uint64) (*node, error) {
	if err := t.ahead(id); err != nil {
		return nil, err
	}
	if t.nodes[id] == nil {
		return nil, damaged("a node is missing")
	}
	return t.nodes[id], nil
}

// add takes a new node into the tree.
func (t *tree) add(nd *node) uint64 {
	if t.nodes == nil {
		t.nodes = map[uint64]*node{}
	}
	if t.next == 0 {
		t.next = 1
	}
	id := t.next
	t.next++
	nd.dirty = true
	t.nodes[id] = nd
	return id
}

// insert puts an entry in, which must not be there.
func (t *tree) insert(e entry) error {
	t.n++
	if t.root == 0 {
		t.root = t.add(&node{entries: []entry{e}})
		return nil
	}
	upper, err := t.insertBelow(t.root, e)
	if err != nil || upper == nil {
		return err
	}
	lower := t.nodes[t.root]
	t.root = t.add(&node{children: []child{{t.root, lower.n(), lower.low()}, *upper}})
	return nil
}

// insertBelow puts an entry into a node, or below it. If the node is split, it returns the upper
// part.
func (t *tree) insertBelow(id uint64, e entry) (*child, error) {
	nd, err := t.node(id)
	if err != nil {
		return nil, err
	}
	nd.dirty = true
	var at int
	if nd.leaf() {
		var twice bool
		if at, twice = slices.BinarySearchFunc(nd.entries, e, compare); twice {
			return nil, damaged("a member is there twice")
		}
		nd.entries = slices.Insert(nd.entries, at, e)
	} else {
		at = nd.at(func(low entry) bool { return compare(low, e) <= 0 })
		upper, err := t.insertBelow(nd.children[at].id, e)
		if err != nil {
			return nil, err
		}
		nd.children[at].n++
		if upper != nil {
			nd.children[at].n -= upper.n
			at++
			nd.children = slices.Insert(nd.children, at, *upper)
		}
	}
	if !nd.full() {
		return nil, nil
	}
	// What grows at its end leaves full nodes behind.
	upper := nd.split(at < nd.size()-1)
	return &child{t.add(upper), upper.n(), upper.low()}, nil
}

// remove takes an entry out, which must be there.
func (t *tree) remove(e entry) error {
	t.n--
	nd, err := t.removeBelow(t.root, e)
	if err != nil {
		return err
	}
	for !nd.leaf() && len(nd.children) == 1 {
		t.nodes[t.root] = nil
		t.root = nd.children[0].id
		if nd, err = t.node(t.root); err != nil {
			return err
		}
	}
	if nd.size() == 0 {
		t.nodes[t.root], t.root = nil, 0
	}
	return nil
}

// removeBelow takes an entry out of a node, or what is below it. The node may have none then.
func (t *tree) removeBelow(id uint64, e entry) (*node, error) {
	nd, err := t.node(id)
	if err != nil {
		return nil, err
	}
	nd.dirty = true
	if nd.leaf() {
		at, there := slices.BinarySearchFunc(nd.entries, e, compare)
		if !there {
			return nil, damaged("a member is not in the order")
		}
		nd.entries = slices.Delete(nd.entries, at, at+1)
		return nd, nil
	}
	at := nd.at(func(low entry) bool { return compare(low, e) <= 0 })
	below, err := t.removeBelow(nd.children[at].id, e)
	if err != nil {
		return nil, err
	}
	nd.children[at].n--
	switch {
	case len(nd.children) > 1 && below.size() <= nodeMax/4:
		return nd, t.join(nd, max(at, 1))
	case below.size() == 0:
		t.nodes[nd.children[at].id], nd.children = nil, nil
	}
	return nd, nil
}

// join makes one child of two, of which the upper has an index, if they have become small.
func (t *tree) join(nd *node, at int) error {
	lower, upper := &nd.children[at-1], nd.children[at]
	if err := t.ahead(lower.id, upper.id); err != nil {
		return err
	}
	a, b := t.nodes[lower.id], t.nodes[upper.id]
	if a == nil || b == nil {
		return damaged("a node is missing")
	}
	if a.size() > 0 && b.size() > 0 && !a.fits(b) {
		return nil
	}
	if len(b.children) > 0 {
		b.children[0].low = upper.low // it has a meaning now
	}
	a.entries, a.children = append(a.entries, b.entries...), append(a.children, b.children...)
	a.dirty = true
	lower.n += upper.n
	t.nodes[upper.id] = nil
	nd.children = slices.Delete(nd.children, at, at+1)
	return nil
}

// rank is how many entries there are for which below is true: those before a place.
func (t *tree) rank(below func(entry) bool) (int, error) {
	rank := 0
	for id := t.root; id != 0; {
		nd, err := t.node(id)
		if err != nil {
			return 0, err
		}
		if nd.leaf() {
			at, _ := slices.BinarySearchFunc(nd.entries, below, side)
			return rank + at, nil
		}
		at := nd.at(below)
		for _, c := range nd.children[:at] {
			rank += c.n
		}
		id = nd.children[at].id
	}
	return rank, nil
}

// side finds the place that a function tells to be behind entries, by a binary search.
func side(e entry, below func(entry) bool) int {
	if below(e) {
		return -1
	}
	return 1
}

// slice is the entries from one rank to below another.
func (t *tree) slice(from, to int) ([]entry, error) {
	if from >= to {
		return nil, nil
	}
	out := make([]entry, 0, to-from)
	err := t.collect(t.root, from, to, &out)
	if err == nil && len(out) != to-from {
		err = damaged("a number of members that is wrong")
	}
	return out, err
}

// collect appends those entries in and below a node that have these ranks in there. Ranks may be
// beyond.
func (t *tree) collect(id uint64, from, to int, out *[]entry) error {
	nd, err := t.node(id)
	if err != nil {
		return err
	}
	if nd.leaf() {
		n := len(nd.entries)
		*out = append(*out, nd.entries[min(max(from, 0), n):min(max(to, 0), n)]...)
		return nil
	}
	type part struct {
		id    uint64
		begin int
	}
	var parts []part
	var ids []uint64
	begin := 0
	for _, c := range nd.children {
		if begin < to && begin+c.n > from {
			parts, ids = append(parts, part{c.id, begin}), append(ids, c.id)
		}
		begin += c.n
	}
	if err := t.ahead(ids...); err != nil {
		return err
	}
	for _, p := range parts {
		if err := t.collect(p.id, from-p.begin, to-p.begin, out); err != nil {
			return err
		}
	}
	return nil
}

// changed are the nodes to be written, and to be deleted, where they are nil.
func (t *tree) changed() []uint64 {
	var ids []uint64
	for _, id := range slices.Sorted(maps.Keys(t.nodes)) {
		if nd := t.nodes[id]; nd == nil || nd.dirty {
			ids = append(ids, id)
		}
	}
	return ids
}
