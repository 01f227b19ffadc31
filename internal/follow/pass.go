package follow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// Limits of a pass.
const (
	// pageMax is how many names one request asks for: the most that every store gives.
	pageMax = 1000
	// listsMax is how many parts are listed at once, and kept.
	listsMax = 16
	// readsMax and readsBytes bound the cells that are read at once, and kept with their values:
	// their number, and their bytes, but that one may have any size. Those of a cell that was not
	// listed are taken to be what others had; likelyFirst of the first.
	readsMax    = 1024
	readsBytes  = 16 << 20
	likelyFirst = 1 << 20
)

// Sum is what a pass has come to.
type Sum struct {
	// Begun is when it began.
	Begun time.Time
	// Listed counts names, and Read cells that were read by a request.
	Listed, Read int64
	// Quiet says that no value has changed since the pass before: all that was seen by then was
	// current at Begun, all at once, but for what was due then.
	Quiet bool
	// Whole says that it has listed all, and not only looked at some cells.
	Whole bool
	// Held counts cells whose value can't be told yet, or not at all.
	Held int
}

// pass is one look at everything.
type pass struct {
	*Follower
	ctx context.Context
	// now is the time of the store's clock when it began, or somewhat before; since the logical
	// time.
	now   int64
	since uint64
	sum   Sum
	moved bool // something has changed, or may have
	// ends is when the first value is due that is not yet, and next its cell; 0 is never.
	ends int64
	next string
	// again are the cells that were held the last time, held those that are now.
	again, held map[string]bool
	marks       map[int][]mark // by span
}

func (f *Follower) newPass(ctx context.Context) *pass {
	p := &pass{
		Follower: f, ctx: ctx, now: f.st.Clock(), since: f.st.Tick(),
		again: f.held, held: map[string]bool{}, marks: map[int][]mark{},
	}
	p.sum.Begun = f.rt.Now()
	return p
}

// errLeft says that the consumer has left.
var errLeft = fmt.Errorf("left")

// whole is a pass over all spans. With the error errLeft the consumer has left.
func (f *Follower) whole(ctx context.Context) (Sum, error) {
	if f.passes == 0 {
		if err := f.survey(); err != nil {
			return Sum{}, err
		}
	}
	if err := f.tellTime(ctx); err != nil {
		return Sum{}, err
	}
	f.book.begin()
	p := f.newPass(ctx)
	p.sum.Whole = true
	var queue []task
	for i, s := range f.spans {
		for _, part := range s.parts(f.ends[i]) {
			queue = append(queue, task{part, i})
		}
	}
	for len(queue) > 0 {
		wave := queue[:min(len(queue), listsMax)]
		rests, err := p.wave(wave)
		if err != nil {
			return p.sum, err
		}
		queue = append(rests, queue[len(wave):]...)
	}
	for i := range f.spans {
		f.ends[i] = bounds(p.marks[i])
	}
	f.held, f.passes = p.held, f.passes+1
	f.due, f.dueAt = p.next, p.ends
	p.conclude()
	return p.sum, nil
}

// survey goes through what was seen, before the first pass: how the names split, and which value
// is due first.
func (f *Follower) survey() error {
	for i, s := range f.spans {
		var marks []mark
		n := 0
		for item, err := range f.book.base.Within(s, "") {
			if err != nil {
				return err
			}
			if n++; n%markEvery == 0 {
				marks = append(marks, mark{item.Name, markEvery})
			}
			f.falls(item)
		}
		f.ends[i] = bounds(marks)
	}
	return nil
}

// falls notes when a value is due, if that is the first.
func (f *Follower) falls(item Item) {
	if item.Present && item.Expires != 0 && (f.dueAt == 0 || item.Expires < f.dueAt) {
		f.dueAt, f.due = item.Expires, item.Name
	}
}

// overdue are the cells whose value is due. If one is, it goes through all that was seen.
func (f *Follower) overdue() (names []string, err error) {
	now := f.st.Clock()
	if f.dueAt == 0 || f.dueAt > now {
		return nil, nil
	}
	f.due, f.dueAt = "", 0
	visit := func(item Item) {
		if item.Present && item.Expires != 0 && item.Expires <= now {
			names = append(names, item.Name)
			return
		}
		f.falls(item)
	}
	for _, s := range f.spans {
		for item, err := range f.book.base.Within(s, "") {
			if err != nil {
				return nil, err
			}
			if _, newer := f.book.newer[item.Name]; !newer {
				visit(item)
			}
		}
	}
	for _, name := range f.book.sorted() {
		visit(Item{name, f.book.newer[name]})
	}
	return names, nil
}

// tellTime reads the cell whose value is due first, so that the store tells what its clock says:
// a listing does not.
func (f *Follower) tellTime(ctx context.Context) error {
	if f.due == "" {
		return nil
	}
	_, err := f.st.ReadShared(ctx, f.due, f.st.Tick())
	if errors.Is(err, backend.ErrCorrupt) || errors.Is(err, store.ErrFormat) {
		return nil
	}
	return err
}

// conclude finds out whether all was as the pass before has seen it.
func (p *pass) conclude() {
	p.sum.Held = len(p.held)
	due := p.ends != 0 && p.ends <= p.st.Clock()
	p.sum.Quiet = p.sum.Whole && p.passes > 1 && !p.moved && len(p.held) == 0 && !due
}

// task is a part of the span with the number.
type task struct {
	Part
	span int
}

// page is a part as it was listed, as far as one request goes.
type page struct {
	rows []Row
	more bool
}

// wave lists parts at once, and tells what has changed in them. It returns what is left of them.
func (p *pass) wave(wave []task) (rests []task, err error) {
	pages := make([]page, len(wave))
	err = seam.Each(p.rt, len(wave), func(i int) (err error) {
		pages[i], err = p.list(wave[i].Part)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, t := range wave {
		rows := pages[i].rows
		if pages[i].more {
			last := rows[len(rows)-1].Name
			rests = append(rests, task{Part{t.Span, last, t.Last}, t.span})
			t.Last = last
		}
		rows = within(t.Part, rows)
		p.sum.Listed += int64(len(rows))
		p.marks[t.span] = append(p.marks[t.span], marksOf(rows)...)
		if err := p.meet(t.Part, rows); err != nil {
			return nil, err
		}
	}
	return rests, nil
}

// list lists the beginning of a part.
func (p *pass) list(part Part) (found page, err error) {
	prefix, after := part.listing()
	listed, err := p.st.ListPage(p.ctx, prefix, after, pageMax)
	if err != nil {
		return found, err
	}
	for _, o := range listed.Objects {
		found.rows = append(found.rows, Row{
			Name: o.Name, Version: o.Version, Size: o.Size, Damaged: o.Damaged,
			asked: listed.Asked,
		})
	}
	n := len(found.rows)
	if n == 0 && listed.More {
		return found, fmt.Errorf("list %q: %w: an empty page is not the last", prefix,
			backend.ErrUnavailable)
	}
	end := n > 0 && (found.rows[n-1].Name >= part.To ||
		part.Last != "" && found.rows[n-1].Name >= part.Last)
	found.more = listed.More && !end
	return found, nil
}

// within are the cells of a part.
func within(p Part, rows []Row) []Row {
	cells := rows[:0]
	for _, r := range rows {
		if p.contains(r.Name) && keyspace.KindOf(r.Name) == keyspace.CellKind {
			cells = append(cells, r)
		}
	}
	return cells
}

// meet compares a part with what was seen, and tells what has changed.
func (p *pass) meet(part Part, rows []Row) error {
	id, later := p.st.ID(), p.st.Clock()
	for i := range rows {
		rows[i].state = StateOf(id, rows[i].Name, rows[i].Version)
	}
	var all []*news
	err := p.book.compare(part, rows, func(x sight) error {
		switch found := x.compare(p.now, later); found {
		case same:
			p.expects(x.name, x.seen)
		case moved:
			p.moved = true
			p.book.saw(x.name, x.absent())
		default:
			if found == doubtful && !isCell(x.name) {
				return nil
			}
			all = append(all, &news{sight: x, finding: found})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.tell(all)
}

// isCell reports whether keyspace makes the name: others are none of the database's.
func isCell(name string) bool {
	_, _, err := keyspace.ParseCell(name)
	return err == nil
}

// expects notes when a value is due.
func (p *pass) expects(name string, e Entry) {
	if e.Present && e.Expires > p.now && (p.ends == 0 || e.Expires < p.ends) {
		p.ends, p.next = e.Expires, name
	}
}

// look is a pass over cells of which somebody has said that they have changed.
func (f *Follower) look(ctx context.Context, names []string) (Sum, error) {
	p := f.newPass(ctx)
	var all []*news
	held := maps.Clone(f.held)
	for _, name := range names {
		if !f.follows(name) || !isCell(name) {
			continue
		}
		seen, err := f.book.Lookup(name)
		if err != nil {
			return p.sum, err
		}
		all = append(all, &news{sight: sight{name: name, seen: seen}, finding: doubtful})
		delete(held, name)
	}
	if err := p.tell(all); err != nil {
		return p.sum, err
	}
	maps.Copy(held, p.held)
	f.held = held
	f.falls(Item{p.next, Entry{Expires: p.ends, Present: p.next != ""}})
	p.conclude()
	return p.sum, nil
}

// follows reports whether a name is within a span.
func (f *Follower) follows(name string) bool {
	for _, s := range f.spans {
		if s.Contains(name) {
			return true
		}
	}
	return false
}
