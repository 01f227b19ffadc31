package history

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// A relation is why one transaction must come before another.
type relation uint8

const (
	ww relation = iota // the later wrote over what the earlier wrote
	wr                 // the later read what the earlier wrote
	rw                 // the later wrote over what the earlier read
	rt                 // the later was invoked after the earlier had returned
)

func (r relation) String() string { return [...]string{"ww", "wr", "rw", "realtime"}[r] }

// An edge says that a transaction must come before another.
type edge struct {
	from, to int32
	key      int32
	cause    int32 // of an inferred edge, an index of solver.causes; else none
	relation relation
}

// A graph holds the transactions as nodes 0 to count-1, and barriers after them. A
// barrier stands between transactions that had returned at some instant and those
// invoked after it: real time costs three edges a transaction, not one a pair.
type graph struct {
	count  int // of transactions
	size   int // with barriers
	edges  []edge
	invoke []int32 // transactions that have a part, in the order of invocation

	heads []int32 // out[heads[n]:heads[n+1]] are the edges that leave n
	out   []int32
}

func newGraph(x *index) *graph {
	g := &graph{count: len(x.h), size: len(x.h)}
	var returned []int32
	for n, role := range x.roles {
		if role == bystander {
			continue
		}
		g.invoke = append(g.invoke, int32(n))
		if x.h[n].Status != Unknown {
			returned = append(returned, int32(n))
		}
	}
	slices.SortStableFunc(g.invoke, func(a, b int32) int {
		return cmp.Compare(x.h[a].Invoked, x.h[b].Invoked)
	})
	slices.SortStableFunc(returned, func(a, b int32) int {
		return cmp.Compare(x.h[a].Returned, x.h[b].Returned)
	})
	barrier := int32(none)
	for _, n := range g.invoke {
		done := 0
		for done < len(returned) && x.end(returned[done]) < x.h[n].Invoked {
			done++
		}
		if done > 0 {
			next := int32(g.size)
			g.size++
			if barrier != none {
				g.link(edge{from: barrier, to: next, key: none, relation: rt})
			}
			for _, r := range returned[:done] {
				g.link(edge{from: r, to: next, key: none, relation: rt})
			}
			returned, barrier = returned[done:], next
		}
		if barrier != none {
			g.link(edge{from: barrier, to: n, key: none, relation: rt})
		}
	}
	return g
}

// end is the instant from which on node n is in the past of what is invoked, never for
// unknown outcomes.
func (x *index) end(n int32) int64 {
	t := &x.h[n]
	if t.Status == Unknown || t.Returned > math.MaxInt64-x.o.ClockError {
		return math.MaxInt64
	}
	return t.Returned + x.o.ClockError
}

// link adds an edge that is not inferred.
func (g *graph) link(e edge) {
	e.cause = none
	if e.from != e.to {
		g.edges = append(g.edges, e)
	}
}

// index sorts the edges by the node that they leave.
func (g *graph) index() {
	g.heads = make([]int32, g.size+1)
	for i := range g.edges {
		g.heads[g.edges[i].from+1]++
	}
	for n := range g.size {
		g.heads[n+1] += g.heads[n]
	}
	g.out = make([]int32, len(g.edges))
	next := slices.Clone(g.heads)
	for i := range g.edges {
		from := g.edges[i].from
		g.out[next[from]] = int32(i)
		next[from]++
	}
}

// leaving are the edges that leave node n, as indexes of g.edges.
func (g *graph) leaving(n int32) []int32 { return g.out[g.heads[n]:g.heads[n+1]] }

// order lists the nodes so that every edge leads forward. rest are the nodes that
// cannot be placed, because they are on a cycle or behind one.
func (g *graph) order() (order, rest []int32) {
	waits := make([]int32, g.size)
	for i := range g.edges {
		waits[g.edges[i].to]++
	}
	order = make([]int32, 0, g.size)
	for n := range int32(g.size) {
		if waits[n] == 0 {
			order = append(order, n)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, e := range g.leaving(order[i]) {
			to := g.edges[e].to
			if waits[to]--; waits[to] == 0 {
				order = append(order, to)
			}
		}
	}
	if len(order) == g.size {
		return order, nil
	}
	for n := range int32(g.size) {
		if waits[n] > 0 {
			rest = append(rest, n)
		}
	}
	return order, rest
}

// reachMax bounds the memory of a reach: nodes times lanes. Transactions for which no
// lane is left over are compared in one direction only, so that less is inferred.
const reachMax = 1 << 25

// A reach tells quickly which transactions come before which. Transactions are laid in
// lanes, one after the other in real time, so that what comes before a transaction is
// a beginning of each lane, and what comes after it an end of each.
type reach struct {
	width     int     // lanes
	lane, pos []int32 // of each transaction; lane none = in no lane
	last      []int32 // [node*width+lane]: the last in the lane that comes before node, or is it
	first     []int32 // the first in the lane that comes after node, or is it
}

// newReach follows the edges of g, whose nodes are given in an order that they respect.
func newReach(x *index, g *graph, order []int32) *reach {
	r := &reach{lane: make([]int32, g.size), pos: make([]int32, g.size)}
	r.layOut(x, g, ends(x, g, order))
	cells := g.size * r.width
	r.last, r.first = make([]int32, cells), make([]int32, cells)
	for i := range r.last {
		r.last[i], r.first[i] = none, math.MaxInt32
	}
	for n, lane := range r.lane {
		if lane != none {
			r.last[n*r.width+int(lane)] = r.pos[n]
			r.first[n*r.width+int(lane)] = r.pos[n]
		}
	}
	for _, n := range order {
		row := r.row(r.last, n)
		for _, e := range g.leaving(n) {
			to := r.row(r.last, g.edges[e].to)
			for l, p := range row {
				to[l] = max(to[l], p)
			}
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		row := r.row(r.first, order[i])
		for _, e := range g.leaving(order[i]) {
			for l, p := range r.row(r.first, g.edges[e].to) {
				row[l] = min(row[l], p)
			}
		}
	}
	return r
}

func (r *reach) row(cells []int32, n int32) []int32 {
	at := int(n) * r.width
	return cells[at : at+r.width]
}

// ends gives for each transaction the instant from which on it is in the past: its
// return, or that of a transaction that comes after it. So a transaction of unknown
// outcome ends when somebody who saw it returns.
func ends(x *index, g *graph, order []int32) []int64 {
	end := make([]int64, g.size)
	for n := range end {
		end[n] = math.MaxInt64
		if n < g.count {
			end[n] = x.end(int32(n))
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		n := order[i]
		for _, e := range g.leaving(n) {
			if g.edges[e].relation != rt {
				end[n] = min(end[n], end[g.edges[e].to])
			}
		}
	}
	return end
}

// layOut gives each transaction the lane that has been free for longest.
func (r *reach) layOut(x *index, g *graph, end []int64) {
	for n := range r.lane {
		r.lane[n] = none
	}
	most := max(1, reachMax/max(1, g.size))
	if x.o.lanes > 0 {
		most = x.o.lanes
	}
	var free laneHeap
	var length []int32
	for _, n := range g.invoke {
		if x.roles[n] == dormant {
			continue // nothing follows from it
		}
		switch {
		case len(free) > 0 && free[0].end < x.h[n].Invoked:
			r.lane[n] = free[0].lane
			free[0].end = end[n]
			heap.Fix(&free, 0)
		case r.width < most:
			r.lane[n] = int32(r.width)
			r.width++
			length = append(length, 0)
			heap.Push(&free, laneEnd{end[n], r.lane[n]})
		default:
			continue
		}
		r.pos[n] = length[r.lane[n]]
		length[r.lane[n]]++
	}
}

// laneEnd is when the last transaction of a lane ends.
type laneEnd struct {
	end  int64
	lane int32
}

type laneHeap []laneEnd

func (h laneHeap) Len() int           { return len(h) }
func (h laneHeap) Less(i, j int) bool { return h[i].end < h[j].end }
func (h laneHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *laneHeap) Push(e any)        { *h = append(*h, e.(laneEnd)) }
func (h *laneHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}

// before reports whether transaction a is known to come before b. The initial state,
// none, comes before all.
func (r *reach) before(a, b int32) bool {
	switch {
	case a == b || b == none:
		return false
	case a == none:
		return true
	case r.lane[a] != none:
		return r.last[int(b)*r.width+int(r.lane[a])] >= r.pos[a]
	case r.lane[b] != none:
		return r.first[int(a)*r.width+int(r.lane[b])] <= r.pos[b]
	}
	return false
}

// past is the number of transactions in a lane that come before n.
func (r *reach) past(n, lane int32) int32 {
	if n == none {
		return 0
	}
	last := r.last[int(n)*r.width+int(lane)]
	if lane == r.lane[n] {
		last--
	}
	return last + 1
}

// future is the position of the first transaction in a lane that comes after n.
func (r *reach) future(n, lane int32) int32 {
	if n == none {
		return 0
	}
	first := r.first[int(n)*r.width+int(lane)]
	if lane == r.lane[n] {
		first++
	}
	return first
}
