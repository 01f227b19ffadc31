package follow

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/strictkv/strictkv/internal/feed"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

const (
	// quickMax is how many passes follow each other without a pause, to find two between which
	// nothing has changed.
	quickMax = 4
	// WatchMin is the pause between two looks behind a change. It grows by half each time that
	// nothing has changed.
	WatchMin = 100 * time.Millisecond
)

// Change is the news of a key.
type Change struct {
	Name string
	Entry
	// Value is what the key has now, if Present. Nobody may modify it, nor Old.
	Value []byte
	// Old is what it had before, if that is known.
	Old []byte
	// Err says that the cell can't be read for what it holds: nothing else is known of it.
	Err error

	was bool // a value was told of before
}

// Event is a change, or the end of a pass.
type Event struct {
	Change *Change
	Pass   *Sum
	// Base and Log are all that has been told by then: see Book.Told.
	Base Items
	Log  []Item
}

// Options say what to follow, and how.
type Options struct {
	Spans []Span
	Book  *Book
	// Every is the pause between two passes, or two looks at a Feed; the longest one, if Grows says
	// that it grows from WatchMin while nothing changes.
	Every time.Duration
	Grows bool
	// Feed, if not nil, tells of what others write: then all is listed only after FullEvery, or if
	// the Feed has missed something.
	Feed      *feed.Reader
	FullEvery time.Duration
	// Instant keeps changes back until all that was seen is known to have been current at one
	// instant.
	Instant bool
	// Known says that the Book tells what the cell has that is watched, be it nothing.
	Known bool
	// Local tells of what the handle itself writes.
	Local *feed.Subscription
	// Once ends with the first pass that is told of.
	Once bool
}

// Follower follows spans.
type Follower struct {
	Options
	st    *store.Store
	rs    *resolve.Resolver
	rt    seam.Runtime
	spans []Span
	book  *Book
	// ends are, for each span, the last names of the parts that it is listed in.
	ends   [][]string
	passes int
	// due is the cell whose value is due next, and dueAt when; empty if none is.
	due   string
	dueAt int64
	// held are the cells whose value could not be told at the last pass.
	held map[string]bool
	// pending are changes that are kept back, by name.
	pending map[string]Change
	yield   func(Event) bool
	// reported counts changes, those with an error too, and changed those without.
	reported, changed int
	// likely is how many bytes a cell may have that was not listed.
	likely int64
}

// New returns a Follower.
func New(st *store.Store, rs *resolve.Resolver, o Options) *Follower {
	return &Follower{
		Options: o, st: st, rs: rs, rt: st.Runtime(), spans: o.Spans, book: o.Book,
		ends: make([][]string, len(o.Spans)), held: map[string]bool{}, pending: map[string]Change{},
		likely: likelyFirst,
	}
}

// Run follows until yield returns false, ctx ends, or a pass fails, and may go on after that.
func (f *Follower) Run(ctx context.Context, yield func(Event) bool) error {
	f.yield = yield
	pause := f.pacer()
	if err := f.enter(ctx); err != nil {
		return err
	}
	for quick := 0; ; {
		sum, err := f.observed(ctx, f.whole)
		if err == nil && f.Instant && !sum.Quiet {
			if quick++; quick < quickMax {
				continue
			}
		} else if err == nil {
			err = f.end(sum)
		}
		switch {
		case err != nil:
			return f.unlessLeft(err)
		case f.Once && (sum.Quiet || !f.Instant):
			return nil
		}
		quick = 0
		if err := f.rest(ctx, pause()); err != nil {
			return f.unlessLeft(err)
		}
	}
}

// Watch follows one cell, by reading it, as Run does for all. Of a cell that has no value it tells
// first, unless that is Known, by a change that is not Present.
func (f *Follower) Watch(ctx context.Context, name string, yield func(Event) bool) error {
	f.yield = yield
	pause := f.pacer()
	for {
		sum, err := f.look(ctx, []string{name})
		if err == nil && f.reported == 0 && sum.Held == 0 && !f.Known {
			err = f.report(Change{Name: name})
		}
		switch {
		case err != nil:
			return f.unlessLeft(err)
		case f.Once && f.reported > 0:
			return nil
		}
		if err := f.await(ctx, name, pause()); err != nil {
			return err
		}
	}
}

// await pauses between two looks at a cell, unless the handle writes it.
func (f *Follower) await(ctx context.Context, name string, d time.Duration) error {
	until, cancel := f.rt.WithTimeout(ctx, d)
	defer cancel()
	for {
		h, err := f.Local.Next(until)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil, h.Missed, slices.Contains(h.Names, name):
			return nil
		}
	}
}

// pacer tells how long to pause, each time.
func (f *Follower) pacer() func() time.Duration {
	pause, changed := WatchMin, f.changed
	return func() time.Duration {
		if !f.Grows {
			return f.Every
		}
		if f.changed != changed {
			pause, changed = WatchMin, f.changed
		}
		d := min(pause, f.Every)
		pause = min(pause*3/2, f.Every)
		return d
	}
}

// unlessLeft is nil if the consumer has left.
func (f *Follower) unlessLeft(err error) error {
	if errors.Is(err, errLeft) {
		return nil
	}
	return err
}

// enter begins with the Feed: what that tells later has been written since.
func (f *Follower) enter(ctx context.Context) error {
	if f.Feed == nil {
		return nil
	}
	_, err := f.Feed.Next(ctx)
	return err
}

// rest is between two passes over everything. Meanwhile it looks at what the handle writes, and at
// what the Feed tells.
func (f *Follower) rest(ctx context.Context, d time.Duration) error {
	if f.Feed == nil {
		_, err := f.pause(ctx, d)
		return err
	}
	for full := f.rt.Now().Add(f.FullEvery); f.rt.Now().Before(full); {
		if all, err := f.pause(ctx, d); err != nil || all {
			return err
		}
		h, err := f.Feed.Next(ctx)
		h.Names = slices.DeleteFunc(h.Names, func(name string) bool { return !f.follows(name) })
		if err != nil || h.Missed || f.Instant && len(h.Names) > 0 {
			return err
		}
		if f.Instant {
			if f.dueAt != 0 && f.dueAt <= f.st.Clock() { // nobody hints at that
				return nil
			}
			continue
		}
		if h.Names, err = f.also(h.Names); err != nil {
			return err
		}
		if err := f.glance(ctx, h.Names); err != nil {
			return err
		}
	}
	return nil
}

// also adds the cells that must be looked at although nobody has hinted at them: those that were
// held, and those whose value is due.
func (f *Follower) also(names []string) ([]string, error) {
	all := append(names, slices.Sorted(maps.Keys(f.held))...)
	due, err := f.overdue()
	all = append(all, due...)
	slices.Sort(all)
	return slices.Compact(all), err
}

// pause waits, and looks at what the handle writes meanwhile. All says that it is to look at
// everything.
func (f *Follower) pause(ctx context.Context, d time.Duration) (all bool, err error) {
	until, cancel := f.rt.WithTimeout(ctx, d)
	defer cancel()
	for {
		h, err := f.Local.Next(until)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil: // it is over
			return false, nil
		case h.Missed:
			return true, nil
		case f.Instant && f.Feed != nil: // the Feed does not tell of it
			return true, f.sleepUntil(ctx, until)
		case f.Instant:
			continue
		}
		if err := f.glance(ctx, h.Names); err != nil || until.Err() != nil {
			return false, err
		}
	}
}

// sleepUntil waits for the end of a context, which is another one's with a timeout.
func (f *Follower) sleepUntil(ctx, until context.Context) error {
	_ = f.rt.NewEvent().Wait(until)
	return ctx.Err()
}

// glance looks at some cells, and tells what has changed.
func (f *Follower) glance(ctx context.Context, names []string) error {
	sum, err := f.observed(ctx, func(ctx context.Context) (Sum, error) {
		return f.look(ctx, names)
	})
	if err != nil {
		return err
	}
	return f.end(sum)
}

// observed is a pass that an observer is told of.
func (f *Follower) observed(
	ctx context.Context, pass func(context.Context) (Sum, error),
) (Sum, error) {
	within, work := f.st.Observer().Work(ctx, observe.Follow)
	sum, err := pass(within)
	told := err
	if errors.Is(err, errLeft) {
		told = nil
	}
	work.Done(within, sum.Listed+sum.Read, told)
	return sum, err
}

// report tells a change, or keeps it back.
func (f *Follower) report(c Change) error {
	f.reported++
	if c.Err == nil {
		f.changed++
		f.book.saw(c.Name, c.Entry)
		if f.Instant {
			f.keep(c)
			return nil
		}
		f.book.told(c.Name)
	}
	return f.emit(Event{Change: &c})
}

// keep keeps a change back. Of a key that was told to have no value it keeps no deletion.
func (f *Follower) keep(c Change) {
	if before, ok := f.pending[c.Name]; ok {
		c.was, c.Old = before.was, before.Old
	}
	if f.pending[c.Name] = c; !c.was && !c.Present {
		delete(f.pending, c.Name)
	}
}

// restate notes that an object is another one, and its value the same.
func (f *Follower) restate(name string, e Entry) error {
	if c, ok := f.pending[name]; ok {
		c.Entry = e
		f.pending[name] = c
	}
	return f.book.restate(name, e)
}

// end tells what was kept back, and the end of a pass.
func (f *Follower) end(sum Sum) error {
	names := make([]string, 0, len(f.pending))
	for name := range f.pending { // any order: it is sorted
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c := f.pending[name]
		f.book.told(name)
		delete(f.pending, name)
		if err := f.emit(Event{Change: &c}); err != nil {
			return err
		}
	}
	if err := f.emit(Event{Pass: &sum}); err != nil {
		return err
	}
	f.book.settle()
	return nil
}

func (f *Follower) emit(e Event) error {
	e.Base, e.Log = f.book.Told()
	if !f.yield(e) {
		return errLeft
	}
	return nil
}
