// Package witness watches the cells of a store from above. It knows what no client can
// know: at each instant, which attempts have committed, and in which cells their intents
// are. It checks, at each write:
//
//   - an intent lands once, at the version that its attempt expects of that member; that
//     of a dead escalated attempt may come again, where it was dropped;
//   - the intent of a committed attempt is not dropped, that of any other not folded
//     as committed, and an attempt of which an intent was dropped never commits;
//   - while a cell holds a committed attempt's intent, every folded member carries
//     its mark;
//   - an external value is there before a cell links it, and as long as one does;
//   - a tombstone that is removed has been condemned for a horizon;
//   - no two objects of hints for followers have one name.
package witness

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/feed"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Witness is told of every write in the order in which they take effect. Cells are
// named as within their database.
type Witness struct {
	fail     func(error)
	now      func() time.Duration
	horizon  time.Duration
	cells    map[string]held
	attempts map[txid.ID]*attempt
	// values are the external values that are there, by object name.
	values map[string]bool
	// hints are the objects of hints that have been written, whether they are there or not.
	hints map[string]*hints
	// writers counts the writers that a cell has had.
	writers map[string]int
}

// held is what is in an object.
type held struct {
	*cell.Cell
	version backend.Version
	since   time.Duration
}

// hints is an object of them.
type hints struct {
	data  string
	there bool
	since time.Duration
}

// attempt is what is known of one that has left intents.
type attempt struct {
	id        txid.ID
	mode      cell.Mode
	members   []cell.Member // nil until a whole list has been seen
	landed    map[string]bool
	holding   int // members that hold the intent
	committed bool
	dropped   string // a member that has lost the intent without effect
}

// New returns a Witness of an empty store, which tells fail what breaks a rule. It is told
// the time, and the horizon of all sweeps.
func New(fail func(error), now func() time.Duration, horizon time.Duration) *Witness {
	return &Witness{
		fail: fail, now: now, horizon: horizon,
		cells: map[string]held{}, attempts: map[txid.ID]*attempt{}, values: map[string]bool{},
		writers: map[string]int{}, hints: map[string]*hints{},
	}
}

var noCell = &cell.Cell{}

// Put is told of a write of an object. What is no cell it leaves alone.
func (w *Witness) Put(name string, data []byte, v backend.Version) {
	if _, _, err := keyspace.ParseValue(name); err == nil {
		w.values[name] = true
		return
	}
	if keyspace.IsHint(name) {
		w.hinted(name, data)
		return
	}
	next, err := cell.Decode(data)
	if err != nil {
		return // the object meta
	}
	old := w.at(name)
	w.cells[name] = held{next, v, w.now()}
	w.writers[name] += since(next, old.Writer)
	if old.Intent != nil && !next.Holds(old.Intent.Tx) {
		w.left(name, old, next)
	}
	if in := next.Intent; in != nil && !old.Holds(in.Tx) {
		w.lands(name, old, in)
	}
	w.linked(name)
	for _, m := range old.Marks {
		if _, kept := next.Mark(m.Tx); !kept {
			w.unmarked(name, m.Tx)
		}
	}
}

// hinted is told of an object of hints. A late copy of a write may bring back what was removed.
func (w *Witness) hinted(name string, data []byte) {
	if h := w.hints[name]; h != nil && h.data != string(data) {
		w.fail(fmt.Errorf("witness: two objects of hints have the name %s", name))
	}
	w.hints[name] = &hints{string(data), true, w.now()}
}

// hintMax is how old an object of hints is at most when a sweep has just ended.
const hintMax = feed.Keep + time.Minute

// since is how many writers a cell tells of since the one given: a write may bring two, that of an
// intent which it has found committed, and its own.
func since(c *cell.Cell, writer txid.ID) int {
	if c.Writer == writer {
		return 0
	}
	if n := slices.Index(c.Recent, writer); n >= 0 {
		return n
	}
	return max(len(c.Recent), 1)
}

// Overrun returns a function that tells whether a cell has had as many writers since as it
// remembers, so that it may not tell who they were.
func (w *Witness) Overrun() func() bool {
	before := maps.Clone(w.writers)
	return func() bool {
		for name, n := range w.writers { // any order: one is enough
			if n-before[name] >= cell.RecentMax {
				return true
			}
		}
		return false
	}
}

func (w *Witness) at(name string) held {
	if h, ok := w.cells[name]; ok {
		return h
	}
	return held{Cell: noCell}
}

// linked checks that the external values that a cell links are there.
func (w *Witness) linked(name string) {
	for _, v := range w.links(name) {
		if !w.values[v] {
			w.fail(fmt.Errorf("witness: %s links %s, which is not there", name, v))
		}
	}
}

// links are the names of the external values that a cell's effective value may be in: its
// committed one, and that of a committed attempt's intent. (A dead one may have lost its.)
func (w *Witness) links(name string) []string {
	c := w.at(name)
	refs := []string{c.Value.Ref}
	if in := c.Intent; in != nil && w.attempt(in.Tx).committed {
		refs = append(refs, in.Value.Ref)
	}
	var names []string
	for _, ref := range refs {
		if ref != "" {
			names = append(names, keyspace.Value(name, store.RefID(ref)))
		}
	}
	return names
}

// Remove is told of a deleted object.
func (w *Witness) Remove(name string) {
	if cellName, _, err := keyspace.ParseValue(name); err == nil {
		if slices.Contains(w.links(cellName), name) {
			w.fail(fmt.Errorf("witness: %s was removed, but its cell links it", name))
		}
		delete(w.values, name)
		return
	}
	if h := w.hints[name]; h != nil {
		h.there = false
		return
	}
	c, ok := w.cells[name]
	if !ok {
		return // no cell
	}
	if c.Intent != nil || len(c.Marks) > 0 || !c.Condemned {
		w.fail(fmt.Errorf("witness: %s was removed without having been condemned", name))
	}
	if age := w.now() - c.since; age < w.horizon {
		w.fail(fmt.Errorf("witness: %s was removed %v after it was condemned", name, age))
	}
	delete(w.cells, name)
}

func (w *Witness) attempt(id txid.ID) *attempt {
	a := w.attempts[id]
	if a == nil {
		a = &attempt{id: id, landed: map[string]bool{}}
		w.attempts[id] = a
	}
	return a
}

// lands: an attempt's intent is in a cell.
func (w *Witness) lands(name string, old held, in *cell.Intent) {
	a := w.attempt(in.Tx)
	a.mode = in.Mode
	if a.members == nil && in.Whole() {
		a.members = in.List
	}
	if a.landed[name] && (in.Mode == cell.Staged || a.dropped == "") {
		w.fail(fmt.Errorf("witness: %.4s landed twice in %s", in.Tx, name))
	}
	a.landed[name] = true
	a.holding++
	if m, ok := in.Find(name); ok && m.Expected != string(old.version) {
		w.fail(fmt.Errorf("witness: %.4s landed in %s at version %s, expected %s",
			in.Tx, name, old.version, m.Expected))
	}
	if in.Mode == cell.Staged && a.members != nil && len(a.landed) == len(a.members) {
		w.commits(a) // Commit point.
	}
}

func (w *Witness) commits(a *attempt) {
	a.committed = true
	if a.dropped != "" {
		w.fail(fmt.Errorf("witness: %.4s commits, but its intent was dropped from %s",
			a.id, a.dropped))
	}
	for _, name := range slices.Sorted(maps.Keys(a.landed)) {
		w.linked(name)
	}
}

// left: an attempt's intent is not in the cell any more.
func (w *Witness) left(name string, old held, next *cell.Cell) {
	in := old.Intent
	a := w.attempt(in.Tx)
	a.holding--
	_, marked := next.Mark(in.Tx)
	folded := marked || next.Names(in.Tx)
	primary := in.Primary().Name == name
	if folded && in.Mode == cell.Pending && primary && !a.committed {
		w.commits(a) // Commit point.
	}
	switch {
	case folded && !a.committed:
		w.fail(fmt.Errorf("witness: %.4s was folded in %s, but has not committed",
			a.id, name))
	case !folded && a.committed && in.Action != cell.Lock:
		w.fail(fmt.Errorf("witness: the intent of %.4s, committed, was dropped from %s",
			a.id, name))
	case !folded && !a.committed && a.dropped == "":
		a.dropped = name
	}
	if a.committed && !marked {
		w.unmarked(name, in.Tx)
	}
}

// unmarked: a cell does not carry the committed attempt's mark any more.
func (w *Witness) unmarked(name string, id txid.ID) {
	a := w.attempt(id)
	if !a.committed {
		w.fail(fmt.Errorf("witness: %s carried a mark of %.4s, not committed", name, id))
	}
	if a.holding > 0 {
		w.fail(fmt.Errorf("witness: %s lacks the mark of %.4s, which %d members hold",
			name, id, a.holding))
	}
}

// Settled checks the cells themselves: from what they hold, anybody must come to the
// outcome that the witness knows.
func (w *Witness) Settled() error {
	for _, name := range slices.Sorted(maps.Keys(w.cells)) {
		c := w.cells[name]
		if c.Intent == nil {
			continue
		}
		a := w.attempt(c.Intent.Tx)
		if got := w.status(c.Intent); got != a.committed && c.Intent.Action != cell.Lock {
			return fmt.Errorf("witness: an observer in %s finds %.4s committed: %v; it is: %v",
				name, a.id, got, a.committed)
		}
	}
	return nil
}

// status reports whether an observer who sees the intent finds that it has committed.
func (w *Witness) status(in *cell.Intent) bool {
	members := in.List
	p := w.at(in.Primary().Name)
	if _, ok := p.Mark(in.Tx); ok {
		return true
	}
	if in.Mode == cell.Pending {
		return false
	}
	if !in.Whole() {
		if !p.Holds(in.Tx) {
			return false
		}
		members = p.Intent.List
	}
	all := true
	for _, m := range members {
		c := w.at(m.Name)
		if _, ok := c.Mark(in.Tx); ok {
			return true
		}
		all = all && c.Holds(in.Tx)
	}
	return all
}

// Tidy checks that no cell holds an intent.
func (w *Witness) Tidy() error {
	for _, name := range slices.Sorted(maps.Keys(w.cells)) {
		if c := w.cells[name]; c.Intent != nil {
			return fmt.Errorf("witness: an intent of %.4s was left in %s", c.Intent.Tx, name)
		}
	}
	return nil
}

// Orphaned checks that no external value is left that no cell links.
func (w *Witness) Orphaned() error {
	linked := map[string]bool{}
	for name := range w.cells { // any order: a set
		for _, v := range w.links(name) {
			linked[v] = true
		}
	}
	for _, v := range slices.Sorted(maps.Keys(w.values)) {
		if !linked[v] {
			return fmt.Errorf("witness: the value %s was left", v)
		}
	}
	return nil
}

// Clean checks that there is nothing but live data.
func (w *Witness) Clean() error {
	for _, name := range slices.Sorted(maps.Keys(w.cells)) {
		c := w.cells[name]
		if c.Shape() != cell.ShapeValue && (c.Intent != nil || c.Value.Expires == 0) {
			return fmt.Errorf("witness: garbage was left in %s", name)
		}
		if c.Value.Expires != 0 {
			return fmt.Errorf("witness: a value that has expired was left in %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.hints)) {
		if h := w.hints[name]; h.there && w.now()-h.since > hintMax {
			return fmt.Errorf("witness: the hints %s were left", name)
		}
	}
	return w.Orphaned()
}
