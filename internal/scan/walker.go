package scan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// Limits of reading ahead.
const (
	// aheadMax is how many cells a Walker is ahead of its consumer. The store bounds how
	// many requests are under way.
	aheadMax = 1024
	// aheadBytes is how many bytes they may have, listed or external, but that the next
	// cell may have any size.
	aheadBytes = 16 << 20
	// pageAhead is the number of cells that are listed, and not yet being read, below
	// which another page is asked for.
	pageAhead = aheadMax
	// replacedMax bounds how often a cell's external value is found to have been replaced.
	replacedMax = 100
)

// Item is a cell that a Walker has reached.
type Item struct {
	Found
	// Data is the external value, if the cell has one and values are wanted. Nobody may
	// modify it.
	Data []byte
	// Live says that a request of the Walker has shown the cell, not a listing that was
	// known at one instant.
	Live bool
}

// Walker goes through a range in its order, tombstones included. It lists pages and reads
// cells ahead of its consumer, in a bounded number and in bounded memory. A cell that a
// listing shows to be as the cache has it costs no request; without values, neither does
// one without an intent.
//
// One goroutine at a time may use it. Stop must follow.
type Walker struct {
	*Scanner
	ctx    context.Context
	cancel context.CancelFunc
	values bool
	limit  int
	// since is the logical time after which a read must have been sent.
	since uint64

	mu     seam.Mutex // guards all below, but not what pages do while asking is set
	pages  *pages
	listed []Found // not yet in ahead
	ahead  []*flight
	bytes  int64 // of ahead
	live   int   // of ahead and listed: may have a value
	passed int   // cells with a value that were returned
	missed int   // cells that looked as if they had one, since the last that did
	names  int   // listed so far
	at     time.Time
	asking seam.Event
	err    error // of the listing
	// running counts goroutines; idle, if not nil, is set when it falls to 0.
	running int
	idle    seam.Event
	stopped bool
}

// flight is a cell on its way to the consumer.
type flight struct {
	Item
	done  seam.Event // nil if nothing is being read
	err   error
	bytes int64
	// late says that there was no room for its external value.
	late bool
}

// WalkOptions are what a Walker knows, and must know.
type WalkOptions struct {
	// Since is the logical time after which a read must have been sent; 0 is any.
	Since uint64
	// Known are listings that need not be made again, the best first.
	Known []*Listing
}

// Walk begins to walk a range. Requests end with ctx.
func (s *Scanner) Walk(ctx context.Context, r Range, o WalkOptions) *Walker {
	w := &Walker{
		Scanner: s, values: !r.KeysOnly, limit: r.Limit, since: o.Since,
		pages: s.newPages(r, o.Known),
	}
	w.ctx, w.cancel = s.rt.WithCancel(ctx)
	w.mu.Lock()
	w.fillLocked(false)
	w.mu.Unlock()
	return w
}

// Next returns the next cell; false behind the last. An error is final.
func (w *Walker) Next() (item Item, ok bool, err error) {
	for {
		w.mu.Lock()
		if w.stopped {
			w.mu.Unlock()
			return Item{}, false, context.Canceled
		}
		w.fillLocked(true)
		if len(w.ahead) > 0 {
			f := w.ahead[0]
			w.mu.Unlock()
			return w.land(f)
		}
		asking, err := w.asking, w.err
		w.mu.Unlock()
		if asking == nil || err != nil {
			return Item{}, false, err
		}
		if err := asking.Wait(w.ctx); err != nil {
			return Item{}, false, err
		}
	}
}

// land waits for the first cell that is ahead, and takes it out.
func (w *Walker) land(f *flight) (Item, bool, error) {
	if f.done != nil {
		if err := f.done.Wait(w.ctx); err != nil {
			return Item{}, false, err
		}
	}
	if f.err == nil && f.late {
		f.err = w.download(f)
	}
	if f.err != nil {
		return Item{}, false, f.err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead[0] = nil // else it would live as long as the array
	w.ahead = w.ahead[1:]
	w.bytes -= f.bytes
	if f.hopeful {
		w.live--
	}
	switch {
	case f.PresentAt(w.st.Clock()):
		w.passed++
		w.missed = 0
	case f.hopeful:
		w.missed++
	}
	w.fillLocked(false)
	return f.Item, true, nil
}

// Stop ends the walk, with all its requests. Any goroutine may call it, also twice.
func (w *Walker) Stop() {
	w.cancel()
	w.mu.Lock()
	w.stopped = true
	var idle seam.Event
	if w.running > 0 {
		if w.idle == nil { // else another Stop waits as well
			w.idle = w.rt.NewEvent()
		}
		idle = w.idle
	}
	w.mu.Unlock()
	if idle != nil {
		_ = idle.Wait(context.Background())
	}
}

// At is the instant at which all was current that was returned and is not Live; zero if
// there is none. At the end of the walk it is zero if anything was listed.
func (w *Walker) At() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// Listed is how many names have been listed so far.
func (w *Walker) Listed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.names
}

// fillLocked puts cells into flight while there is room, and asks for the next page when
// few are left. With as many as the limit asks for, it goes on only if the consumer wants one
// more: it may have use for none of those. Each cell in a row that had no value after all, since
// that was due or never committed, lets it go on by one: so however many of them there are, it
// takes the logarithm of their number of rounds, and reads twice as many at most. The caller
// holds w.mu.
func (w *Walker) fillLocked(wanted bool) {
	if w.stopped {
		return
	}
	for len(w.listed) > 0 && w.roomLocked(&w.listed[0], wanted) {
		f := &flight{Item: Item{Found: w.listed[0], Live: w.listed[0].live}}
		w.listed = w.listed[1:]
		w.ahead = append(w.ahead, f)
		w.startLocked(f)
	}
	if w.asking == nil && w.err == nil && len(w.listed) < pageAhead && !w.enoughLocked(wanted) &&
		!w.pages.done() {
		w.asking = w.rt.NewEvent()
		w.goLocked(w.ask)
	}
}

// roomLocked reports whether one more cell may be put into flight. The caller holds w.mu.
func (w *Walker) roomLocked(f *Found, wanted bool) bool {
	if w.limit > 0 && w.passed+len(w.ahead) >= w.limit+w.missed {
		return wanted && len(w.ahead) == 0
	}
	return len(w.ahead) == 0 || len(w.ahead) < aheadMax && w.bytes+f.Size <= aheadBytes
}

// enoughLocked reports whether the cells that are listed may be all that are wanted. The
// caller holds w.mu.
func (w *Walker) enoughLocked(wanted bool) bool {
	return w.limit > 0 && (w.live > 0 || !wanted) && w.passed+w.live >= w.limit+w.missed
}

// startLocked begins to read what the listing does not tell. The caller holds w.mu.
func (w *Walker) startLocked(f *flight) {
	if !f.mayLive() {
		return
	}
	asListed := !f.known
	if f.known = f.reading != nil && f.settled; !f.known && !f.damaged {
		w.recall(f)
	}
	switch {
	case !f.known && !w.values && asListed && !f.damaged && cell.ShapeOf(f.Size) == cell.ShapeValue:
		return
	case !f.known:
		f.reading, f.bytes, f.Live = nil, f.Size, true
		w.bytes += f.bytes
	case !w.values || f.Value().Kind != cell.External:
		return
	}
	f.done = w.rt.NewEvent()
	w.goLocked(func() {
		f.err = w.load(f)
		f.done.Set()
	})
}

// recall learns what the cache has of a cell. What is not final it leaves to a read: the
// version of such a cell proves nothing. An intent that is known to have committed may have
// been undecided at the instant of a listing.
func (w *Walker) recall(f *flight) {
	s, ok := w.st.Listed(f.Name, f.Version, f.asked)
	if !ok {
		return
	}
	rd := w.rs.Known(s)
	in := s.Cell.Intent
	if locked := in != nil && in.Action == cell.Lock; rd.Final() || locked {
		late := in != nil && !locked && rd.Outcome != cell.Dead
		f.Live = f.Live || late || s.Version != f.Version
		f.learn(rd)
	}
}

// goLocked starts a goroutine that Stop waits for. The caller holds w.mu.
func (w *Walker) goLocked(do func()) {
	w.running++
	w.rt.Go(func() {
		do()
		w.mu.Lock()
		w.running--
		idle := w.idle
		if w.running > 0 {
			idle = nil
		}
		w.mu.Unlock()
		if idle != nil {
			idle.Set()
		}
	})
}

// ask lists another page.
func (w *Walker) ask() {
	found, err := w.pages.next(w.ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names += len(found)
	w.at = w.pages.at
	if w.pages.live && w.pages.done() {
		w.at = time.Time{}
	}
	for i := range found {
		if found[i].hopeful = found[i].mayLive(); found[i].hopeful {
			w.live++
		}
	}
	w.listed, w.err = append(w.listed, found...), err
	w.asking.Set()
	w.asking = nil
	w.fillLocked(false)
}

// read learns the cell, by a request if the disk does not have it as it was listed.
func (w *Walker) read(f *flight) error {
	if !f.damaged {
		if rd, ok := w.rs.Kept(f.Name, f.Version, f.asked); ok {
			f.Live = f.live
			f.learn(rd)
			return nil
		}
	}
	rd, err := w.rs.Shared(w.ctx, f.Name, w.since)
	if err == nil {
		f.learn(rd)
	}
	return err
}

// load reads a cell, and its external value if there is room for that.
func (w *Walker) load(f *flight) error {
	if f.reading == nil {
		if err := w.read(f); err != nil {
			return err
		}
	}
	v := f.Value()
	if !w.values || v.Kind != cell.External {
		return nil
	}
	w.mu.Lock()
	f.late = w.bytes+int64(v.Size) > aheadBytes
	if !f.late {
		f.bytes += int64(v.Size)
		w.bytes += int64(v.Size)
	}
	w.mu.Unlock()
	if f.late {
		return nil
	}
	return w.download(f)
}

// download fetches a cell's external value. If that is gone, the cell has been written
// since, and is read again.
func (w *Walker) download(f *flight) error {
	for range replacedMax {
		v := f.Value()
		if v.Kind != cell.External {
			return nil
		}
		var err error
		f.Data, err = w.st.Download(w.ctx, f.Name, v)
		if !errors.Is(err, store.ErrMissing) || errors.Is(err, backend.ErrCorrupt) {
			return err
		}
		rd, err := w.rs.Effective(w.ctx, f.Name, resolve.Role{})
		if err != nil {
			return err
		}
		f.Live = true
		if f.learn(rd); f.Value().Ref == v.Ref {
			return w.st.LostValue(f.Name, v)
		}
	}
	return fmt.Errorf("value of %q replaced %d times while it was read: %w",
		w.st.FullName(f.Name), replacedMax, backend.ErrUnavailable)
}
