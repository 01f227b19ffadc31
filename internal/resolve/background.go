package resolve

import (
	"context"
	"log/slog"
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Limits of background work.
const (
	// resolveDelay leaves the handle's own next transaction the time to fold the
	// intents with its writes (chaining), which saves the writes of resolving.
	resolveDelay = 5 * time.Millisecond
	// hotDelayNum by hotDelayDen is how many latencies of a write it leaves others the time
	// to fold the intents of an attempt with hot members.
	hotDelayNum, hotDelayDen = 3, 2
	// foldTriesMax bounds how often a cell is tried. What is left then is for
	// whoever meets it.
	foldTriesMax = 16
	// backlogFactor times the concurrency is how many cells may wait to be resolved
	// before commits wait for them.
	backlogFactor = 8
)

// background resolves what the handle's own attempts left in cells: the intents of
// committed ones, and those of dead ones and of ones whose outcome the handle does
// not know. Its goroutines end when there is nothing to do.
type background struct {
	life  context.Context
	r     *Resolver
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
	// started and claimed exclude each other; guarded by background.mu.
	started, claimed bool
	done             seam.Event // nil if nobody waits
}

func newBackground(life context.Context, r *Resolver, o Options) *background {
	return &background{
		life: life, r: r, log: o.Logger, max: backlogFactor * o.Concurrency,
		choresMax: o.Concurrency,
		limit:     seam.NewLimiter(r.rt, o.Concurrency),
		jobs:      map[string]*job{}, hurry: r.rt.NewEvent(),
	}
}

// Resolve queues the cells in which the attempt left an intent. If inTurn is set, they
// are resolved one after another.
func (r *Resolver) Resolve(tx txid.ID, names []string, inTurn bool) {
	x := &batch{due: r.rt.Now().Add(resolveDelay), inTurn: inTurn}
	r.enqueue(x, 0, tx, names)
}

// ResolveLate is Resolve for a committed attempt with hot members: it leaves others the time
// to fold its intents with their own writes.
func (r *Resolver) ResolveLate(tx txid.ID, names []string) {
	delay := r.st.PutLatency() * hotDelayNum / hotDelayDen
	r.enqueue(&batch{due: r.rt.Now().Add(delay)}, 1, tx, names)
}

func (r *Resolver) enqueue(x *batch, queue int, tx txid.ID, names []string) {
	if len(names) == 0 {
		return
	}
	b := r.bg
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
func (r *Resolver) Admit(ctx context.Context) error {
	b := r.bg
	for {
		b.mu.Lock()
		if b.waiting <= b.max && len(b.chores) <= b.max {
			b.mu.Unlock()
			return nil
		}
		if b.room == nil {
			b.room = r.rt.NewEvent()
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
func (r *Resolver) Claim(ctx context.Context, name string) (txid.ID, error) {
	b := r.bg
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
		if r.outcomes.Of(j.tx) == cell.Undecided {
			_ = r.retire(ctx, j.name, j.tx) // else it is met like anybody's
			return j.tx, ctx.Err()
		}
		return j.tx, nil
	}
	if j.done == nil {
		j.done = r.rt.NewEvent()
	}
	done := j.done
	b.mu.Unlock()
	return txid.ID{}, done.Wait(ctx)
}

// leftLocked counts a cell that waits no more.
func (b *background) leftLocked(j *job) {
	if j.claimed && b.jobs[j.name] == j {
		delete(b.jobs, j.name)
	}
	b.waiting--
	if b.waiting <= b.max {
		b.makeRoomLocked()
	}
}

// makeRoomLocked lets those look again who wait in Admit.
func (b *background) makeRoomLocked() {
	if b.room != nil {
		b.room.Set()
		b.room = nil
	}
}

// Drain does at once what is queued, and waits until nothing is left to do, or ctx
// ends.
func (r *Resolver) Drain(ctx context.Context) error {
	b := r.bg
	b.mu.Lock()
	b.hurry.Set()
	if b.active == 0 {
		b.mu.Unlock()
		return nil
	}
	if b.idle == nil {
		b.idle = r.rt.NewEvent()
	}
	idle := b.idle
	b.mu.Unlock()
	return idle.Wait(ctx)
}

// Go runs f in a goroutine that Drain waits for, with the context of the background work.
func (r *Resolver) Go(f func(life context.Context)) {
	b := r.bg
	b.mu.Lock()
	defer b.mu.Unlock()
	b.goLocked(func() { f(b.life) })
}

// goLocked starts a counted goroutine; the caller holds b.mu.
func (b *background) goLocked(f func()) {
	b.active++
	b.r.rt.Go(func() {
		f()
		b.ended()
	})
}

// ended counts a goroutine that ends.
func (b *background) ended() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active--
	if b.active == 0 && b.idle != nil {
		b.idle.Set()
		b.idle = nil
	}
}

// run starts the batches of a queue when they are due, and ends when it is empty.
func (b *background) run(queue *[]*batch) {
	for {
		b.mu.Lock()
		x := (*queue)[0]
		b.mu.Unlock()
		wait := x.due.Sub(b.r.rt.Now())
		if wait > 0 && !b.hurry.IsSet() && b.life.Err() == nil {
			ctx, cancel := b.r.rt.WithTimeout(b.life, wait)
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
func (b *background) start(x *batch) {
	ctx, cancel := b.r.st.Bounded(b.life)
	w := &wave{ctx: ctx, cancel: cancel, left: len(x.jobs)}
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
	left   int // cells; guarded by background.mu
}

func (b *background) spawn(w *wave, todo []job, placed bool) {
	b.r.rt.Go(func() {
		for k := range todo {
			b.finish(w.ctx, &todo[k])
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
		}
		b.ended()
	})
}

// finish resolves a cell, unless somebody has claimed it.
func (b *background) finish(ctx context.Context, j *job) {
	b.mu.Lock()
	if j.claimed {
		b.mu.Unlock()
		return
	}
	j.started = true
	b.leftLocked(j)
	b.mu.Unlock()
	err := b.r.retire(ctx, j.name, j.tx)
	if err != nil && ctx.Err() != nil && b.life.Err() == nil {
		err = b.r.retire(b.life, j.name, j.tx)
	}
	if err != nil {
		b.log.Debug("resolving was left to others",
			"cell", b.r.st.FullName(j.name), "attempt", j.tx, "err", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.jobs[j.name] == j {
		delete(b.jobs, j.name)
	}
	if j.done != nil {
		j.done.Set()
	}
}

// retire folds the intent that one of the handle's own attempts left in a cell, if
// it is still there. An attempt whose outcome is not known is killed for that, if it
// can be.
func (r *Resolver) retire(ctx context.Context, name string, tx txid.ID) (err error) {
	s, cached := r.st.Cached(name)
	cached = cached && !r.Hot(name)
	var unknown *store.Write // a fold whose answer was lost
	for try := range foldTriesMax {
		if err := r.rest(ctx, try); err != nil {
			return err
		}
		if !cached {
			if s, err = r.Read(ctx, name); err != nil {
				return err
			}
		}
		if !s.Cell.Holds(tx) {
			if since, ok := r.outcomes.Since(tx); !cached || ok && s.Proved > since {
				if unknown != nil {
					r.Replaced(unknown)
				}
				return nil
			}
			cached = false
			continue
		}
		cached = false
		rd, err := r.Status(ctx, s)
		if err == nil && rd.Cell.Holds(tx) && rd.Outcome == cell.Undecided {
			rd, err = r.kill(ctx, rd, 0)
		}
		if err != nil {
			return err
		}
		if rd.Cell == nil || !rd.Cell.Holds(tx) || rd.Outcome == cell.Undecided {
			continue
		}
		res, w, err := r.tryFold(ctx, rd, 0)
		switch res {
		case store.Applied, store.NotApplied:
			return err
		case store.Unknown:
			unknown = w
		}
	}
	return r.outrun(name, foldTriesMax)
}
