// Package follow finds out what has changed in collections since they were last seen. It lists
// them, reads the cells whose objects are not as they were, and tells of those whose effective
// value has another writer.
//
// A Book is what was seen. Comparing it with a listing is pure; a Follower lists, reads, compares
// and tells. What one pass finds to be as the pass before has seen it was so all the time in
// between, since writers never come back: if nothing at all has changed from one pass to the next,
// all of it was current at one instant, that at which the second one began.
package follow

import (
	"crypto/sha256"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/txid"
)

// compactMin is how many changes there may be since a Book's base was made before it is made anew,
// if they are also a quarter of it.
const compactMin = 1024

// State tells states of a cell's object apart. The zero State is compared with nothing.
type State = [16]byte

// StateOf is the State of a cell of a database at a version of its object; zero without one.
func StateOf(db txid.ID, cell string, v backend.Version) (s State) {
	if v == "" {
		return s
	}
	var room [2 * keyspace.NameMax]byte
	buf := append(append(room[:0], db[:]...), cell...)
	sum := sha256.Sum256(append(append(buf, 0), v...)) // no name has a zero
	copy(s[:], sum[:])
	return s
}

// Entry is what was seen of a cell. The zero Entry is that of one never seen, or gone.
type Entry struct {
	// State is zero if the cell must be looked at again.
	State State
	// Writer is that of the effective value, or of its absence; zero if that is not known.
	Writer txid.ID
	// Expires is when the value is due, in nanoseconds since 1970 by the store's clock; 0 is never.
	Expires int64
	// Present says that the last that was told of the key is a value.
	Present bool
}

// Item is an Entry with the name of its cell.
type Item struct {
	Name string
	Entry
}

// Base is what was seen before a Follower began.
type Base interface {
	// Within yields what was seen within a span behind a name, in the order of names. With no
	// name it is all of the span.
	Within(s Span, after string) iter.Seq2[Item, error]
	// Lookup returns what was seen of a cell.
	Lookup(name string) (Entry, error)
	// Restate says that a cell has another State, and nothing else has changed.
	Restate(name string, s State) error
}

// Items are a Base in memory, in the order of names. They are never changed.
type Items []Item

func (all Items) search(name string) int {
	return sort.Search(len(all), func(i int) bool { return all[i].Name >= name })
}

// Within yields items.
func (all Items) Within(s Span, after string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for _, item := range all[all.search(s.begin(after)):] {
			if item.Name >= s.To || !yield(item, nil) {
				return
			}
		}
	}
}

// Lookup returns the item with the name, or none.
func (all Items) Lookup(name string) (Entry, error) {
	if i := all.search(name); i < len(all) && all[i].Name == name {
		return all[i].Entry, nil
	}
	return Entry{}, nil
}

// Restate is not called: a Book keeps that itself.
func (all Items) Restate(string, State) error { return nil }

// Book is what has been seen: a Base, and what is newer.
type Book struct {
	base  Base
	newer map[string]Entry
	// names are those of newer, in order, unless some have come since.
	names []string
	// log is what has been told since the base was made, in the order of telling. It only grows.
	log []Item
	// kept says that the base is of somebody who keeps what he is told.
	kept bool
}

// NewBook is a Book that begins with items, of which the later ones of a log are newer.
func NewBook(items Items, log []Item) *Book {
	return &Book{base: Merge(items, log), newer: map[string]Entry{}}
}

// KeptBook is a Book of somebody who keeps what is told.
func KeptBook(base Base) *Book {
	return &Book{base: base, newer: map[string]Entry{}, kept: true}
}

// Told is all that has been told, as Items and what is newer than those. Both are never changed;
// of a KeptBook they are none.
func (b *Book) Told() (Items, []Item) {
	items, _ := b.base.(Items)
	return items, b.log[:len(b.log):len(b.log)]
}

// Lookup returns what was seen of a cell.
func (b *Book) Lookup(name string) (Entry, error) {
	if e, ok := b.newer[name]; ok {
		return e, nil
	}
	return b.base.Lookup(name)
}

// saw notes what was seen of a cell, which is not told yet.
func (b *Book) saw(name string, e Entry) { b.newer[name] = e }

// told notes that what was seen of a cell has been told.
func (b *Book) told(name string) {
	b.log = append(b.log, Item{name, b.newer[name]})
}

// restate notes that a cell has another State.
func (b *Book) restate(name string, e Entry) error {
	_, newer := b.newer[name]
	if !b.kept || newer || !e.Present { // what is absent nobody else may know of
		b.newer[name] = e
		return nil
	}
	return b.base.Restate(name, e.State)
}

// settle says that all that was seen has been told. What somebody else keeps is forgotten, but
// for what is absent; else a new base is made if much has changed.
func (b *Book) settle() {
	if b.kept {
		for name, e := range b.newer { // any order: each is forgotten or not
			if e.Present || e == (Entry{}) {
				delete(b.newer, name)
			}
		}
		b.log = nil
		return
	}
	items, _ := b.base.(Items)
	if n := max(len(b.newer), len(b.log)); n < max(compactMin, len(items)/4) {
		return
	}
	log := make([]Item, 0, len(b.newer))
	for _, name := range b.sorted() {
		log = append(log, Item{name, b.newer[name]})
	}
	b.base, b.newer, b.log = Merge(items, log), map[string]Entry{}, nil
}

// sorted are the names of what is newer than the base.
func (b *Book) sorted() []string {
	names := make([]string, 0, len(b.newer))
	for name := range b.newer { // any order: it is sorted
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// begin prepares comparisons.
func (b *Book) begin() { b.names = b.sorted() }

// Merge is items and what is newer, the last of which counts for each cell.
func Merge(items Items, log []Item) Items {
	if len(log) == 0 {
		return items
	}
	last := slices.Clone(log)
	slices.SortStableFunc(last, func(x, y Item) int { return strings.Compare(x.Name, y.Name) })
	merged := make(Items, 0, len(items)+len(last))
	for i, item := range last {
		if i+1 < len(last) && last[i+1].Name == item.Name {
			continue
		}
		n := items.search(item.Name)
		merged = append(merged, items[:n]...)
		if items = items[n:]; len(items) > 0 && items[0].Name == item.Name {
			items = items[1:]
		}
		if (item.Entry != Entry{}) {
			merged = append(merged, item)
		}
	}
	return append(merged, items...)
}
