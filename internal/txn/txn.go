package txn

import (
	"context"
	"errors"
	"time"

	"github.com/strictkv/strictkv/internal/commit"
	"github.com/strictkv/strictkv/internal/contention"
	"github.com/strictkv/strictkv/internal/latch"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/txid"
)

// Run runs a transaction until it has ended: committed, failed, or in doubt.
func (e *Engine) Run(ctx context.Context, o Options, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	kind := observe.Update
	if o.ReadOnly {
		kind = observe.View
	}
	seen := e.st.Observer()
	if seen == nil {
		t := e.begin(ctx)
		t.o = o
		return t.run(fn)
	}
	x := &observed{}
	e.prepare(ctx, &x.txn)
	x.o = o
	x.ctx = seen.Begin(ctx, kind, o.Name, x.start, &x.told)
	x.seen = &x.told
	return x.run(fn)
}

// observed is a transaction, and what an observer is told of it: one allocation.
type observed struct {
	txn
	told observe.Tx
}

func (e *Engine) begin(ctx context.Context) *txn {
	t := &txn{}
	e.prepare(ctx, t)
	return t
}

// prepare fills in what a transaction has from the beginning.
func (e *Engine) prepare(ctx context.Context, t *txn) {
	t.e, t.ctx, t.begun, t.start = e, ctx, e.st.Tick(), e.rt.Now()
	t.priority = txid.Priority{Time: t.start.UnixNano(), Tie: e.rt.Uint64()}
}

// run runs the function until the transaction has ended.
func (t *txn) run(fn func(*Tx) error) (err error) {
	defer func() {
		t.leave()
		t.seen.End(t.ctx, t.took, err)
	}()
	for done := false; !done; {
		done, err = t.once(fn)
	}
	return err
}

// endsAs counts a transaction that ends so.
func (t *txn) endsAs(how observe.Outcome) {
	t.e.stats.count(how).Add(1)
	t.seen.Ended(how)
}

// Retry is why the function runs once more.
type Retry uint8

// The causes.
const (
	NoRetry Retry = iota
	// StaleRead: something that was read had changed.
	StaleRead
	// Conflict: a write was refused, and of what was read or is written something had changed.
	Conflict
	// LocksLost: others have taken away the locks.
	LocksLost
	// Regrouped: others of the handle want the same keys.
	Regrouped
)

// rerun counts a run of the function that did not see what is there now. Lost is a cell that has
// changed, if one is known.
func (t *txn) rerun(why Retry, lost string) {
	t.e.stats.StaleReads.Add(1)
	t.anew(why, lost)
}

// anew makes the function run once more.
func (t *txn) anew(why Retry, lost string) {
	t.why = why
	t.e.st.Observer().Retry(t.ctx, uint8(why), lost)
}

// txn is a transaction, over all its attempts.
type txn struct {
	e        *Engine
	ctx      context.Context
	o        Options
	seen     *observe.Tx // nil without an observer, or if it commits for a group
	priority txid.Priority
	// begun and start are when the transaction began, by the logical clock and by
	// the real one.
	begun uint64
	start time.Time
	// fresh is what the last refresh has read, for the next run of the function.
	fresh map[string]resolve.Reading
	// listed is what the last validation has listed, for the same.
	listed []*scan.Listing
	// failures counts attempts that came to nothing; toll is what those add up to as a claim on
	// locks (contention.Failure). The last run of the function took ran, without its requests.
	failures, toll int
	ran            time.Duration
	// heldUp counts those whose writes the store held up, and refused then.
	heldUp int
	// paced says that it has paused before its first attempt, or need not.
	paced bool
	// why is the cause of the next run of the function.
	why Retry
	// blocks counts those that a store refused at the version that it reports.
	blocks int
	// locks are held once the transaction has escalated, unless it is tooWide for that.
	locks   *commit.Locks
	tooWide bool
	// metLocks says that others' locks were in what a run had read that was old in the end.
	metLocks bool
	// left is what attempts may have left in cells.
	left commit.Leftovers
	// uploads are the external values of the last run; linked are the members of the attempt
	// that has committed, or may have.
	uploads      []*upload
	uploadsAgain int
	linked       []*commit.Member
	// latch is the one that the transaction has for itself, if any; own is room for one. Its
	// place in a shared one is waiter.
	latch  *latch.Latch[*txn]
	own    latch.Latch[*txn]
	waiter waiter
	// group is set for a transaction that commits for a group.
	group *group
	// took is how long it has taken, if that was asked when it had committed.
	took time.Duration
	// lined says that it has waited for a latch; solo that it takes none any more; slow
	// that its function takes longer than a group waits.
	lined, solo, slow bool
}

// once runs the function and tries to commit what it did. done is false if the
// function must be run again.
func (t *txn) once(fn func(*Tx) error) (done bool, err error) {
	tx := &Tx{
		t: t, why: t.why, fresh: t.fresh, now: t.e.st.Clock(), ranges: ranges{known: t.listed},
	}
	t.listed, tx.tick = nil, t.e.st.Tick()
	began := t.e.rt.Now()
	t.seen.Run()
	ferr := tx.call(fn)
	t.ran = t.e.rt.Now().Sub(began) - tx.waited
	if errors.Is(ferr, errNobody) {
		return true, ferr
	}
	t.prune(tx)
	if len(tx.vanished) > 0 {
		return t.again(tx)
	}
	if tx.broken != nil {
		if ferr != nil && errors.Is(ferr, tx.broken) {
			return true, ferr
		}
		return true, tx.broken
	}
	if ferr == nil {
		ferr = tx.failure
	}
	switch {
	case ferr == nil && t.locksReads(tx):
		return t.commitLocked(tx)
	case ferr != nil || !tx.writes():
		return t.finishReads(tx, ferr)
	}
	if now, done, err := t.acquireLatch(tx, fn); !now {
		return done, err
	}
	return t.commit(tx)
}

// What of a transaction that fails is worth a warning.
const (
	// failuresWarn is after how many failures, and each time after as many more.
	failuresWarn = 20
	// ageWarn is from which age on each failure is.
	ageWarn = 10 * time.Second
)

// failed counts a failure, and ends the transaction if that was the last attempt
// allowed, or the caller has left.
func (t *txn) failed() error {
	t.failures++
	if age := t.e.rt.Now().Sub(t.start); t.failures%failuresWarn == 0 || age >= ageWarn {
		t.e.st.Log().Warn("a transaction is tried again and again",
			"name", t.o.Name, "failures", t.failures, "for", age)
	}
	if err := t.ctx.Err(); err != nil {
		return err
	}
	if t.o.MaxAttempts > 0 && t.failures >= t.o.MaxAttempts {
		return &ConflictError{Attempts: t.failures}
	}
	return nil
}

// commit tries until the transaction has committed, or its function must run again.
func (t *txn) commit(tx *Tx) (done bool, err error) {
	if err := tx.fetched(); err != nil {
		return true, err
	}
	for {
		if t.escalates(tx) {
			return t.commitLocked(tx)
		}
		if err := t.uploaded(tx); err != nil {
			return true, err
		}
		p, err := t.newPlan(tx)
		switch {
		case err != nil:
			return true, err
		case p.stale:
			t.rerun(StaleRead, p.lost)
			t.tax(contention.Failure{Stale: true})
			if err := t.failed(); err != nil || !t.locksFirst(tx) {
				return err != nil, err
			}
			continue
		case needless(p.Members):
			readAll(p.writes, p.Members)
			return t.finishReads(tx, nil)
		}
		if made, err := t.e.commits.MakeRoom(t.ctx, &p.Plan); err != nil {
			return true, err
		} else if made {
			continue
		}
		if !t.paced && t.failures == 0 {
			t.paced = true
			if paused, err := t.pace(p); err != nil || paused {
				return err != nil, err
			}
		}
		r := t.e.commits.Commit(t.ctx, &p.Plan)
		if r.Outcome == commit.Withdrawn {
			t.startStale(p)
			return r.Err != nil, r.Err
		}
		if done, err := t.conclude(r); done {
			if err == nil && p.Kind() == commit.Direct {
				t.took = t.e.rt.Now().Sub(t.start)
				t.e.keys.Waited(p.Members[0].Name, t.took)
			}
			return true, err
		}
		if rerun, err := t.beaten(tx, p, r); err != nil || rerun {
			return err != nil, err
		}
	}
}

// beaten is what follows an attempt that others have beaten. It reports whether the function is to
// run again: else another attempt is made, of what was read meanwhile, or under locks.
func (t *txn) beaten(tx *Tx, p *plan, r commit.Result) (rerun bool, err error) {
	t.learn(p)
	if err := t.blocked(p.Members); err != nil || t.locksFirst(tx) {
		return false, err
	}
	if paused, err := t.standBack(p); err != nil || paused {
		return paused, err
	}
	if paused, err := t.pace(p); err != nil || paused {
		return paused, err
	}
	return t.refresh(p, r)
}

// conclude does what follows from how an attempt has ended, and reports whether the transaction
// is over with it.
func (t *txn) conclude(r commit.Result) (done bool, err error) {
	switch r.Outcome {
	case commit.Committed:
		t.endsAs(observe.Committed)
		t.linked = r.Members
		t.e.tell(r.Members)
		return true, nil
	case commit.InDoubt:
		t.endsAs(observe.InDoubt)
		t.linked = r.Members
		t.e.tell(r.Members)
		return true, r.Err
	}
	t.mourn(r)
	switch {
	case r.Err != nil:
	case r.Buried: // which need not be a conflict
		r.Err = t.ctx.Err()
	default:
		r.Err = t.failed()
	}
	return r.Err != nil, r.Err
}

// mourn takes note of a dead attempt.
func (t *txn) mourn(r commit.Result) {
	if t.group != nil {
		t.group.unseal()
	}
	if r.Listed != nil {
		t.listed = r.Listed
	}
	t.taxDead(r)
}

// leave ends the transaction: it hands to the background what attempts have left in cells.
func (t *txn) leave() {
	t.release()
	if t.latch != nil {
		t.e.latches.Done(t.latch)
	}
	t.discardRest()
	t.e.commits.Resolve(&t.left)
}
