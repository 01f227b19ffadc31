package history

import (
	"math"
	"slices"
)

// searchMax bounds the edges that one search for the shortest cycle looks at. Beyond
// it the best cycle so far is reported.
const searchMax = 20_000_000

// A scope is the edges that a search may take.
type scope func(i int32, e *edge) bool

// frame is a node whose edges Tarjan's algorithm is following.
type frame struct {
	node int32
	next int // of the edges that leave it
}

// components finds the strongly connected components of two nodes or more among nodes,
// by Tarjan's algorithm, in the order in which their first transactions were recorded.
func (g *graph) components(nodes []int32, in scope) [][]int32 {
	t := tarjan{g: g, in: in, inside: make([]bool, g.size), low: make([]int32, g.size),
		number: make([]int32, g.size)}
	for _, n := range nodes {
		t.inside[n] = true
	}
	for _, n := range nodes {
		if t.number[n] == 0 {
			t.visit(n)
		}
	}
	slices.SortFunc(t.found, func(a, b []int32) int { return int(a[0] - b[0]) })
	return t.found
}

type tarjan struct {
	g       *graph
	in      scope
	inside  []bool
	number  []int32 // in the order of visits, from 1; 0 = not visited
	low     []int32
	visited int32
	stack   []int32
	found   [][]int32
}

const closed = math.MaxInt32 // the low of nodes whose component is complete

func (t *tarjan) visit(root int32) {
	frames := []frame{t.enter(root)}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		leaving := t.g.leaving(f.node)
		if f.next < len(leaving) {
			i := leaving[f.next]
			e := &t.g.edges[i]
			f.next++
			switch {
			case !t.inside[e.to] || !t.in(i, e):
			case t.number[e.to] == 0:
				frames = append(frames, t.enter(e.to))
			case t.low[e.to] != closed:
				t.low[f.node] = min(t.low[f.node], t.number[e.to])
			}
			continue
		}
		n := f.node
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			above := frames[len(frames)-1].node
			t.low[above] = min(t.low[above], t.low[n])
		}
		if t.low[n] == t.number[n] {
			t.leave(n)
		}
	}
}

func (t *tarjan) enter(n int32) frame {
	t.visited++
	t.number[n], t.low[n] = t.visited, t.visited
	t.stack = append(t.stack, n)
	return frame{node: n}
}

// leave closes the component that begins at n on the stack.
func (t *tarjan) leave(n int32) {
	from := len(t.stack) - 1
	for t.stack[from] != n {
		from--
	}
	nodes := slices.Clone(t.stack[from:])
	t.stack = t.stack[:from]
	for _, m := range nodes {
		t.low[m] = closed
	}
	if len(nodes) > 1 {
		slices.Sort(nodes)
		t.found = append(t.found, nodes)
	}
}

// A finder looks for short paths. Its marks serve many searches.
type finder struct {
	g      *graph
	mark   []int32 // the search that reached a node last
	via    []int32 // the edge that it came by
	search int32
	looked int // at edges, in all searches
}

func newFinder(g *graph) *finder {
	return &finder{g: g, mark: make([]int32, g.size), via: make([]int32, g.size)}
}

// path finds a path of few transactions from one node to another, or back to the same
// one, as indexes of edges; nil if there is none. Barriers cost nothing.
func (f *finder) path(from, to int32, in scope) []int32 {
	f.search++
	near, far := []int32{from}, []int32(nil)
	for len(near) > 0 {
		for i := 0; i < len(near); i++ {
			for _, at := range f.g.leaving(near[i]) {
				f.looked++
				e := &f.g.edges[at]
				if (f.mark[e.to] == f.search && e.to != to) || !in(at, e) {
					continue
				}
				f.mark[e.to], f.via[e.to] = f.search, at
				switch {
				case e.to == to:
					return f.back(from, to)
				case int(e.to) >= f.g.count:
					near = append(near, e.to)
				default:
					far = append(far, e.to)
				}
			}
		}
		near, far = far, near[:0]
	}
	return nil
}

func (f *finder) back(from, to int32) []int32 {
	var path []int32
	for n := to; len(path) == 0 || n != from; n = f.g.edges[f.via[n]].from {
		path = append(path, f.via[n])
	}
	slices.Reverse(path)
	return path
}

// cycles reports one anomaly for each set of transactions that are entangled.
func (s *solver) cycles(rest []int32) []Anomaly {
	whole := func(int32, *edge) bool { return true }
	var found []Anomaly
	f := newFinder(s.g)
	for _, nodes := range s.g.components(rest, whole) {
		if len(found) == s.x.o.limit() {
			break
		}
		found = append(found, s.describe(f, s.gravest(f, nodes)))
	}
	return found
}

// gravest finds a short cycle of the gravest kind within a component. Cycles that do not
// need real time come first: they are the easiest to understand.
func (s *solver) gravest(f *finder, nodes []int32) []int32 {
	if c := s.lostUpdate(f, nodes); c != nil {
		return c
	}
	for _, stage := range []scope{
		func(_ int32, e *edge) bool { return e.relation != rt },
		func(int32, *edge) bool { return true },
	} {
		parts := s.g.components(nodes, stage)
		if len(parts) == 0 {
			continue
		}
		for _, in := range []scope{
			func(i int32, e *edge) bool {
				return stage(i, e) && (e.relation == ww || e.relation == rt)
			},
			func(i int32, e *edge) bool { return stage(i, e) && e.relation != rw },
		} {
			if parts := s.g.components(nodes, in); len(parts) > 0 {
				return s.shortest(f, parts[0], in)
			}
		}
		if c := s.single(f, parts[0], stage); c != nil {
			return c
		}
		return s.shortest(f, parts[0], stage)
	}
	return nil
}

// within confines a scope to some nodes.
func (s *solver) within(nodes []int32, in scope) scope {
	inside := make([]bool, s.g.size)
	for _, n := range nodes {
		inside[n] = true
	}
	return func(i int32, e *edge) bool { return inside[e.to] && in(i, e) }
}

// shortest finds a short cycle in a component.
func (s *solver) shortest(f *finder, nodes []int32, in scope) []int32 {
	in = s.within(nodes, in)
	var best []int32
	size := math.MaxInt
	f.looked = 0
	for _, n := range nodes {
		if int(n) >= s.g.count || size == 2 || (best != nil && f.looked > searchMax) {
			break
		}
		c := f.path(n, n, in)
		if n := s.transactions(c); c != nil && n < size {
			best, size = c, n
		}
	}
	return best
}

// transactions counts the transactions of a cycle.
func (s *solver) transactions(cycle []int32) int {
	count := 0
	for _, i := range cycle {
		if int(s.g.edges[i].from) < s.g.count {
			count++
		}
	}
	return count
}

// single finds a short cycle with one read-write edge.
func (s *solver) single(f *finder, nodes []int32, in scope) []int32 {
	in = s.within(nodes, in)
	others := func(i int32, e *edge) bool { return e.relation != rw && in(i, e) }
	var best []int32
	size := math.MaxInt
	f.looked = 0
	for _, n := range nodes {
		for _, i := range s.g.leaving(n) {
			e := &s.g.edges[i]
			if e.relation != rw || !in(i, e) || size == 2 || f.looked > searchMax {
				continue
			}
			c := f.path(e.to, e.from, others)
			if c == nil {
				continue
			}
			c = append([]int32{i}, c...)
			if n := s.transactions(c); n < size {
				best, size = c, n
			}
		}
	}
	return best
}

// lostUpdate finds two transactions that read the same of a key and wrote over it.
func (s *solver) lostUpdate(f *finder, nodes []int32) []int32 {
	in := s.within(nodes, func(int32, *edge) bool { return true })
	for _, n := range nodes {
		for _, i := range s.g.leaving(n) {
			e := &s.g.edges[i]
			if e.relation != rw || !in(i, e) || !s.x.sameRead(e.key, e.from, e.to) ||
				!s.x.wrote(e.key, e.from) {
				continue
			}
			back := f.path(e.to, e.from, in)
			if s.transactions(back) == 1 {
				return append([]int32{i}, back...)
			}
		}
	}
	return nil
}

// wrote reports whether node n wrote a key.
func (x *index) wrote(ki, n int32) bool {
	return slices.ContainsFunc(x.keys[ki].writes, func(w write) bool { return w.node == n })
}

// sameRead reports whether two transactions read the same of a key.
func (x *index) sameRead(ki, a, b int32) bool {
	of := map[int32]bool{}
	for _, r := range x.keys[ki].reads {
		if r.node == a {
			of[r.of] = true
		}
	}
	return slices.ContainsFunc(x.keys[ki].reads, func(r read) bool {
		return r.node == b && of[r.of]
	})
}
