package feed

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// Limits of a reader.
const (
	// Slack is how much older than the newest an object may be by its name and still be listed,
	// be it that its writer's clock is behind or that it took long to arrive. What is older is
	// missed; most often the number of the next one tells.
	Slack = 10 * time.Second
	// pageMax is how many objects a request lists, and pagesMax how many requests that takes each
	// time, at most: what is left is for the next time.
	pageMax  = 1000
	pagesMax = 8
	// readsMax is how many objects are read each time, and atOnce how many of them at once.
	readsMax = 256
	atOnce   = 16
	// hintsMax and hintBytesMax bound the names that are returned each time.
	hintsMax     = 1 << 16
	hintBytesMax = 16 << 20
	// seenMax is how many objects are remembered that may be listed again, and handlesMax how
	// many handles.
	seenMax    = 1 << 16
	handlesMax = 4096
)

// Reader reads what the writers of other handles have written. It is of one goroutine. Who asks it
// each second, rather than a second after all that the hints lead to, is never behind by more than
// an interval of each.
//
// It lists the objects from its place on, which is the time of the newest less the slack. That
// is no later than the store's own time of the newest: a writer whose clock is ahead does not
// draw it away from the others. Such a writer's objects are listed each time while they are
// there, and, like all, read once.
type Reader struct {
	st *store.Store
	// own is the id of a handle whose objects are not read.
	own string
	// begun says that all has been listed once, and since is the time up to which that was.
	begun bool
	since int64
	// place is the time up to which objects have been seen, and behind, if not empty, the name
	// behind which the listing goes on that is not at its end.
	place  int64
	behind string
	// seen are the objects that may be listed again.
	seen map[string]struct{}
	// handles are what is known of writers, and turn counts the calls.
	handles map[string]*handle
	turn    int
	// asked is when the call before has asked for its listing.
	asked store.Moment
}

// handle is what a reader knows of a writer.
type handle struct {
	number uint32 // the highest
	turn   int    // of the last call that saw an object
}

// NewReader returns a reader which takes no notice of the handle with an id, if there is one: its
// commits are known already.
func NewReader(st *store.Store, own string) *Reader {
	r := &Reader{st: st, own: own, seen: map[string]struct{}{}, handles: map[string]*handle{}}
	if at := st.Moment().There; !at.IsZero() {
		r.place = at.UnixNano()
	}
	return r
}

// Next returns what has been written since the call before, by one request to list it and one for
// each object. The first call reads nothing: it says that all may have changed before, as calls
// say later that find something missing or unreadable, or too much, or come so late that objects
// may have been removed since the call before. An error changes nothing.
func (r *Reader) Next(ctx context.Context) (Hints, error) {
	asked := r.st.Moment()
	l, err := r.list(ctx)
	if err != nil {
		return Hints{}, err
	}
	found := names{}
	late := r.st.Age(r.asked) >= Keep-Slack
	if found.hints.Missed = l.foreign || late || len(l.fresh) > readsMax; !r.begun {
		found.hints.Missed, l.read = true, nil
	}
	for some := range slices.Chunk(l.read, atOnce) {
		if err := r.read(ctx, some, &found); err != nil {
			return Hints{}, err
		}
	}
	if gap := r.number(l.fresh); gap {
		found.hints.Missed = true
	}
	r.saw(l)
	r.asked = asked
	return found.hints, nil
}

// listing is what a call has listed.
type listing struct {
	// fresh are the objects that were not listed before, and read those of them to be read.
	fresh []fresh
	read  []fresh
	// foreign says that there are new ones which are not of a feed, whose names are strange.
	foreign bool
	strange []string
	// newest is the latest time in a name, and modified that of the store.
	newest, modified int64
	// behind is where the listing goes on; empty if it is at its end.
	behind string
}

type fresh struct {
	keyspace.Hint
	name   string
	before int64 // once it has been read
}

// list lists what is not listed yet, in some requests at most.
func (r *Reader) list(ctx context.Context) (*listing, error) {
	l := &listing{behind: r.behind}
	if l.behind == "" {
		l.behind = keyspace.HintsFrom(r.place - int64(Slack))
	}
	for range pagesMax {
		page, err := r.st.ListPage(ctx, keyspace.Hints, l.behind, pageMax)
		if err != nil {
			return nil, err
		}
		for _, info := range page.Objects {
			l.behind = info.Name
			r.take(l, info)
		}
		if !page.More {
			l.behind = ""
			break
		}
	}
	l.read = l.fresh[:min(len(l.fresh), readsMax)]
	return l, nil
}

// take adds an object to what was listed.
func (r *Reader) take(l *listing, info backend.Info) {
	l.modified = max(l.modified, info.Modified.UnixNano())
	h, err := keyspace.ParseHint(info.Name)
	if err == nil {
		l.newest = max(l.newest, h.Time)
	}
	switch _, seen := r.seen[info.Name]; {
	case seen, err == nil && h.Handle == r.own:
	case err != nil:
		l.foreign, l.strange = true, append(l.strange, info.Name)
	default:
		l.fresh = append(l.fresh, fresh{Hint: h, name: info.Name})
	}
}

// read adds what objects hold. Of those that can't be read something is missed.
func (r *Reader) read(ctx context.Context, some []fresh, to *names) error {
	held := make([]content, len(some))
	_ = seam.Each(r.st.Runtime(), len(some), func(i int) error {
		o, err := r.st.Raw(ctx, some[i].name)
		if err == nil {
			held[i], err = decode(o.Data)
		}
		some[i].before = held[i].before
		if err != nil {
			held[i].Missed = true
			r.st.Log().Debug("hints can't be read", "object", r.st.FullName(some[i].name),
				"err", err)
		}
		return nil
	})
	for _, h := range held {
		to.hints.Missed = to.hints.Missed || h.Missed
		to.add(h.Names, hintsMax, hintBytesMax)
	}
	return ctx.Err()
}

// saw goes on to behind what was listed.
func (r *Reader) saw(l *listing) {
	if newest := min(l.newest, l.modified); newest > r.place {
		r.place = newest
	}
	r.behind = l.behind
	for _, f := range l.fresh {
		r.seen[f.name] = struct{}{}
	}
	for _, name := range l.strange {
		r.seen[name] = struct{}{}
	}
	from := keyspace.HintsFrom(r.place - int64(Slack))
	// any order: each is judged by itself
	maps.DeleteFunc(r.seen, func(name string, _ struct{}) bool { return name < from })
	if !r.begun {
		r.begun, r.since = r.behind == "", r.place
	}
	if len(r.seen) > seenMax { // from the beginning
		clear(r.seen)
		r.begun = false
	}
}

// number takes note of the numbers of objects, and reports whether some are missing. Of a handle
// that was not known those do not count that were there before all was listed.
func (r *Reader) number(all []fresh) (gap bool) {
	r.turn++
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b fresh) int {
		return cmp.Or(cmp.Compare(a.Handle, b.Handle), cmp.Compare(a.Number, b.Number))
	})
	for _, f := range all {
		h := r.handles[f.Handle]
		if h == nil {
			h = &handle{}
			if early := f.before != 0 && f.before < r.since-int64(Slack); early {
				h.number = f.Number
			}
			r.handles[f.Handle] = h
		}
		gap = gap || f.Number > h.number+1
		h.number, h.turn = max(h.number, f.Number), r.turn
	}
	if len(r.handles) > handlesMax {
		r.forget()
	}
	return gap
}

// forget forgets the handles that have been silent for longest, half of all.
func (r *Reader) forget() {
	ids := slices.SortedFunc(maps.Keys(r.handles), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.handles[a].turn, r.handles[b].turn), cmp.Compare(a, b))
	})
	for _, id := range ids[:len(ids)/2] {
		delete(r.handles, id)
	}
}
