package history

import (
	"fmt"
	"slices"
	"strings"
)

// describe names a cycle and puts it into words.
func (s *solver) describe(f *finder, cycle []int32) Anomaly {
	cycle = s.turn(cycle)
	keys := map[string]bool{}
	var nodes []int32
	var steps strings.Builder
	for at, i := range cycle {
		e := &s.g.edges[i]
		if int(e.from) >= s.g.count {
			continue // a barrier: told with the edge that leads to it
		}
		nodes = append(nodes, e.from)
		if e.key != none {
			keys[s.x.keys[e.key].name] = true
		}
		to := s.after(cycle, at)
		fmt.Fprintf(&steps, "\n  %s -> %s: %s", s.x.id(e.from), s.x.id(to), s.reason(e, to))
		if e.cause != none {
			steps.WriteString(s.because(f, i, keys))
		}
	}
	a := Anomaly{Name: s.name(f, cycle)}
	text := fmt.Sprintf("each of %d transactions must come before the next, in a circle",
		len(nodes))
	for _, n := range nodes {
		a.IDs = append(a.IDs, s.x.id(n))
		text += "\n  " + s.x.transaction(n, keys)
	}
	a.Text = text + steps.String()
	return a
}

// reportBare reports reads of some value where none can have been. There is no cycle:
// nobody can have written it.
func (s *solver) reportBare() {
	for _, b := range s.bare {
		s.x.report(GarbageRead, []int32{b.node}, "%s found a value of %s, and nobody can "+
			"have written one before", s.x.id(b.node), quote(s.x.keys[b.key].name))
	}
}

// turn lets a cycle begin with the transaction that was recorded first.
func (s *solver) turn(cycle []int32) []int32 {
	first := 0
	for at, i := range cycle {
		if s.g.edges[i].from < s.g.edges[cycle[first]].from {
			first = at
		}
	}
	return slices.Concat(cycle[first:], cycle[:first])
}

// after is the transaction to which an edge of a path leads, over barriers.
func (s *solver) after(path []int32, at int) int32 {
	for int(s.g.edges[path[at]].to) >= s.g.count {
		at = (at + 1) % len(path)
	}
	return s.g.edges[path[at]].to
}

func (s *solver) name(f *finder, cycle []int32) Name {
	var count [rt + 1]int
	timed := false
	for _, i := range cycle {
		count[s.g.edges[i].relation]++
		timed = timed || s.timely(f, i)
	}
	if ki := s.lost(cycle); ki != none {
		return s.lostName(ki, cycle)
	}
	name := G2
	switch {
	case count[rw] == 1:
		name = GSingle
	case count[rw] == 0 && count[wr] > 0:
		name = G1c
	case count[rw] == 0:
		name = G0
	}
	if timed {
		name += realtime
	}
	return name
}

// lostName names a lost update.
func (s *solver) lostName(ki int32, cycle []int32) Name {
	for _, i := range cycle {
		if n := s.g.edges[i].from; int(n) < s.g.count && !s.x.inserted(ki, n) {
			return LostUpdate
		}
	}
	return DuplicateInsert
}

// lost is the key in which a cycle is a lost update, none if it is not one.
func (s *solver) lost(cycle []int32) int32 {
	if s.transactions(cycle) != 2 {
		return none
	}
	for at, i := range cycle {
		e := &s.g.edges[i]
		if e.relation == rw && s.x.wrote(e.key, e.from) &&
			s.x.sameRead(e.key, e.from, s.after(cycle, at)) {
			return e.key
		}
	}
	return none
}

// inserted reports whether node n wrote a key by an insert.
func (x *index) inserted(ki, n int32) bool {
	return slices.ContainsFunc(x.h[n].Ops, func(op Op) bool {
		return op.Kind == KindInsert && op.Key == x.keys[ki].name
	})
}

// timely reports whether an edge follows from real time.
func (s *solver) timely(f *finder, i int32) bool {
	e := &s.g.edges[i]
	if e.relation == rt || e.cause == none {
		return e.relation == rt
	}
	for _, p := range s.premises(i) {
		if s.prove(f, p, i, true) != nil {
			continue // without real time
		}
		for _, j := range s.prove(f, p, i, false) {
			if s.timely(f, j) {
				return true
			}
		}
	}
	return false
}

// A premise is that one transaction comes before another, or that either of two does:
// a write that cannot come between two transactions comes before both or after both.
type premise struct{ a, b, c, d int32 }

// premises are what an inferred edge follows from.
func (s *solver) premises(i int32) []premise {
	c := s.causes[s.g.edges[i].cause]
	r := c.read.node
	switch c.rule {
	case after:
		return []premise{{c.node, c.other, none, none}}
	case before:
		return []premise{{c.other, r, none, none}}
	}
	var all []premise
	if c.rule == covered {
		all = append(all, premise{c.other, r, none, none})
	}
	for at := range s.x.keys[c.key].writes {
		w := &s.x.keys[c.key].writes[at]
		if w.node == none || w.node == r || w.node == c.node || w.node == c.other {
			continue
		}
		if s.x.roles[w.node] >= dormant && w.absent == (c.read.of == someAbsence) {
			all = append(all, premise{w.node, c.other, r, w.node})
		}
	}
	return all
}

// prove finds a path for a premise of edge i, of edges known before it. plain leaves
// out real time and inferred edges. The initial state needs no proof.
func (s *solver) prove(f *finder, p premise, i int32, plain bool) []int32 {
	in := func(j int32, e *edge) bool {
		return j < i && !(plain && (e.relation == rt || e.cause != none))
	}
	var path []int32
	if p.a != none && p.b != none {
		path = f.path(p.a, p.b, in)
	}
	if path == nil && p.c != none && p.d != none {
		path = f.path(p.c, p.d, in)
	}
	return path
}

// reason says why e.from comes before transaction to.
func (s *solver) reason(e *edge, to int32) string {
	a, b := s.x.id(e.from), s.x.id(to)
	switch e.relation {
	case rt:
		return fmt.Sprintf("%s had returned before %s was invoked (realtime)", a, b)
	case wr:
		return fmt.Sprintf("%s read %s, of %s (wr)", b, s.left(e.key, e.from), a)
	case ww:
		over := " over "
		if e.cause != none {
			over = " after "
		}
		return fmt.Sprintf("%s wrote %s%s%s (ww)", b, s.left(e.key, to), over,
			s.left(e.key, e.from))
	}
	return fmt.Sprintf("%s read %s, then %s wrote %s (rw)", a, s.overwritten(e), b,
		s.left(e.key, to))
}

// left is what node n left in a key, as "x=1".
func (s *solver) left(ki, n int32) string {
	k := &s.x.keys[ki]
	at := slices.IndexFunc(k.writes, func(w write) bool { return w.node == n })
	return k.show(int32(at))
}

func (k *key) show(at int32) string {
	switch {
	case at == someValue:
		return "some " + quote(k.name)
	case at < 0 || k.writes[at].absent:
		return quote(k.name) + "=-"
	}
	return quote(k.name) + "=" + quote(k.writes[at].value)
}

// overwritten is what a read-write edge says was read.
func (s *solver) overwritten(e *edge) string {
	k := &s.x.keys[e.key]
	if e.cause != none {
		return k.show(s.causes[e.cause].read.of)
	}
	for at := range k.writes {
		if w := &k.writes[at]; w.node == e.to {
			return k.show(max(w.prev, 0))
		}
	}
	return k.name
}

// because says what an inferred edge follows from, and adds its key to keys.
func (s *solver) because(f *finder, i int32, keys map[string]bool) string {
	c := s.causes[s.g.edges[i].cause]
	k := &s.x.keys[c.key]
	keys[k.name] = true
	switch r := s.x.id(c.read.node); c.rule {
	case after, before:
		var why []string
		if c.rule == before {
			why = append(why, r+" read "+k.show(c.read.of))
		} else if c.node != none {
			why = append(why, s.x.id(c.node)+" wrote "+k.show(c.read.of))
		}
		if path := s.prove(f, s.premises(i)[0], i, false); path != nil {
			why = append(why, s.way(path))
		}
		if why == nil {
			return ""
		}
		return "\n    because " + strings.Join(why, ", and ")
	default:
		between := "a delete"
		if c.read.of == someValue {
			between = "a value"
		}
		only := "none"
		if c.node != none {
			only = "only that of " + s.x.id(c.node)
		}
		since := "the beginning"
		if c.other != none {
			since = s.x.id(c.other)
		}
		return fmt.Sprintf("\n    because %s read %s, which needs %s since %s, and %s fits",
			r, k.show(c.read.of), between, since, only)
	}
}

// way shows a path as "a -ww(x)-> b -realtime-> c".
func (s *solver) way(path []int32) string {
	var b strings.Builder
	for at, i := range path {
		e := &s.g.edges[i]
		if int(e.from) >= s.g.count {
			continue
		}
		if at == 0 {
			b.WriteString(s.x.id(e.from))
		}
		b.WriteString(" -" + e.relation.String())
		if e.key != none {
			b.WriteString("(" + quote(s.x.keys[e.key].name) + ")")
		}
		b.WriteString("-> " + s.x.id(s.after(path, at)))
	}
	return b.String()
}

// transaction shows node n with its operations on some keys, nil = all.
func (x *index) transaction(n int32, keys map[string]bool) string {
	t := &x.h[n]
	var b strings.Builder
	fmt.Fprintf(&b, "%s", t.ID)
	if t.Client != "" {
		fmt.Fprintf(&b, " by %s", t.Client)
	}
	if t.Status == Unknown {
		fmt.Fprintf(&b, " [%d, ?] unknown:", t.Invoked)
	} else {
		fmt.Fprintf(&b, " [%d, %d] %s:", t.Invoked, t.Returned, t.Status)
	}
	const most = 16
	shown, skipped := 0, false
	for _, op := range t.Ops {
		if shown == most || (keys != nil && !op.touches(keys)) {
			skipped = true
			continue
		}
		shown++
		b.WriteString(" " + op.String())
	}
	if skipped {
		b.WriteString(" ...")
	}
	return b.String()
}

// touches reports whether op has to do with one of keys.
func (op *Op) touches(keys map[string]bool) bool {
	if op.Kind != KindScan {
		return keys[op.Key]
	}
	for name := range keys { // any order: the answer is the same
		if name >= op.Scan.From && (op.Scan.To == "" || name < op.Scan.To) {
			return true
		}
	}
	return false
}
