package history

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// A write is what a transaction leaves in a key: its last write or delete there.
type write struct {
	node   int32 // the transaction; none for the initial absence
	prev   int32 // the write it wrote over, as an index of key.writes; none = not known
	absent bool  // a delete, or the initial absence
	value  string
}

// A read is an external one: not of the transaction's own writes.
type read struct {
	node int32
	of   int32 // an index of key.writes, someAbsence or someValue
}

const (
	none        = -1
	someAbsence = -1 // one of the deletes, or the initial absence
	someValue   = -2 // one of the values
)

// A key is what the history says about one key. Only keys that are written have one.
type key struct {
	name    string
	writes  []write // the first is the initial absence
	reads   []read
	deletes bool // a delete may have taken effect

	seen read  // the first external read of the transaction being observed
	own  write // the last own write of the transaction being observed
}

// A role is the part that a transaction plays.
type role uint8

const (
	bystander role = iota // failed: neither its reads nor its writes count
	reader                // failed and validated: its reads count
	dormant               // unknown, and nobody has seen its writes
	member                // committed: by its status, or because it was seen
)

// place names a value in a key.
type place struct {
	key   int32
	value string
}

// index is a history prepared for judgement: transactions are numbered (nodes), each
// key has its writes and its reads.
type index struct {
	h     []Transaction
	o     Options
	roles []role
	keys  []key

	byName    map[string]int32
	byValue   map[place]int32 // an index of key.writes, also for values overwritten later
	byElement map[place]int32
	sorted    []int32 // keys in the order of their names, made for the first scan
	written   []place // of all nodes in turn: value is not set
	writtenAt []int32 // where in written those of a node begin, and in writesAt
	writesAt  []int32 // the index of key.writes that belongs to each of written
	awake     []int32 // members and readers that were not yet observed
	found     []Anomaly
}

func newIndex(h []Transaction, o Options) (*index, error) {
	x := &index{
		h: h, o: o,
		roles:     make([]role, len(h)),
		byName:    make(map[string]int32),
		byValue:   make(map[place]int32, len(h)),
		byElement: make(map[place]int32),
		writtenAt: make([]int32, 1, len(h)+1),
	}
	ids := make(map[string]struct{}, len(h))
	for n := range h {
		t := &h[n]
		if _, ok := ids[t.ID]; ok {
			return nil, fmt.Errorf("transaction %q: recorded twice: %w", t.ID, ErrMalformed)
		}
		ids[t.ID] = struct{}{}
		if err := x.add(int32(n)); err != nil {
			return nil, fmt.Errorf("transaction %q: %w", t.ID, err)
		}
	}
	for n, r := range x.roles {
		if r == reader || r == member {
			x.awake = append(x.awake, int32(n))
		}
	}
	return x, nil
}

// add takes in the writes of node n.
func (x *index) add(n int32) error {
	t := &x.h[n]
	switch t.Status {
	case Committed:
		x.roles[n] = member
	case Unknown:
		x.roles[n] = dormant
	case Failed:
		if t.Validated {
			x.roles[n] = reader
		}
	default:
		return fmt.Errorf("status %q: %w", t.Status, ErrMalformed)
	}
	if t.Status != Unknown && t.Returned < t.Invoked {
		return fmt.Errorf("returned before it was invoked: %w", ErrMalformed)
	}
	for i := range t.Ops {
		if err := x.addOp(n, &t.Ops[i]); err != nil {
			return fmt.Errorf("operation %d, %v: %w", i, t.Ops[i], err)
		}
	}
	x.writtenAt = append(x.writtenAt, int32(len(x.written)))
	return nil
}

func (x *index) addOp(n int32, op *Op) error {
	switch op.Kind {
	case KindRead, KindExists:
		return nil
	case KindScan:
		if op.Scan == nil {
			return fmt.Errorf("nothing scanned: %w", ErrMalformed)
		}
		return nil
	case KindWrite, KindInsert, KindDelete:
	default:
		return fmt.Errorf("kind %q: %w", op.Kind, ErrMalformed)
	}
	ki, ok := x.byName[op.Key]
	if !ok {
		ki = int32(len(x.keys))
		x.byName[op.Key] = ki
		x.keys = append(x.keys, key{
			name:   op.Key,
			writes: []write{{node: none, prev: none, absent: true}},
			seen:   read{node: none},
			own:    write{node: none},
		})
	}
	k := &x.keys[ki]
	if last := len(k.writes) - 1; k.writes[last].node != n {
		k.writes = append(k.writes, write{node: n, prev: none})
		x.written = append(x.written, place{key: ki})
		x.writesAt = append(x.writesAt, int32(last+1))
	}
	at := int32(len(k.writes) - 1)
	k.writes[at].value, k.writes[at].absent = op.Value, op.Kind == KindDelete
	if op.Kind == KindDelete {
		k.deletes = k.deletes || x.roles[n] >= dormant
		return nil
	}
	return x.addValue(ki, at, op.Value)
}

// addValue notes that value, and its own element, belong to a write.
func (x *index) addValue(ki, at int32, value string) error {
	p := place{ki, value}
	if w, ok := x.byValue[p]; ok {
		other := x.h[x.keys[ki].writes[w].node].ID
		return fmt.Errorf("%q has written the same value: %w", other, ErrMalformed)
	}
	x.byValue[p] = at
	if x.o.Elements == nil {
		return nil
	}
	elements := x.o.Elements(value)
	if len(elements) == 0 {
		return nil
	}
	p.value = elements[len(elements)-1]
	if w, ok := x.byElement[p]; ok {
		other := x.h[x.keys[ki].writes[w].node].ID
		return fmt.Errorf("%q has written the same element: %w", other, ErrMalformed)
	}
	x.byElement[p] = at
	return nil
}

// wake makes a transaction of unknown outcome a member: somebody has seen its writes.
func (x *index) wake(n int32) {
	if x.roles[n] == dormant {
		x.roles[n] = member
		x.awake = append(x.awake, n)
	}
}

// observeAll judges the reads of all who are awake, and of those they wake, and sorts
// them by key.
func (x *index) observeAll() {
	for len(x.awake) > 0 {
		n := x.awake[0]
		x.awake = x.awake[1:]
		for i := range x.h[n].Ops {
			x.observe(n, &x.h[n].Ops[i])
		}
		if x.roles[n] == member {
			x.follow(n)
		}
	}
}

func (x *index) observe(n int32, op *Op) {
	switch op.Kind {
	case KindRead:
		if op.Absent {
			x.see(n, op.Key, sight{absent: true})
		} else {
			x.see(n, op.Key, sight{value: op.Value})
		}
	case KindExists:
		x.see(n, op.Key, sight{some: true})
	case KindScan:
		x.scan(n, op.Scan)
	case KindInsert:
		x.see(n, op.Key, sight{absent: true})
		fallthrough
	case KindWrite, KindDelete:
		k := &x.keys[x.byName[op.Key]]
		k.own = write{node: n, absent: op.Kind == KindDelete, value: op.Value}
	}
}

// A sight is what was read: a value, some value or absence.
type sight struct {
	value        string
	some, absent bool
}

func (s sight) String() string {
	switch {
	case s.some:
		return "a value"
	case s.absent:
		return "no value"
	}
	return quote(s.value)
}

// see judges what node n read of a key.
func (x *index) see(n int32, name string, s sight) {
	ki, ok := x.byName[name]
	if !ok {
		if !s.absent {
			x.report(GarbageRead, []int32{n}, "%s read %s=%v, and nobody has written %s",
				x.id(n), quote(name), s, quote(name))
		}
		return
	}
	k := &x.keys[ki]
	if k.own.node == n {
		if k.own.absent != s.absent || (!s.absent && !s.some && k.own.value != s.value) {
			own := sight{value: k.own.value, absent: k.own.absent}
			x.report(Internal, []int32{n}, "%s read %s=%v after its own write of %v",
				x.id(n), quote(name), s, own)
		}
		return
	}
	r := read{node: n, of: someValue}
	switch {
	case s.absent && k.deletes:
		r.of = someAbsence
	case s.absent:
		r.of = 0
	case !s.some:
		if r.of, ok = x.origin(n, ki, s.value); !ok {
			return
		}
	}
	switch {
	case k.seen.node != n:
		k.seen = r
	case k.seen == r:
		return // again
	}
	k.reads = append(k.reads, r)
}

// origin is the write that node n read, if n may have read it.
func (x *index) origin(n, ki int32, value string) (int32, bool) {
	at, ok := x.byValue[place{ki, value}]
	k := &x.keys[ki]
	what := quote(k.name) + "=" + quote(value)
	if !ok {
		x.report(GarbageRead, []int32{n}, "%s read %s, which nobody has written",
			x.id(n), what)
		return 0, false
	}
	w := &k.writes[at]
	switch {
	case w.node == n:
		x.report(Internal, []int32{n}, "%s read %s before it wrote that itself", x.id(n), what)
		return 0, false
	case x.h[w.node].Status == Failed:
		x.report(G1a, []int32{w.node, n}, "%s read %s, which %s wrote, and that failed",
			x.id(n), what, x.id(w.node))
		return 0, false
	case w.absent || w.value != value:
		x.report(G1b, []int32{w.node, n}, "%s read %s, which %s wrote over itself",
			x.id(n), what, x.id(w.node))
		return 0, false
	}
	x.wake(w.node)
	return at, true
}

// scan turns a scan into reads.
func (x *index) scan(n int32, s *Scan) {
	ordered := slices.IsSortedFunc(s.Items, func(a, b Item) int {
		c := strings.Compare(a.Key, b.Key)
		if s.Reverse {
			c = -c
		}
		if c == 0 {
			return -1 // a key twice: out of order in both directions
		}
		return c
	})
	found := make(map[string]bool, len(s.Items))
	for _, item := range s.Items {
		ordered = ordered && s.From <= item.Key && (s.To == "" || item.Key < s.To)
		found[item.Key] = true
		x.see(n, item.Key, sight{value: item.Value, some: s.KeysOnly})
	}
	if !ordered || (s.Limit > 0 && len(s.Items) > s.Limit) {
		x.report(Internal, []int32{n}, "%s got items out of order, out of range or beyond "+
			"the limit: %v", x.id(n), s)
	}
	from, to := s.covered()
	names := x.names()
	at := sort.Search(len(names), func(i int) bool { return x.keys[names[i]].name >= from })
	for _, ki := range names[at:] {
		name := x.keys[ki].name
		if to != "" && name >= to {
			return
		}
		if !found[name] {
			x.see(n, name, sight{absent: true})
		}
	}
}

// names are the keys in the order of their names.
func (x *index) names() []int32 {
	if x.sorted == nil {
		for ki := range x.keys {
			x.sorted = append(x.sorted, int32(ki))
		}
		slices.SortFunc(x.sorted, func(a, b int32) int {
			return strings.Compare(x.keys[a].name, x.keys[b].name)
		})
	}
	return x.sorted
}

// follow finds, for each write of member n, the write that it wrote over: the one that
// n had read, and the one before in the value itself, which n must have read as well.
func (x *index) follow(n int32) {
	for i := x.writtenAt[n]; i < x.writtenAt[n+1]; i++ {
		ki := x.written[i].key
		k := &x.keys[ki]
		w := &k.writes[x.writesAt[i]]
		if k.seen.node == n && k.seen.of >= 0 {
			w.prev = k.seen.of
		}
		if x.o.Elements == nil || w.absent {
			continue
		}
		if elder := x.elder(n, ki, w.value); elder != none && elder != w.prev {
			k.reads = append(k.reads, read{node: n, of: elder})
			w.prev = elder
		}
	}
}

// elder is the write of the element before n's own in value.
func (x *index) elder(n, ki int32, value string) int32 {
	k := &x.keys[ki]
	elements := x.o.Elements(value)
	for i := len(elements) - 2; i >= 0; i-- {
		at, ok := x.byElement[place{ki, elements[i]}]
		switch {
		case !ok || x.h[k.writes[at].node].Status == Failed:
			return none
		case k.writes[at].node != n:
			x.wake(k.writes[at].node)
			return at
		}
	}
	if k.deletes {
		return none
	}
	return 0
}

// basis is the transaction whose value of a key a dormant one read before it wrote,
// none if that is not known. ok is false if it cannot have changed the key from absence
// to a value or back: it read what its own write left, or what nobody left.
func (x *index) basis(n, ki int32, absent bool) (w int32, ok bool) {
	k := &x.keys[ki]
	i := slices.IndexFunc(x.h[n].Ops, func(op Op) bool { return op.Key == k.name })
	op := &x.h[n].Ops[i]
	if op.Kind != KindRead {
		return none, true
	}
	if op.Absent {
		return none, !absent
	}
	at, ok := x.byValue[place{ki, op.Value}]
	if !ok {
		return none, false
	}
	from := &k.writes[at]
	return from.node, !from.absent && from.value == op.Value && from.node != n &&
		x.h[from.node].Status != Failed
}

func (x *index) id(n int32) string { return x.h[n].ID }

// report adds an anomaly that shows in single reads.
func (x *index) report(name Name, nodes []int32, format string, args ...any) {
	if len(x.found) >= x.o.limit() {
		return
	}
	a := Anomaly{Name: name, Text: fmt.Sprintf(format, args...)}
	for _, n := range nodes {
		a.IDs = append(a.IDs, x.id(n))
		a.Text += "\n  " + x.transaction(n, nil)
	}
	x.found = append(x.found, a)
}
