package history

import (
	"slices"
	"sort"
)

const (
	// roundsMax bounds the rounds of inference. Histories need two to five.
	roundsMax = 64
	// heirsMax is how many transactions that wrote over one and the same write are
	// compared with its readers: two are an anomaly already.
	heirsMax = 8
)

// A rule is how an edge was inferred for a read R of write W, from another write X of
// the same key.
type rule uint8

const (
	// after: X comes after W, so R comes before X.
	after rule = iota
	// before: X comes before R, so X comes before W.
	before
	// uncovered: R read absence (or some value), X is a value (a delete), and no
	// delete (value) can come between X and R, so R comes before X.
	uncovered
	// covered: as above, X comes before R, and W alone can come between them.
	covered
)

// A cause says why an edge was inferred.
type cause struct {
	rule  rule
	key   int32
	read  read
	node  int32 // of W
	other int32 // of X
}

// solver finds the edges of a history.
type solver struct {
	x *index
	g *graph

	timed    int                // the first edges of g are of real time
	inferred []edge             // the last edges of g
	causes   []cause            // why
	known    map[[2]int32]int32 // pairs of nodes that have an inferred edge, and its key
	bare     []bareRead
	open     []int32 // keys whose writes are not ordered by what was read alone
	reach    *reach

	heirs [][]int32 // of each write of the key under consideration: who wrote over it
}

// A bareRead found some value in a key where none can have been.
type bareRead struct{ key, node int32 }

func newSolver(x *index) *solver {
	g := newGraph(x)
	return &solver{x: x, g: g, timed: len(g.edges), known: make(map[[2]int32]int32)}
}

// solve adds edges until nothing more follows. rest are the nodes on cycles or behind
// them; it is empty if there is a serial order.
func (s *solver) solve() (order, rest []int32) {
	s.relate()
	for round := 0; ; round++ {
		s.g.index()
		order, rest = s.g.order()
		if len(rest) > 0 || len(s.open) == 0 {
			return order, rest
		}
		s.reach = newReach(s.x, s.g, order)
		if round == roundsMax {
			return order, nil
		}
		had := len(s.inferred)
		s.bare = s.bare[:0]
		for _, ki := range s.open {
			s.infer(ki)
		}
		switch {
		case len(s.x.awake) > 0:
			s.x.observeAll()
			s.relate()
		case len(s.inferred) > had:
			s.g.edges = append(s.g.edges, s.inferred[had:]...)
		default:
			return order, nil
		}
	}
}

// relate makes the edges that follow from what was read, and keeps those inferred.
func (s *solver) relate() {
	s.g.edges = s.g.edges[:s.timed]
	s.open = s.open[:0]
	for ki := range s.x.keys {
		if !s.relateKey(int32(ki)) {
			s.open = append(s.open, int32(ki))
		}
	}
	s.g.edges = append(s.g.edges, s.inferred...)
}

// relateKey reports whether the edges of a key say all about it.
func (s *solver) relateKey(ki int32) bool {
	k := &s.x.keys[ki]
	ordered := s.inherit(k)
	for at, heirs := range s.heirs[:len(k.writes)] {
		from := k.writes[at].node
		if from == none {
			continue
		}
		for _, heir := range heirs {
			s.g.link(edge{from: from, to: heir, key: ki, relation: ww})
		}
	}
	for _, r := range k.reads {
		if r.of < 0 {
			ordered = false
			continue
		}
		if w := k.writes[r.of].node; w != none {
			s.g.link(edge{from: w, to: r.node, key: ki, relation: wr})
		}
		for _, heir := range s.heirs[r.of] {
			s.g.link(edge{from: r.node, to: heir, key: ki, relation: rw})
		}
	}
	return ordered
}

// inherit fills s.heirs for a key, and tells whether each write is known to have been
// over the one before.
func (s *solver) inherit(k *key) bool {
	for len(s.heirs) < len(k.writes) {
		s.heirs = append(s.heirs, nil)
	}
	writes, sole := 0, none
	for at := range k.writes {
		s.heirs[at] = s.heirs[at][:0]
		if n := k.writes[at].node; n != none && s.x.roles[n] == member {
			writes++
			sole = at
		}
	}
	if writes == 1 {
		s.heirs[0] = append(s.heirs[0], k.writes[sole].node)
		return true
	}
	for at := range k.writes {
		w := &k.writes[at]
		if w.node == none || w.prev == none || s.x.roles[w.node] != member {
			continue
		}
		if len(s.heirs[w.prev]) < heirsMax {
			s.heirs[w.prev] = append(s.heirs[w.prev], w.node)
		}
	}
	return s.chained(k) == writes
}

// chained counts the writes that follow each other from the initial absence on.
func (s *solver) chained(k *key) int {
	over := make([]int32, len(k.writes)) // who wrote over each
	for at := range k.writes {
		w := &k.writes[at]
		if w.node != none && w.prev != none && s.x.roles[w.node] == member {
			over[w.prev] = int32(at)
		}
	}
	n := 0
	for at := over[0]; at != 0; at = over[at] {
		n++
	}
	return n
}

// A spot is a write in a lane.
type spot struct{ lane, pos, node int32 }

// A lineup is the writes of a key, of one class or of all.
type lineup struct {
	lanes [][]spot // of each lane that has any, in the order of the lane
	loose []int32  // transactions without a lane
	maybe []doubt  // transactions that are dormant
}

// A doubt is a write of a dormant transaction, and whose write it would be over, none if
// that is not known.
type doubt struct{ node, over int32 }

func (s *solver) lineUp(ki int32, want func(*write) bool) lineup {
	k := &s.x.keys[ki]
	var l lineup
	spots := make([]spot, 0, len(k.writes))
	for i := range k.writes {
		w := &k.writes[i]
		switch n := w.node; {
		case n == none || !want(w):
		case s.x.roles[n] == dormant:
			if over, ok := s.x.basis(n, ki, w.absent); ok {
				l.maybe = append(l.maybe, doubt{n, over})
			}
		case s.x.roles[n] != member:
		case s.reach.lane[n] == none:
			l.loose = append(l.loose, n)
		default:
			spots = append(spots, spot{s.reach.lane[n], s.reach.pos[n], n})
		}
	}
	slices.SortFunc(spots, func(a, b spot) int {
		if a.lane != b.lane {
			return int(a.lane - b.lane)
		}
		return int(a.pos - b.pos)
	})
	for len(spots) > 0 {
		n := 1
		for n < len(spots) && spots[n].lane == spots[0].lane {
			n++
		}
		l.lanes = append(l.lanes, spots[:n])
		spots = spots[n:]
	}
	return l
}

// from is the index of the first spot of a lane at pos or later.
func from(lane []spot, pos int32) int {
	return sort.Search(len(lane), func(i int) bool { return lane[i].pos >= pos })
}

// infer adds what follows for one key from what is known to come before what.
func (s *solver) infer(ki int32) {
	k := &s.x.keys[ki]
	all := s.lineUp(ki, func(*write) bool { return true })
	var values, deletes lineup
	for _, r := range k.reads {
		if r.of >= 0 {
			s.inferValue(ki, r, all)
			continue
		}
		if values.lanes == nil && deletes.lanes == nil {
			values = s.lineUp(ki, func(w *write) bool { return !w.absent })
			deletes = s.lineUp(ki, func(w *write) bool { return w.absent })
		}
		if r.of == someAbsence {
			s.inferClass(ki, r, values, deletes)
		} else {
			s.inferSome(ki, r, values)
			s.inferClass(ki, r, deletes, values)
		}
	}
}

// inferValue applies the rules after and before. Of each lane only the last write
// before the read and the first after the write that was read need an edge.
func (s *solver) inferValue(ki int32, r read, all lineup) {
	w := s.x.keys[ki].writes[r.of].node
	c := cause{key: ki, read: r, node: w}
	for _, lane := range all.lanes {
		l := lane[0].lane
		if i := from(lane, s.reach.past(r.node, l)) - 1; i >= 0 {
			s.inferBefore(c, lane[i].node)
		}
		if i := from(lane, s.reach.future(w, l)); i < len(lane) {
			s.inferAfter(c, lane[i].node)
		}
	}
	for _, other := range all.loose {
		if s.reach.before(other, r.node) {
			s.inferBefore(c, other)
		}
		if s.reach.before(w, other) {
			s.inferAfter(c, other)
		}
	}
}

func (s *solver) inferBefore(c cause, other int32) {
	ki, ok := s.known[[2]int32{c.node, other}]
	if (ok && ki == c.key) || s.reach.before(c.node, other) {
		s.inferAfter(c, other) // a contradiction: it reads better as a stale read
		return
	}
	if other != c.node && !s.reach.before(other, c.node) {
		c.rule, c.other = before, other
		s.add(edge{from: other, to: c.node, key: c.key, relation: ww}, c)
	}
}

func (s *solver) inferAfter(c cause, other int32) {
	if other != c.node && other != c.read.node && !s.reach.before(c.read.node, other) {
		c.rule, c.other = after, other
		s.add(edge{from: c.read.node, to: other, key: c.key, relation: rw}, c)
	}
}

// inferSome deals with the initial absence as inferClass does with deletes.
func (s *solver) inferSome(ki int32, r read, values lineup) {
	switch n, w := s.covers(values, none, r.node); n {
	case 0:
		s.bare = append(s.bare, bareRead{ki, r.node})
	case 1:
		s.cover(cause{rule: covered, key: ki, read: r, node: w, other: none})
	}
}

// inferClass applies the rules uncovered and covered: r read the class of same, and
// other are the writes of the opposite class.
func (s *solver) inferClass(ki int32, r read, other, same lineup) {
	c := cause{key: ki, read: r}
	for _, lane := range other.lanes {
		// What holds for the last write before the read holds for earlier ones.
		i := max(0, from(lane, s.reach.past(r.node, lane[0].lane))-1)
		for ; i < len(lane) && !s.reach.before(r.node, lane[i].node); i++ {
			c.other = lane[i].node
			if s.inferOther(c, same) {
				break // later ones come after it
			}
		}
	}
	for _, n := range other.loose {
		if !s.reach.before(r.node, n) {
			c.other = n
			s.inferOther(c, same)
		}
	}
}

// inferOther reports whether it has put the read of c before the write of c.other.
func (s *solver) inferOther(c cause, same lineup) bool {
	if c.other == c.read.node {
		return false
	}
	n, w := s.covers(same, c.other, c.read.node)
	switch {
	case n == 0:
		c.rule, c.node = uncovered, none
		s.add(edge{from: c.read.node, to: c.other, key: c.key, relation: rw}, c)
		return true
	case n == 1 && s.reach.before(c.other, c.read.node):
		c.rule, c.node = covered, w
		s.cover(c)
	}
	return false
}

// cover puts the write of c.node between that of c.other and the read.
func (s *solver) cover(c cause) {
	s.x.wake(c.node)
	if c.other != none && !s.reach.before(c.other, c.node) {
		s.add(edge{from: c.other, to: c.node, key: c.key, relation: ww}, c)
	}
	if !s.reach.before(c.node, c.read.node) {
		s.add(edge{from: c.node, to: c.read.node, key: c.key, relation: wr}, c)
	}
}

// covers counts the writes that may come between those of nodes a and r, up to two,
// and names one.
func (s *solver) covers(same lineup, a, r int32) (count int, node int32) {
	for _, lane := range same.lanes {
		l := lane[0].lane
		end := from(lane, s.reach.row(s.reach.first, r)[l])
		for i := from(lane, s.reach.past(a, l)); i < end && count < 2; i++ {
			if lane[i].node != r && lane[i].node != a {
				count, node = count+1, lane[i].node
			}
		}
	}
	for _, n := range same.loose {
		if n != r && count < 2 && !s.reach.before(n, a) && !s.reach.before(r, n) {
			count, node = count+1, n
		}
	}
	for _, d := range same.maybe {
		if count == 2 {
			break
		}
		// It comes right after d.over.
		past := d.over != none && (s.reach.before(d.over, a) || s.reach.before(r, d.over))
		if d.node != r && !past && !s.reach.before(r, d.node) {
			count, node = count+1, d.node
		}
	}
	return count, node
}

// add adds an inferred edge, once.
func (s *solver) add(e edge, c cause) {
	pair := [2]int32{e.from, e.to}
	if _, ok := s.known[pair]; ok {
		return
	}
	s.known[pair] = e.key
	e.cause = int32(len(s.causes))
	s.causes = append(s.causes, c)
	s.inferred = append(s.inferred, e)
}

// undetermined counts the keys for which the history allows several orders, as far as
// a serial order given shows.
func (s *solver) undetermined(order []int32) int {
	place := make([]int32, s.g.size)
	for i, n := range order {
		place[n] = int32(i)
	}
	count := 0
	for _, ki := range s.open {
		if !s.determined(&s.x.keys[ki], place) {
			count++
		}
	}
	return count
}

// determined reports whether each write and each read of a key has one place only.
func (s *solver) determined(k *key, place []int32) bool {
	var writes []*write
	for i := range k.writes {
		if n := k.writes[i].node; n == none || s.x.roles[n] == member {
			writes = append(writes, &k.writes[i])
		}
	}
	slices.SortFunc(writes[1:], func(a, b *write) int {
		return int(place[a.node] - place[b.node])
	})
	for i := 1; i < len(writes); i++ {
		if !s.reach.before(writes[i-1].node, writes[i].node) {
			return false
		}
	}
	for _, r := range k.reads {
		// The read comes after last, and before the write that follows.
		next := 1 + sort.Search(len(writes)-1, func(i int) bool {
			return !s.reach.before(writes[i+1].node, r.node)
		})
		last := writes[next-1]
		if r.of < 0 && last.absent != (r.of == someAbsence) {
			return false
		}
		own := next < len(writes) && writes[next].node == r.node
		if next < len(writes) && !own && !s.reach.before(r.node, writes[next].node) {
			return false
		}
	}
	return true
}
