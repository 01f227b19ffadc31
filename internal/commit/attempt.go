package commit

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// validateBeatsMax is how long heartbeats protect an attempt that is being validated.
const validateBeatsMax = 5 * time.Minute

// yieldPart is the part of a write's latency that a first attempt leaves to others who want
// the same hot key.
const yieldPart = 4

// attempt is one try to commit: a set of writes with an id of its own.
//
// Its states, and what an observer sees who meets its intents meanwhile:
//
//	staged   intents on their way; some member at its expected version  undecided
//	         all landed. Commit point.                                  committed
//	         one refused, so it never lands                             dead
//	pending  intents on their way, or landed                            undecided
//	         the primary replaced by its value. Commit point.           committed
//	         the primary off without the mark                           dead
//	direct   one write. Commit point.                                   (no intent)
type attempt struct {
	t *txn
	// ctx is that of its requests: the transaction's, but for one of several that race.
	ctx     context.Context
	id      txid.ID
	mode    cell.Mode // 0: direct
	members []*member // in name order; the first is the primary
	list    cell.Members
	// locking is set for an escalated attempt: list is that of its intents, and becomes
	// the whole one when it commits.
	locking bool
	// committing is set once the commit write of a pending attempt may be on its way.
	committing bool
	// unsent are the members whose write waits until the hot one has landed.
	unsent []*member
	// gated says that it began with a hot member alone.
	gated bool
	// raced says that others of the transaction were under way to its primary at the same
	// time: which has come last there is not known.
	raced bool
	// stale is set when validation has found that the function must run again.
	stale bool
	// born is when it began, or the oldest of the uploads that it links: by the store's clock,
	// when the first of its requests was answered.
	born store.Moment
	// start is the store's time at its beginning, or earlier; first and last bound when its
	// writes have landed. All are zero while they are not known.
	start, first, last time.Time
}

// end is how an attempt ended.
type end uint8

const (
	// goesOn: nothing is decided yet.
	goesOn end = iota
	committed
	dead
	inDoubt
)

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
			t.rerun(StaleRead)
			err := t.failed()
			return err != nil, err
		case p.needless():
			return t.finishReads(tx, nil)
		}
		if relieved, err := t.relieve(p); err != nil {
			return true, err
		} else if relieved {
			continue
		}
		a := t.newAttempt(p)
		if a.mode != 0 {
			if err := t.e.rs.Admit(t.ctx); err != nil {
				return true, err
			}
		}
		if a.mode != cell.Pending && !t.seal() {
			t.startStale(p)
			return false, nil
		}
		how, err := a.run(p)
		if over, err := a.conclude(how, err); over {
			return true, err
		}
		if err := t.blocked(p.members); err != nil {
			return true, err
		}
		rerun, err := t.refresh(a, p)
		if err != nil || rerun {
			return err != nil, err
		}
	}
}

// conclude does what follows from how the attempt ended, and tells whether the transaction is
// over with it.
func (a *attempt) conclude(how end, err error) (over bool, _ error) {
	switch how {
	case committed:
		if err := a.restore(); err != nil {
			return true, a.doubtful(err)
		}
		a.succeed()
		return true, nil
	case inDoubt:
		return true, a.doubtful(err)
	}
	a.die()
	if err == nil {
		err = a.t.failed()
	}
	return err != nil, err
}

// newAttempt prepares the writes of an attempt.
func (t *txn) newAttempt(p *plan) *attempt {
	a := &attempt{
		t: t, ctx: t.ctx, id: txid.New(t.e.rt.Entropy), mode: p.mode(), members: p.members,
	}
	a.begin()
	for _, m := range a.members {
		a.endBefore(m.e.upload)
	}
	if a.mode == 0 {
		m := a.members[0]
		m.write = t.e.st.Prepare(m.base.Snapshot,
			cell.Write(m.base.Cell, m.fold, a.id, m.action, m.value))
		t.e.stats.Direct.Add(1)
		return a
	}
	a.list = cell.Members{List: make([]cell.Member, len(a.members))}
	for i, m := range a.members {
		a.list.List[i] = cell.Member{Name: m.e.name, Expected: string(m.base.Version)}
	}
	a.list.Long = len(a.members) > cell.ListMax
	carried := a.list
	for i, m := range a.members {
		if i == 1 && a.list.Long {
			carried.List = a.list.List[:1]
		}
		in := &cell.Intent{
			Tx: a.id, Priority: t.priority, Mode: a.mode, Action: m.action, Value: m.value,
			Members: carried,
		}
		m.write = t.e.st.Prepare(m.base.Snapshot, cell.Place(m.base.Cell, m.fold, in))
	}
	if a.mode == cell.Staged {
		t.e.stats.Parallel.Add(1)
	} else {
		t.e.stats.Validated.Add(1)
	}
	return a
}

// begin notes when it does.
func (a *attempt) begin() {
	now := a.t.e.st.Moment()
	a.born.Here, a.start = now.Here, now.There
}

// run takes the attempt to its end. An error with dead ends the transaction.
func (a *attempt) run(p *plan) (end, error) {
	how, err := a.land(p)
	if how == goesOn && err == nil && a.apart() {
		how, err = a.together()
	}
	if how != goesOn || err != nil {
		return how, err
	}
	if a.mode != cell.Pending {
		return committed, nil
	}
	m, gone := a.members[0], false
	h := a.t.e.rs.Beat(a.ctx, a.id, m.landed, validateBeatsMax, nil)
	a.stale, err = a.validatePlan(p)
	if m.landed, gone = h.Stop(false); gone || a.stale || err != nil {
		return dead, err // the commit write was not sent, and never will be
	}
	if a.stale = !a.t.seal(); a.stale {
		return dead, nil
	}
	return a.commitPrimary()
}

// land sends the attempt's wave of writes, until all have landed (goesOn) or the
// attempt has ended. For a staged or direct attempt, all landed is the commit point.
func (a *attempt) land(p *plan) (end, error) {
	first := a.hotFirst()
	if len(a.unsent) > 0 {
		if err := a.t.yield(); err != nil {
			return dead, err
		}
	}
	how, err := a.landWave(p, first)
	if how != goesOn || err != nil || len(a.unsent) == 0 {
		return how, err
	}
	first, a.unsent = a.unsent, nil
	return a.landWave(p, first)
}

// yield lets those go first that have failed more often.
func (t *txn) yield() error {
	return t.e.rt.Sleep(t.ctx, t.e.st.PutLatency()/yieldPart/time.Duration(1+t.failures))
}

// hotFirst are the members that are written first: the hot one with the smallest name, or
// all. Rivals meet there, instead of each taking half of the keys.
func (a *attempt) hotFirst() []*member {
	for i, m := range a.members {
		if len(a.members) > 1 && a.t.e.rs.Hot(m.e.name) {
			a.gated = true
			a.unsent = slices.Concat(a.members[:i], a.members[i+1:])
			for _, m := range a.unsent {
				m.result = store.NotApplied
			}
			return a.members[i : i+1]
		}
	}
	return a.members
}

// landWave sends the writes of some members.
func (a *attempt) landWave(p *plan, todo []*member) (end, error) {
	for tries := 0; ; tries++ {
		if a.expired() {
			return a.late(tries)
		}
		ctx, cancel := a.t.e.st.Bounded(a.ctx)
		_ = seam.Each(a.t.e.rt, len(todo), func(i int) error {
			a.send(ctx, todo[i])
			return nil
		})
		cancel()
		for _, m := range todo {
			a.landedAt(m.landed.Told)
		}
		unknown, how, cause := answers(todo)
		if how == dead && cause == nil {
			echoes, proof, err := a.reread(p)
			switch {
			case proof:
				return dead, err
			case err != nil:
				return a.leaving(), err
			}
			unknown, how, cause = append(unknown, echoes...), goesOn, errEcho
		}
		if how == dead || len(unknown) == 0 {
			return how, cause
		}
		again, how, err := a.clarify(unknown, cause)
		if how != goesOn || len(again) == 0 {
			return how, err
		}
		todo = again
		if how, err := a.pause(tries, cause); how != goesOn {
			return how, err
		}
	}
}

func (a *attempt) send(ctx context.Context, m *member) {
	m.result, m.landed, m.err = a.t.e.rs.Send(ctx, m.write)
	if m.err != nil && a.ctx.Err() == nil {
		m.err = store.NotTheCallers(m.err)
	}
}

// answers sorts the answers of a wave. A write that was sent once and refused, or
// that certainly was not applied and will not be sent again, proves the attempt
// dead, whatever the others came to.
func answers(sent []*member) (unknown []*member, how end, err error) {
	for _, m := range sent {
		switch m.result {
		case store.Refused:
			how = dead
		case store.NotApplied:
			if how = dead; err == nil {
				err = m.err
			}
		case store.Unknown:
			unknown = append(unknown, m)
		}
	}
	if how == goesOn && len(unknown) > 0 {
		err = unknown[0].err
	}
	return unknown, how, err
}

// commitPrimary replaces the primary's intent by its value, with the mark.
func (a *attempt) commitPrimary() (end, error) {
	rs, m := a.t.e.rs, a.members[0]
	ctx, doubt := a.ctx, false
	for tries := 0; ; tries++ {
		if a.expired() { // a locked primary does not link its value yet, which may be gone
			return a.lateCommit()
		}
		a.committing = true
		fold := rs.FoldOf(rs.Known(m.landed))
		fold.Unmarked = len(a.members) == 1
		w := a.t.e.st.Prepare(m.landed, cell.Commit(a.final(m), a.id, fold))
		res, s, err := rs.Send(ctx, w) // Commit point.
		switch {
		case res == store.Applied:
			m.landed = s
			return committed, nil
		case res == store.NotApplied && !doubt:
			return dead, err // never sent, or certainly not applied
		case res == store.Refused && a.t.e.st.SendsOnce():
		default: // refused may be an echo
			doubt = true
		}
		a.committing = doubt
		if ctx.Err() != nil {
			return a.leaving(), errors.Join(ctx.Err(), err)
		}
		how, s, rerr := a.commitSeen(doubt)
		if how == committed {
			rs.Replaced(w)
		}
		if how == inDoubt {
			rerr = errors.Join(rerr, err)
		}
		if how != goesOn {
			return how, rerr
		}
		m.landed = s
		if how, err := a.pause(tries, err); how != goesOn {
			return how, err
		}
	}
}

// commitSeen reads the primary after a commit write that was refused, or, with doubt, is of
// unknown outcome. It goes on if the intent is still there.
func (a *attempt) commitSeen(doubt bool) (end, store.Snapshot, error) {
	m := a.members[0]
	s, err := a.t.e.rs.Read(a.ctx, m.e.name)
	switch {
	case err != nil:
		return a.leaving(), s, err
	case s.Cell.Names(a.id):
		return committed, s, nil
	case s.Cell.Holds(a.id):
		return goesOn, s, nil
	case !doubt:
		return dead, s, nil
	case a.expired(): // it may be another object, after one that was written and removed
		return inDoubt, s, errExpired
	case m.tells(s):
		return dead, s, nil
	}
	how, err := a.askMembers()
	return how, s, err
}

// succeed tells the resolver of the commit, and leaves the intents to the
// background. Cells of earlier attempts that this one has not replaced stay queued.
func (a *attempt) succeed() {
	t := a.t
	t.e.stats.Committed.Add(1)
	t.linked = a.members
	t.replaced(a)
	t.forget(a.members)
	if a.mode == 0 {
		if m := a.members[0]; m.result != store.Applied {
			t.e.rs.Replaced(m.write)
		}
		return
	}
	t.e.rs.Committed(a.id, a.list)
	left := a.members
	if a.mode == cell.Pending {
		t.e.rs.Clear(a.id, left[0].e.name)
		left = left[1:]
	}
	names := make([]string, len(left))
	for i, m := range left {
		names[i] = m.e.name
	}
	if slices.ContainsFunc(a.members, func(m *member) bool { return t.e.rs.Hot(m.e.name) }) {
		t.e.rs.ResolveLate(a.id, names)
		return
	}
	t.e.rs.Resolve(a.id, names, false)
}

// die notes what a dead attempt has, or may have, left in cells.
func (a *attempt) die() {
	t := a.t
	t.e.stats.Refused.Add(1)
	t.unseal()
	t.replaced(a)
	landed, refused := 0, 0
	for _, m := range a.members {
		switch m.result {
		case store.Refused:
			t.e.rs.Lost(m.e.name)
			refused++
		case store.Applied:
			landed++
		}
	}
	for _, m := range a.unsent {
		t.e.rs.Doubt(m.e.name)
	}
	if a.mode == 0 {
		return
	}
	t.e.rs.Dead(a.id)
	a.tear(landed, refused)
	for _, m := range a.members {
		if m.result == store.Applied {
			m.e.known, m.e.base = true, t.e.rs.Known(m.landed)
		}
		if m.result == store.Applied || m.result == store.Unknown {
			t.dead = append(t.dead, leftover{m.e.name, a.id, a.mode == cell.Pending, a.raced})
		}
	}
}

// replaced forgets the leftovers in cells that the attempt has written since.
func (t *txn) replaced(a *attempt) {
	if len(t.dead) == 0 && len(t.claimed) == 0 {
		return
	}
	written := make(map[string]bool, len(a.members))
	for _, m := range a.members {
		written[m.e.name] = m.result == store.Applied
	}
	t.dead = without(t.dead, written)
	t.claimed = without(t.claimed, written)
}

func without(l []leftover, written map[string]bool) []leftover {
	kept := l[:0]
	for _, x := range l {
		if x.raced || !written[x.name] {
			kept = append(kept, x)
		}
	}
	return kept
}
