package txn

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/strictkv/strictkv/internal/latch"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/seam"
)

// Limits of groups.
const (
	// gatherPart is the part of a PUT's latency that a group waits for those who have been
	// in the groups before it and are expected to come again. Less than gatherMin is not
	// worth a timer; after gatherMax, their intents would be resolved instead of folded.
	gatherPart = 16
	gatherMin  = 20 * time.Microsecond
	gatherMax  = 4 * time.Millisecond
	// collectMax is how long a group runs functions before it commits what it has.
	collectMax = 250 * time.Millisecond
	// lapsesMax is how often a group runs again since a value was due before it had committed.
	lapsesMax = 3
)

// errNobody ends a group: its waiters, if there are any, go on by themselves.
var errNobody = errors.New("nobody is left in the group")

// group is several transactions of one handle that commit in one attempt: group commit (DeWitt
// et al. 1984). While they wait for the latch, nothing is done. Then a transaction of its own,
// t, runs their functions, each on what those before have staged, and commits the sum: they are
// serialized in this order, at the instant of its commit. If an attempt fails, their functions
// are run again.
//
// A function runs on the goroutine of its caller. One that fails, panics, stages an
// external value, scans, or takes too long is left out, with all that it has done: it goes on
// by itself. If the caller leaves before the group begins to commit, the functions of the
// others are run again, without it.
type group struct {
	t *txn
	// ends is when the first value is due that the last run has seen, and lapses how many runs
	// have seen one that was due before they had committed.
	ends   int64
	lapses int

	mu      seam.Mutex // guards all below
	cancel  context.CancelFunc
	waiters []*txn
	// left is how many of them have gone; committing says that an attempt is under way which
	// may have committed what they did.
	left       int
	committing bool
}

// drive waits until a latch is granted, and sees to it that its waiters commit; and so on, as
// long as they come again.
func (e *Engine) drive(life context.Context, place *latch.Latch[*txn]) {
	for place != nil {
		if ready := place.Ready(); ready != nil {
			_ = ready.Wait(context.Background()) // which never ends
		}
		e.gather(life, place)
		g := &group{}
		g.waiters = e.latches.Close(place, func(t *txn) { t.waiter.group = g })
		// The eldest first: there may be no time for all, every time.
		slices.SortStableFunc(g.waiters, func(a, b *txn) int { return a.start.Compare(b.start) })
		switch n := len(g.waiters); {
		case n == 1 && g.waiters[0].waiter.Tell(latch.Go):
			return // the turn is the waiter's now
		case n > 1:
			err := g.commit(e)
			place = e.latches.Done(place)
			g.end(err)
		default:
			place = e.latches.Done(place)
		}
	}
}

// gather waits a moment for those who are expected to come again.
func (e *Engine) gather(life context.Context, place *latch.Latch[*txn]) {
	d := min(e.st.PutLatency()/gatherPart, gatherMax)
	if d < gatherMin {
		return
	}
	if full := e.latches.Full(place); full != nil {
		ctx, cancel := e.rt.WithTimeout(life, d)
		defer cancel()
		_ = full.Wait(ctx)
	}
}

// commit runs the transaction that commits for all.
func (g *group) commit(e *Engine) error {
	ctx, cancel := e.rt.WithCancel(context.WithoutCancel(g.waiters[0].ctx))
	defer cancel()
	g.t = e.begin(ctx)
	g.t.solo, g.t.group = true, g
	for _, r := range g.waiters {
		// The tie-break stays its own: one of them may go on by itself, and two attempts of
		// one rank would wait for each other.
		g.t.priority.Time = min(g.t.priority.Time, r.priority.Time)
	}
	g.mu.Lock()
	g.cancel = cancel
	g.mu.Unlock()
	return g.t.run(g.collect)
}

// collect runs the functions, one after another, until it has those of waiters who all are
// there.
func (g *group) collect(tx *Tx) error {
	rt := g.t.e.rt
	if g.ends != 0 && g.ends <= g.t.e.st.Clock() {
		g.lapses++
	}
	if g.lapses == lapsesMax {
		return errNobody // each for itself sees no value of another's that is about to end
	}
	for {
		g.mu.Lock()
		waiters := g.waiters
		g.mu.Unlock()
		tx.forget()
		var kept []*txn
		until := rt.Now().Add(collectMax)
		for _, r := range waiters {
			if len(kept) > 0 && !rt.Now().Before(until) {
				r.waiter.Tell(latch.Again)
			} else if g.runOf(r, tx) {
				kept = append(kept, r)
			}
		}
		if g.keep(kept) {
			g.ends = tx.ends()
			return nil
		}
		if len(kept) == 0 {
			return errNobody
		}
	}
}

// runOf has a waiter run its function on top of tx, and merges what that did. It tells
// whether the waiter stays in the group.
func (g *group) runOf(t *txn, tx *Tx) bool {
	r, rt := &t.waiter, g.t.e.rt
	if r.Gone() {
		return false
	}
	ran := rt.NewEvent()
	r.tx, r.ran = &Tx{t: t, why: Regrouped, fresh: tx.fresh, base: tx, now: tx.now}, ran
	if !r.Tell(latch.Run) {
		return false
	}
	ctx, cancel := rt.WithTimeout(context.Background(), collectMax)
	defer cancel()
	switch {
	case ran.Wait(ctx) != nil:
		r.Tell(latch.Slow) // once it has returned
		return false
	case !r.good:
		r.Tell(latch.Solo)
		return false
	}
	tx.merge(r.tx)
	return true
}

// keep makes those the waiters whose functions have run, if there are any, and all still are.
func (g *group) keep(waiters []*txn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiters, g.left = waiters, 0
	return len(waiters) > 0 && g.completeLocked()
}

// seal begins to send what commits, if all waiters still are there: who leaves from now on is
// in doubt. Else the functions of the others are to be run again.
func (g *group) seal() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.committing = g.completeLocked()
	return g.committing
}

// unseal says that what was sent has come to nothing.
func (g *group) unseal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.committing = false
}

func (g *group) completeLocked() bool {
	for _, r := range g.waiters {
		if r.waiter.Gone() {
			return false
		}
	}
	return true
}

// without is the error of a waiter that has left. If the group is committing, it may commit
// what it has done, too. When nobody is left, it gives up.
func (g *group) without(t *txn, err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.waiters, t) {
		return err
	}
	if g.left++; g.left == len(g.waiters) && g.cancel != nil {
		g.cancel()
	}
	if !g.committing {
		return err
	}
	t.endsAs(observe.InDoubt)
	return &InDoubtError{Names: t.waiter.tx.changed(), Err: err}
}

// end tells the waiters what the group has come to.
func (g *group) end(err error) {
	var doubt *InDoubtError
	inDoubt := errors.As(err, &doubt)
	stats, how := &g.t.e.stats, observe.Committed
	g.mu.Lock()
	left := g.left // they have been told already
	g.mu.Unlock()
	switch n := int64(len(g.waiters)-left) - 1; {
	case inDoubt:
		how = observe.InDoubt
		stats.InDoubt.Add(n)
	case err == nil && g.t.linked == nil:
		how = observe.ReadOnly
		stats.ReadOnly.Add(n)
	case err == nil:
		stats.Committed.Add(n)
		stats.Grouped.Add(n + 1)
	}
	for _, r := range g.waiters {
		o := latch.End
		r.waiter.how = how
		switch {
		case inDoubt:
			r.waiter.err = &InDoubtError{
				Attempt: doubt.Attempt, Names: r.waiter.tx.changed(), Err: doubt.Err,
			}
		case err != nil: // not applied; whom it concerns will find out
			o = latch.Solo
		}
		r.waiter.Tell(o)
	}
}

// sound reports whether a run can be committed with others'.
func (tx *Tx) sound() bool {
	for _, e := range tx.entries {
		if e.upload != nil || e.fetchErr != nil {
			return false
		}
	}
	return !tx.alone && tx.broken == nil && tx.failure == nil &&
		len(tx.vanished)+len(tx.spans) == 0
}

// changed are the names of the keys written by the run itself.
func (tx *Tx) changed() []string {
	var names []string
	for _, e := range tx.entries {
		if !e.lent && e.own() {
			names = append(names, e.Name)
		}
	}
	return names
}

// copyTo makes an entry what the transactions before have made of the key.
func (tx *Tx) copyTo(e *entry) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if src := tx.findLocked(e.Name); src != nil && !tx.done {
		*e = *src
		e.fetch, e.lent, e.handed = nil, true, src.handed || src.own()
		switch {
		case e.op != opPut || e.expires == 0:
		case e.expires <= tx.now:
			e.op, e.data, e.expires = opDelete, nil, 0 // due already, and its writer is done
		case e.until == 0 || e.expires < e.until:
			e.until = e.expires
		}
	}
}

// merge adds what a run on top of tx has done: copies, as the run keeps its own.
func (tx *Tx) merge(run *Tx) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	for _, e := range run.entries {
		if old := tx.findLocked(e.Name); old != nil {
			*old = *e
		} else {
			own := *e
			tx.addLocked(&own)
		}
	}
}

// forget empties the read set and the write set.
func (tx *Tx) forget() {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.entries, tx.index = nil, nil
}
