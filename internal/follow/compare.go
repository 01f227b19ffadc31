package follow

import (
	"sort"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Row is a name of a listing.
type Row struct {
	Name    string
	Version backend.Version
	Size    int64
	// Damaged says that the store knows the object to be: nothing else is known of it.
	Damaged bool

	state State
	asked store.Asked
}

// gone reports whether the cell is certain to have no value.
func (r *Row) gone() bool {
	s := cell.ShapeOf(r.Size)
	return !r.Damaged && (s == cell.ShapeTombstone || s == cell.ShapeCondemned)
}

// finding is what a comparison has come to.
type finding uint8

const (
	// same: the cell is as it was.
	same finding = iota
	// moved: the object is not as it was, but the key has no value, as before.
	moved
	// lost: the key has lost its value.
	lost
	// doubtful: the cell must be read.
	doubtful
)

// sight is a cell that was seen, or listed, or both.
type sight struct {
	name string
	seen Entry
	row  *Row // nil if it was not listed
}

// compare tells what has become of a cell, at a time of the store's clock before it was listed.
// Later is one after that: what is due only then must be read, as it may have been replaced.
func (x *sight) compare(now, later int64) finding {
	e := x.seen
	switch {
	case x.row == nil && e.Present:
		return lost
	case x.row == nil && e != Entry{}:
		return moved
	case x.row == nil:
		return same
	case e.State != State{} && e.State == x.row.state && !x.row.Damaged:
		switch {
		case !e.Present || e.Expires == 0 || e.Expires > later:
			return same
		case e.Expires <= now:
			return lost
		}
		return doubtful
	case !x.row.gone():
		return doubtful
	case e.Present:
		return lost
	}
	return moved
}

// absent is what is then to be kept of a cell that was lost, or has moved.
func (x *sight) absent() Entry {
	switch {
	case x.row == nil:
		return Entry{}
	case x.seen.State == x.row.state: // its value was due
		e := x.seen
		e.Present = false
		return e
	}
	return Entry{State: x.row.state}
}

// reading is what was read of a cell.
type reading struct {
	// held says that its value can't be told, as a transaction under way holds it.
	held bool
	// present says that it has a value, which may be due.
	present bool
	writer  txid.ID
	expires int64
	state   State
}

// judge tells what a cell that was read has come to, and what is to be kept of it. Told says that
// the key has a value that is news; lost is as for compare.
func (x *sight) judge(r reading, now int64) (e Entry, f finding, told bool) {
	due := r.expires != 0 && r.expires <= now
	e = Entry{State: r.state, Writer: r.writer, Expires: r.expires, Present: r.present && !due}
	known := !r.writer.IsZero() && r.writer == x.seen.Writer
	switch {
	case known && (e.Present || !x.seen.Present): // what was due stays so
		e.Present = x.seen.Present
		return e, same, false
	case r.writer.IsZero() && x.seen == Entry{}: // it has never had a value
		return e, same, false
	case e.Present:
		return e, moved, true
	case x.seen.Present:
		return e, lost, false
	}
	return e, moved, false
}

// walk goes through what was seen and what is listed of a part, by name.
type walk struct {
	part  Part
	rows  []Row
	names []string // of what is newer than the base
	book  *Book
	visit func(sight) error
}

// compare visits each cell of a part that was seen, or is listed.
func (b *Book) compare(p Part, rows []Row, visit func(sight) error) error {
	first := p.begin(p.After)
	w := walk{p, rows, b.names[sort.SearchStrings(b.names, first):], b, visit}
	for item, err := range b.base.Within(p.Span, p.After) {
		if err != nil {
			return err
		}
		if p.Last != "" && item.Name > p.Last {
			break
		}
		if err := w.upTo(item.Name); err != nil {
			return err
		}
		if err := w.meet(item.Name, item.Entry); err != nil {
			return err
		}
	}
	return w.upTo("")
}

// upTo visits the cells before a name that the base does not have. No name is the end.
func (w *walk) upTo(name string) error {
	for {
		next := ""
		if len(w.rows) > 0 {
			next = w.rows[0].Name
		}
		if len(w.names) > 0 && w.part.contains(w.names[0]) && (next == "" || w.names[0] < next) {
			next = w.names[0]
		}
		if next == "" || name != "" && next >= name {
			return nil
		}
		if err := w.meet(next, Entry{}); err != nil {
			return err
		}
	}
}

// meet visits a cell of which the base has an entry, or none.
func (w *walk) meet(name string, e Entry) error {
	x := sight{name: name, seen: e}
	if newer, ok := w.book.newer[name]; ok {
		x.seen = newer
	}
	if len(w.rows) > 0 && w.rows[0].Name == name {
		x.row, w.rows = &w.rows[0], w.rows[1:]
	}
	for len(w.names) > 0 && w.names[0] <= name {
		w.names = w.names[1:]
	}
	return w.visit(x)
}
