package feed

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Limits of a writer.
const (
	// Every is the shortest time between two objects of a writer that is told none, and EveryMin
	// the shortest that it can be told.
	Every    = time.Second
	EveryMin = 50 * time.Millisecond
	// Keep is the age from which on objects are removed, by the store's clock. A follower that
	// comes later has missed some, and looks at everything.
	Keep = 3 * time.Minute
	// ownMax is how many of its objects a writer remembers, to remove them.
	ownMax = 4096
	// triesMax is how many requests are sent for the same names.
	triesMax = 3
	// pauseMax bounds the pause after requests that have failed, which doubles each time.
	pauseMax = time.Minute
	// flushMax is how long Close waits for the last object.
	flushMax = 2 * time.Second
)

// Writer writes the names that it is told into objects, in the background: one at a time, and the
// next no sooner than an interval later. While nothing is noted, nothing is written. What fails
// again and again is dropped.
type Writer struct {
	st    *store.Store
	rt    seam.Runtime
	life  context.Context
	every time.Duration
	id    string
	// written and dropped count objects.
	written, dropped atomic.Int64

	mu      seam.Mutex // guards all below
	pending names
	closed  bool
	working bool       // there is a goroutine that works
	wake    seam.Event // set when pending gets its first name, or at the end; nil if nobody waits
	idle    seam.Event // set when working ends; nil if nobody waits

	// What follows is that goroutine's.
	number uint32    // of the last object
	before int64     // its time
	due    time.Time // of the next request
	tries  int       // for the names that are pending
	fails  int       // requests that have failed in a row
	own    []object  // the oldest first
	denied bool      // it may not remove them
}

// object is one that is to be removed.
type object struct {
	name    string
	version backend.Version
	at      store.Moment
}

// NewWriter returns a writer whose work ends with life. An interval of 0 is Every.
func NewWriter(life context.Context, st *store.Store, every time.Duration) *Writer {
	if every <= 0 {
		every = Every
	}
	rt := st.Runtime()
	return &Writer{
		st: st, rt: rt, life: life, every: max(every, EveryMin),
		id: txid.New(rt.Entropy).String(),
	}
}

// ID is that of the handle in the names of the objects.
func (w *Writer) ID() string { return w.id }

// Written and Dropped count the objects that were written, and those that were given up.
func (w *Writer) Written() int64 { return w.written.Load() }

// Dropped counts the objects that were given up.
func (w *Writer) Dropped() int64 { return w.dropped.Load() }

// Note has names written soon. It does not wait.
func (w *Writer) Note(cells []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if w.pending.empty() {
		w.wakeLocked()
	}
	w.pending.add(cells, namesMax, nameBytesMax)
	if !w.working {
		w.working = true
		w.rt.Go(w.work)
	}
}

func (w *Writer) wakeLocked() {
	if w.wake != nil {
		w.wake.Set()
		w.wake = nil
	}
}

// Close writes what is pending, by one request, and waits for that, not for long. What is noted
// from now on is lost. Objects are left to sweeps: followers may not have read them.
func (w *Writer) Close(ctx context.Context) {
	w.mu.Lock()
	w.closed = true
	w.wakeLocked()
	if !w.working {
		w.mu.Unlock()
		return
	}
	if w.idle == nil {
		w.idle = w.rt.NewEvent()
	}
	idle := w.idle
	w.mu.Unlock()
	ctx, cancel := w.rt.WithTimeout(ctx, flushMax)
	defer cancel()
	_ = idle.Wait(ctx)
}

// work writes and removes objects until there is nothing to do.
func (w *Writer) work() {
	for do := w.next(); do != nil; do = w.next() {
		do()
	}
}

// next is what is to be done now: to wait, if nothing is; nil if there is nothing left.
func (w *Writer) next() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait, aged := w.due.Sub(w.rt.Now()), time.Duration(0)
	if len(w.own) > 0 {
		aged = w.st.Age(w.own[0].at)
	}
	switch noted := !w.pending.empty(); {
	case w.life.Err() != nil, w.closed && !noted:
	case noted && (w.closed || wait <= 0):
		h := w.pending.take()
		return func() { w.write(h) }
	case aged >= Keep:
		return w.remove
	case noted:
		return w.sleepLocked(wait)
	case len(w.own) > 0:
		return w.sleepLocked(Keep - aged)
	}
	w.working = false
	if w.idle != nil {
		w.idle.Set()
	}
	return nil
}

func (w *Writer) sleepLocked(d time.Duration) func() {
	wake := w.rt.NewEvent()
	w.wake = wake
	return func() {
		ctx, cancel := w.rt.WithTimeout(w.life, d)
		defer cancel()
		_ = wake.Wait(ctx)
	}
}

// write writes an object.
func (w *Writer) write(h Hints) {
	began := w.rt.Now()
	hint := keyspace.Hint{Time: w.time(), Handle: w.id, Number: w.number + 1}
	name := hint.Name()
	ctx, work := w.st.Observer().Work(w.life, observe.Feed)
	result, v, err := w.st.Announce(ctx, name, encode(content{h, w.before}))
	work.Done(ctx, int64(len(h.Names)), err)
	if result != store.Applied && result != store.Refused {
		w.failed(h, hint, err)
		return
	}
	w.written.Add(1)
	w.number, w.before = hint.Number, hint.Time
	w.tries, w.fails, w.due = 0, 0, began.Add(w.every)
	if v != "" && !w.denied {
		w.own = append(w.own, object{name, v, w.st.Moment()})
	}
	if len(w.own) > ownMax {
		w.own = w.own[1:]
	}
}

// time is the store's, as far as it is known.
func (w *Writer) time() int64 {
	if at := w.st.Clock(); at > 0 {
		return at
	}
	return max(w.rt.Now().UnixNano(), 0)
}

// failed has names written later, with those that have come meanwhile, or gives them up: by the
// number that is missing followers know.
func (w *Writer) failed(h Hints, hint keyspace.Hint, err error) {
	w.fails++
	pause := min(w.every<<min(w.fails, 16), pauseMax)
	w.due = w.rt.Now().Add(max(pause, min(backend.PauseAsked(err), pauseMax)))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tries++; w.tries == triesMax || w.closed {
		w.tries, w.number, w.before = 0, hint.Number, hint.Time
		w.dropped.Add(1)
		w.st.Log().Debug("hints for followers were dropped", "names", len(h.Names), "err", err)
		return
	}
	later := w.pending.take()
	w.pending.add(h.Names, namesMax, nameBytesMax)
	w.pending.add(later.Names, namesMax, nameBytesMax)
	w.pending.hints.Missed = w.pending.hints.Missed || h.Missed || later.Missed
}

// remove removes the oldest object. What fails is left to sweeps.
func (w *Writer) remove() {
	o := w.own[0]
	w.own = w.own[1:]
	ctx, work := w.st.Observer().Work(w.life, observe.Feed)
	err := w.st.Withdraw(ctx, o.name, o.version)
	work.Done(ctx, 1, err)
	if errors.Is(err, backend.ErrDenied) {
		w.denied, w.own = true, nil
	}
}
