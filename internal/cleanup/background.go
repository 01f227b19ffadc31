// Package cleanup does what commits have left to the background: it resolves the intents that a
// handle's own attempts have left in cells, and removes external values that no cell points to.
package cleanup

import (
	"context"
	"log/slog"
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/contention"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Limits of background work.
const (
	// resolveDelay leaves the handle's own next transaction the time to fold the
	// intents with its writes (chaining), which saves the writes of resolving.
	resolveDelay = 5 * time.Millisecond
	// backlogFactor times the concurrency is how many cells may wait to be resolved
	// before commits wait for them.
	backlogFactor = 8
)

// Background resolves what the handle's own attempts left in cells: the intents of
// committed ones, and those of dead ones and of ones whose outcome the handle does
// not know. Its goroutines end when there is nothing to do.
type Background struct {
	life  context.Context
	st    *store.Store
	rt    seam.Runtime
	rs    *resolve.Resolver
	keys  *contention.Keys
	limit *seam.Limiter
	max   int // cells waiting, above which commits wait
	// choresMax is how many goroutines do chores at once.
	choresMax int
	log       *slog.Logger

	mu      seam.Mutex  // guards all below
	queues  [2][]*batch // cold and hot cells, each by due time
	jobs    map[string]*job
	waiting int        // cells in queue that are not claimed
	room    seam.Event // set when waiting or chores fall to max; nil if nobody waits
	chores  []func(context.Context)
	choring int        // goroutines that do them, counted in active
	active  int        // goroutines
	hurry   seam.Event // set: batches are due at once
	idle    seam.Event // set when active falls to 0; nil if nobody waits
}

// batch is what one attempt left.
type batch struct {
	due  time.Time
	jobs []job
	// inTurn says that its cells are resolved one after another: the primary of a
	// pending attempt comes first.
	inTurn bool
}

// job is one cell in which an attempt's intent is to be resolved.
type job struct {
	name string
	tx   txid.ID
	// started and claimed exclude each other; guarded by Background.mu.
	started, claimed bool
	done             seam.Event // nil if nobody waits
}

// Options configures a Background.
type Options struct {
	Resolver *resolve.Resolver
	Store    *store.Store
	// Keys tells which cells others want as well.
	Keys *contention.Keys
	// Concurrency is how many cells are resolved at once.
	Concurrency int
	Logger      *slog.Logger
}

// New returns a Background, which the resolver tells of external values from now on. Its work
// ends with life, or by Drain.
func New(life context.Context, o Options) *Background {
	rt := o.Store.Runtime()
	b := &Background{
		life: life, st: o.Store, rt: rt, rs: o.Resolver, keys: o.Keys, log: o.Logger,
		max: backlogFactor * o.Concurrency, choresMax: o.Concurrency,
		limit: seam.NewLimiter(rt, o.Concurrency), jobs: map[string]*job{}, hurry: rt.NewEvent(),
	}
	o.Resolver.OnUnlink(b.Unlink)
	return b
}

// Resolve queues the cells in which the attempt left an intent. If inTurn is set, they
// are resolved one after another.
func (b *Background) Resolve(tx txid.ID, names []string, inTurn bool) {
	x := &batch{due: b.rt.Now().Add(resolveDelay), inTurn: inTurn}
	b.enqueue(x, 0, tx, names)
}

// ResolveLate is Resolve for a committed attempt with hot members: it leaves others the time
// to fold its intents with their own writes.
func (b *Background) ResolveLate(tx txid.ID, names []string) {
	delay := contention.FoldDelay(b.st.PutLatency())
	b.enqueue(&batch{due: b.rt.Now().Add(delay)}, 1, tx, names)
}

func (b *Background) enqueue(x *batch, queue int, tx txid.ID, names []string) {
	if len(names) == 0 {
		return
	}
	x.jobs = make([]job, len(names))
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, name := range names {
		x.jobs[i] = job{name: name, tx: tx}
		b.jobs[name] = &x.jobs[i]
	}
	b.waiting += len(names)
	q := &b.queues[queue]
	if *q = append(*q, x); len(*q) == 1 {
		b.goLocked(func() { b.run(q) })
	}
}

// Admit waits while so many cells are to be resolved, or so many chores to be done, that
// they should not become more.
func (b *Background) Admit(ctx context.Context) error {
	for {
		b.mu.Lock()
		if b.waiting <= b.max && len(b.chores) <= b.max {
			b.mu.Unlock()
			return nil
		}
		if b.room == nil {
			b.room = b.rt.NewEvent()
		}
		room := b.room
		b.mu.Unlock()
		if err := room.Wait(ctx); err != nil {
			return err
		}
	}
}

// Claim takes a cell out of the queue, since the caller is about to replace it and
// will fold the intent itself; it returns the attempt that left it, to be queued
// again if that comes to nothing. If the cell is being resolved just now, it waits
// for that. An attempt of unknown outcome is settled at once, as it would be in the
// background.
func (b *Background) Claim(ctx context.Context, name string) (txid.ID, error) {
	b.mu.Lock()
	j := b.jobs[name]
	if j == nil {
		b.mu.Unlock()
		return txid.ID{}, nil
	}
	if !j.started {
		j.claimed = true
		b.leftLocked(j)
		b.mu.Unlock()
		if b.rs.Outcome(j.tx) == cell.Undecided {
			_ = b.retire(ctx, j.name, j.tx) // else it is met like anybody's
			return j.tx, ctx.Err()
		}
		return j.tx, nil
	}
	if j.done == nil {
		j.done = b.rt.NewEvent()
	}
	done := j.done
	b.mu.Unlock()
	return txid.ID{}, done.Wait(ctx)
}

// leftLocked counts a cell that waits no more.
func (b *Background) leftLocked(j *job) {
	if j.claimed && b.jobs[j.name] == j {
		delete(b.jobs, j.name)
	}
	b.waiting--
	if b.waiting <= b.max {
		b.makeRoomLocked()
	}
}

// makeRoomLocked lets those look again who wait in Admit.
func (b *Background) makeRoomLocked() {
	if b.room != nil {
		b.room.Set()
		b.room = nil
	}
}

// Drain does at once what is queued, and waits until nothing is left to do, or ctx
// ends.
func (b *Background) Drain(ctx context.Context) error {
	b.mu.Lock()
	b.hurry.Set()
	if b.active == 0 {
		b.mu.Unlock()
		return nil
	}
	if b.idle == nil {
		b.idle = b.rt.NewEvent()
	}
	idle := b.idle
	b.mu.Unlock()
	return idle.Wait(ctx)
}

// Go runs f in a goroutine that Drain waits for, with the context of the background work.
func (b *Background) Go(f func(life context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.goLocked(func() { f(b.life) })
}

// goLocked starts a counted goroutine; the caller holds b.mu.
func (b *Background) goLocked(f func()) {
	b.active++
	b.rt.Go(func() {
		f()
		b.ended()
	})
}

// ended counts a goroutine that ends.
func (b *Background) ended() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active--
	if b.active == 0 && b.idle != nil {
		b.idle.Set()
		b.idle = nil
	}
}

// run starts the batches of a queue when they are due, and ends when it is empty.
func (b *Background) run(queue *[]*batch) {
	for {
		b.mu.Lock()
		x := (*queue)[0]
		b.mu.Unlock()
		wait := x.due.Sub(b.rt.Now())
		if wait > 0 && !b.hurry.IsSet() && b.life.Err() == nil {
			ctx, cancel := b.rt.WithTimeout(b.life, wait)
			_ = b.hurry.Wait(ctx)
			cancel()
			continue
		}
		b.start(x)
		b.mu.Lock()
		*queue = (*queue)[1:]
		last := len(*queue) == 0
		b.mu.Unlock()
		if last {
			return
		}
	}
}

// start resolves the cells of a batch that nobody has claimed, each as soon as there is
// a place for it. Until then it can be claimed.
//
// One timeout serves the requests of all, to begin with.
func (b *Background) start(x *batch) {
	life, work := b.st.Observer().Work(b.life, observe.Resolve)
	ctx, cancel := b.st.Bounded(life)
	w := &wave{
		ctx: ctx, cancel: cancel, life: life, work: work, cells: len(x.jobs), left: len(x.jobs),
	}
	for i := 0; i < len(x.jobs); {
		todo := x.jobs[i : i+1]
		if x.inTurn {
			todo = x.jobs
		}
		i += len(todo)
		placed := b.limit.Acquire(b.life) == nil // else life has ended, and so will the work
		b.mu.Lock()
		b.active++
		b.mu.Unlock()
		b.spawn(w, todo, placed)
	}
}

// wave is the cells of a batch that are being resolved.
type wave struct {
	ctx    context.Context
	cancel context.CancelFunc
	// life is ctx without the timeout.
	life  context.Context
	work  *observe.Work
	cells int
	left  int   // of the cells; guarded by Background.mu
	err   error // the first; guarded by Background.mu
}

func (b *Background) spawn(w *wave, todo []job, placed bool) {
	b.rt.Go(func() {
		for k := range todo {
			b.finish(w, &todo[k])
		}
		if placed {
			b.limit.Release()
		}
		b.mu.Lock()
		w.left -= len(todo)
		last := w.left == 0
		b.mu.Unlock()
		if last {
			w.cancel()
			w.work.Done(w.life, int64(w.cells), w.err)
		}
		b.ended()
	})
}

// finish resolves a cell, unless somebody has claimed it.
func (b *Background) finish(w *wave, j *job) {
	b.mu.Lock()
	if j.claimed {
		b.mu.Unlock()
		return
	}
	j.started = true
	b.leftLocked(j)
	b.mu.Unlock()
	err := b.retire(w.ctx, j.name, j.tx)
	if err != nil && w.ctx.Err() != nil && b.life.Err() == nil {
		err = b.retire(w.life, j.name, j.tx)
	}
	if err != nil {
		b.log.Debug("resolving was left to others",
			"cell", b.st.FullName(j.name), "attempt", j.tx, "err", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	if b.jobs[j.name] == j {
		delete(b.jobs, j.name)
	}
	if j.done != nil {
		j.done.Set()
	}
}

// retire folds what an own attempt has left in a cell. What the handle remembers of a hot one is
// old by now.
func (b *Background) retire(ctx context.Context, name string, tx txid.ID) error {
	return b.rs.Retire(ctx, name, tx, b.keys.Hot(name))
}
