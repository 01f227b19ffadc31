package follow

import (
	"context"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

const (
	// replacedMax bounds how often a cell's external value is found to have been replaced.
	replacedMax = 100
	// dueMax is how often a cell is read again as its value becomes due meanwhile.
	dueMax = 3
)

// news is a cell that has lost its value, or must be read.
type news struct {
	sight
	finding
	reading
	entry Entry
	// tells says that the key has another value.
	tells bool
	asked bool // by a request
	value cell.Value
	data  []byte
	old   []byte
	err   error // of this cell alone: it can't be read for what it holds
}

// tell reads what must be read, some at a time, and tells what has changed.
func (p *pass) tell(all []*news) error {
	for len(all) > 0 {
		n, bytes := 0, int64(0)
		for n < len(all) && n < readsMax && (n == 0 || bytes+p.size(all[n]) <= readsBytes) {
			bytes += p.size(all[n])
			n++
		}
		if err := p.read(all[:n]); err != nil {
			return err
		}
		p.expectSizes(all[:n])
		if err := p.download(all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// size is that of the object listed, if it must be read; of one that was not listed it is what
// others had.
func (p *pass) size(n *news) int64 {
	switch {
	case n.finding != doubtful:
		return 0
	case n.row == nil:
		return p.likely
	}
	return n.row.Size
}

// expectSizes learns from cells that were read what those may take that are not listed, either.
// It forgets large ones slowly.
func (p *pass) expectSizes(some []*news) {
	unlisted, largest := false, int64(readsBytes/readsMax)
	for _, n := range some {
		if n.row == nil && n.asked {
			unlisted, largest = true, max(largest, int64(len(n.value.Data)))
		}
	}
	if unlisted {
		p.likely = max(largest, p.likely/4)
	}
}

// read reads cells at once.
func (p *pass) read(some []*news) error {
	var doubts []*news
	for _, n := range some {
		if n.finding == doubtful {
			doubts = append(doubts, n)
		} else {
			n.entry, n.old = n.absent(), p.old(n.name, n.seen)
		}
	}
	err := p.st.Wave(len(doubts), func(i int) error { return p.readOne(doubts[i]) })
	for _, n := range doubts {
		if n.asked {
			p.sum.Read++
		}
	}
	return err
}

// readOne reads a cell, and judges it. A value that becomes due meanwhile is read again.
func (p *pass) readOne(n *news) error {
	n.old = p.old(n.name, n.seen)
	for again := 0; ; again++ {
		now := p.now
		if again > 0 {
			now = p.st.Clock()
		}
		rd, told, err := p.effective(n, again > 0)
		switch {
		case errors.Is(err, backend.ErrCorrupt), errors.Is(err, store.ErrFormat):
			n.err = err
			return nil
		case err != nil:
			return err
		}
		if n.held = !told; n.held {
			return nil
		}
		n.learn(p, rd, now)
		v, _ := rd.Effective()
		if v.Due(now) || !v.Due(p.st.Clock()) || again == dueMax {
			return nil
		}
	}
}

// learn judges a reading, at a time of the store's clock before it.
func (n *news) learn(p *pass, rd resolve.Reading, now int64) {
	v, w := rd.Effective()
	r := reading{present: v.Kind != cell.Absent, writer: w, expires: v.Expires}
	if in := rd.Cell.Intent; rd.Final() || in.Action == cell.Lock {
		r.state = StateOf(p.st.ID(), n.name, rd.Version)
	}
	n.reading, n.value = r, v
	n.entry, n.finding, n.tells = n.judge(r, now)
}

// old is the value that was last seen, if the cache has it.
func (p *pass) old(name string, seen Entry) []byte {
	rd, ok := p.rs.Cached(name)
	if !ok || !seen.Present {
		return nil
	}
	v, w := rd.Effective()
	if w != seen.Writer || v.Kind != cell.Inline {
		return nil
	}
	return v.Data
}

// effective finds out a cell's effective value, and reports whether it can be told yet: it waits
// for a transaction that holds the cell only if that has done so the last time. Again asks anew.
func (p *pass) effective(n *news, again bool) (rd resolve.Reading, told bool, err error) {
	since := p.since
	if again {
		since = p.st.Tick()
	}
	if n.row != nil && !n.row.Damaged && !again {
		if s, ok := p.st.Listed(n.name, n.row.Version, n.row.asked); ok {
			rd := p.rs.Known(s)
			if in := s.Cell.Intent; rd.Final() || in.Action == cell.Lock {
				return rd, true, nil
			}
		} else if rd, ok := p.rs.Kept(n.name, n.row.Version, n.row.asked); ok {
			return rd, true, nil
		}
	}
	n.asked = true
	if !p.again[n.name] {
		return p.rs.Glance(p.ctx, n.name, since)
	}
	rd, err = p.rs.Shared(p.ctx, n.name, since)
	if errors.Is(err, resolve.ErrHeld) {
		return rd, false, nil
	}
	return rd, true, err
}

// download fetches external values, some at a time, and tells what has changed.
func (p *pass) download(some []*news) error {
	for len(some) > 0 {
		n, bytes := 0, int64(0)
		var outside []*news
		for n < len(some) && (n == 0 || bytes+some[n].external() <= readsBytes) {
			if size := some[n].external(); size > 0 {
				bytes, outside = bytes+size, append(outside, some[n])
			}
			n++
		}
		err := seam.Each(p.rt, len(outside), func(i int) error {
			return p.fetch(p.ctx, outside[i])
		})
		if err != nil {
			return err
		}
		for i, x := range some[:n] {
			some[i] = nil // its value is not to be kept while others are told
			if err := p.conclusion(x); err != nil {
				return err
			}
		}
		some = some[n:]
	}
	return nil
}

// external is the size of the value that must be fetched.
func (n *news) external() int64 {
	if !n.tells || n.value.Kind != cell.External {
		return 0
	}
	return int64(max(n.value.Size, 1))
}

// fetch fetches a cell's external value. If that is gone, the cell has been written since, and is
// read again.
func (p *pass) fetch(ctx context.Context, n *news) error {
	for range replacedMax {
		if n.external() == 0 || n.held {
			return nil
		}
		data, err := p.st.Download(ctx, n.name, n.value)
		switch {
		case err == nil:
			n.data = data
			return nil
		case errors.Is(err, backend.ErrCorrupt):
			n.err = err
			return nil
		case !errors.Is(err, store.ErrMissing):
			return err
		}
		ref, now := n.value.Ref, p.st.Clock()
		rd, told, err := p.rs.Glance(ctx, n.name, p.st.Tick())
		if err != nil {
			return err
		}
		if n.held = !told; n.held {
			return nil
		}
		if n.learn(p, rd, now); n.value.Ref == ref {
			n.err = p.st.LostValue(n.name, n.value)
			return nil
		}
	}
	return fmt.Errorf("value of %q replaced %d times while it was read: %w",
		p.st.FullName(n.name), replacedMax, backend.ErrUnavailable)
}

// conclusion notes what has become of a cell, and tells it if that is news.
func (p *pass) conclusion(n *news) error {
	due := n.finding == lost && n.seen.Writer == n.entry.Writer && !n.entry.Writer.IsZero() &&
		n.entry.Expires <= p.now
	p.moved = p.moved || n.err != nil || !n.held && n.finding != same && !due
	switch {
	case n.err != nil:
		p.held[n.name] = true
		return p.report(Change{Name: n.name, Err: n.err})
	case n.held:
		p.held[n.name] = true
		return nil
	}
	p.expects(n.name, n.entry)
	c := Change{Name: n.name, Entry: n.entry, Old: n.old, was: n.seen.Present}
	switch {
	case n.tells && n.value.Kind == cell.External:
		c.Value = n.data
	case n.tells:
		c.Value = n.value.Data
	case n.finding == same && n.entry != n.seen:
		return p.restate(n.name, n.entry)
	case n.finding != lost:
		p.book.saw(n.name, n.entry)
		return nil
	}
	return p.report(c)
}
