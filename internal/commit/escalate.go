package commit

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Limits of escalation.
const (
	// escalateAfter is the number of failed attempts after which a transaction takes locks;
	// tornMax is the number of members that refused those that had placed an intent.
	escalateAfter = 20
	tornMax       = 3
	// chaseAfter is how often a lock is refused before its cell is chased.
	chaseAfter = 2
)

// escalates tells whether the transaction is to take locks. One key alone needs none: to
// lock it is as difficult as to write it. Locks do not protect ranges: a transaction that
// has scanned takes none, and gives up those that it has.
func (t *txn) escalates(tx *Tx) bool {
	if len(tx.spans) > 0 {
		if t.locks != nil {
			t.locks.release()
		}
		return false
	}
	if t.locks != nil {
		return true
	}
	if t.failures < escalateAfter && t.torn < tornMax || t.tooWide {
		return false
	}
	n := len(tx.used())
	return n > 1 && n <= cell.MembersMax
}

// tear counts what refused an attempt of which some intent had landed. In the first, the
// values in the cache may have been old: however many those are, they count for one. Behind
// a hot member they may be once more.
func (a *attempt) tear(landed, refused int) {
	switch {
	case landed == 0:
	case a.t.failures == 0:
		a.t.torn++
	case a.gated:
		a.t.torn += min(refused, tornMax-1)
	default:
		a.t.torn += max(refused, 1)
	}
}

// used are the entries that were read or written, in name order.
func (tx *Tx) used() []*entry {
	var used []*entry
	for _, e := range tx.entries {
		if e.read || e.op != opNone {
			used = append(used, e)
		}
	}
	slices.SortFunc(used, func(a, b *entry) int { return strings.Compare(a.name, b.name) })
	return used
}

// commitLocked commits under locks. done is false if the function must run again, under
// the locks that the transaction then has.
func (t *txn) commitLocked(tx *Tx) (done bool, err error) {
	if err := t.uploaded(tx); err != nil {
		return true, err
	}
	if t.locks == nil {
		if err := t.escalate(tx.used()); err != nil {
			return true, err
		}
	}
	l, changed := t.locks, false
	if err = l.lockAll(tx.used()); err == nil {
		changed, err = l.outdated(tx)
	}
	switch {
	case errors.Is(err, errLost):
		return l.again()
	case err != nil:
		return true, err
	case changed:
		t.rerun(StaleRead)
		return false, nil
	case (&plan{members: l.a.members}).needless():
		return t.finishReads(tx, nil)
	case !t.seal():
		return false, nil
	}
	if err = l.finish(); errors.Is(err, errLost) {
		return l.again()
	} else if err != nil {
		return true, err
	}
	return l.commit()
}

// commit sends the commit write, with the list of all members in its mark.
func (l *locks) commit() (done bool, err error) {
	t, a := l.t, l.a
	t.locks = nil
	a.list.List = make([]cell.Member, len(a.members))
	for i, m := range a.members {
		a.list.List[i] = cell.Member{Name: m.e.name, Expected: string(m.base.Version)}
	}
	how, err := a.commitPrimary()
	t.fresh = nil
	return a.conclude(how, err)
}

// again gives up lost locks: the function runs again, and takes new ones.
func (l *locks) again() (done bool, err error) {
	l.release()
	l.t.fresh, l.t.why = nil, LocksLost
	err = l.t.failed()
	return err != nil, err
}

// release declares the attempt dead: its commit write has not been sent, and never will be.
func (l *locks) release() {
	l.stop(true)
	l.t.locks = nil
	l.a.die()
}

// escalate locks the first key: the hot one with the smallest name, where rivals meet, or
// the one with the smallest name. An attempt whose primary is refused is dead: so each try is
// an attempt of its own.
func (t *txn) escalate(used []*entry) error {
	if t.priority.Escalate() {
		t.e.stats.Escalated.Add(1)
	}
	if err := t.e.rs.Admit(t.ctx); err != nil {
		return err
	}
	first := used[0]
	if i := slices.IndexFunc(used, func(e *entry) bool { return t.e.rs.Hot(e.name) }); i >= 0 {
		first = used[i]
	}
	var a *attempt
	for refusals := 0; a == nil; refusals++ {
		m, p := toLock(first, used)
		if err := t.settle([]*member{m}); err != nil {
			return err
		}
		relieved, err := t.makeRoom(t.ctx, m, 1)
		switch {
		case err != nil:
			return err
		case relieved:
			continue
		case m.chased(refusals) && t.o.MaxAttempts == 0: // else each counts
			a, err = t.chaseFirst(m)
		default:
			a, err = t.placeFirst(m, p)
		}
		if err != nil {
			return err
		}
	}
	t.locks = t.newLocks(a)
	return nil
}

// toLock is one member, and the plan of locking all.
func toLock(first *entry, used []*entry) (m *member, p *plan) {
	p = &plan{}
	for _, e := range used {
		x := newLock(e)
		if p.members = append(p.members, x); e == first {
			m = x
		}
	}
	return m, p
}

// chased tells whether the member's cell is to be chased, after so many refusals: if there is
// no intent in it. Among rivals with several members it is better to know of all.
func (m *member) chased(refusals int) bool {
	return refusals >= chaseAfter && m.base.Cell.Intent == nil
}

// placeFirst sends the lock of the primary once. There is no attempt if it was refused; then
// all members of the plan have been read, in one round.
func (t *txn) placeFirst(m *member, p *plan) (*attempt, error) {
	a, landed, err := t.tryFirst(t.ctx, m, p)
	if landed {
		return a, nil
	}
	a.die()
	for _, x := range p.members {
		t.learn(x)
	}
	if err == nil {
		err = t.failed()
	}
	if err == nil {
		err = t.blocked(p.members)
	}
	return nil, err
}

// chaseFirst is placeFirst in a race. What has landed beside the first that did is dead.
func (t *txn) chaseFirst(m *member) (won *attempt, err error) {
	var mu seam.Mutex // guards won and rest
	var rest []*attempt
	m.refused, err = t.e.rs.Chase(t.ctx, resolve.Chase{
		Base: m.base, Extra: 1, Priority: t.priority,
		Try: func(
			ctx context.Context, rd resolve.Reading, f cell.Fold,
		) (bool, store.Snapshot, error) {
			x := newLock(m.e)
			x.base, x.fold = rd, f
			a, landed, err := t.tryFirst(ctx, x, &plan{members: []*member{x}})
			mu.Lock()
			defer mu.Unlock()
			if a.raced = true; landed && won == nil {
				won = a
			} else {
				rest = append(rest, a)
			}
			return landed, x.refused, err
		},
	})
	t.learn(m)
	var refused []*member
	for _, a := range rest {
		a.die()
		refused = append(refused, a.members...)
		if ferr := t.failed(); err == nil {
			err = ferr
		}
	}
	if won == nil && err == nil {
		err = t.blocked(refused)
	}
	if won != nil {
		won.ctx = t.ctx
		return won, nil
	}
	return nil, err
}

// tryFirst makes an attempt that begins by locking its primary.
func (t *txn) tryFirst(
	ctx context.Context, m *member, p *plan,
) (a *attempt, landed bool, err error) {
	_, m.writer = m.base.Effective()
	a = t.newLocking(m)
	a.ctx = ctx
	how, err := a.landWave(p, a.members)
	return a, how == goesOn && err == nil, err
}

// newLocking prepares an attempt that begins by locking its primary.
func (t *txn) newLocking(m *member) *attempt {
	a := &attempt{
		t: t, ctx: t.ctx, id: txid.New(t.e.rt.Entropy), mode: cell.Pending,
		members: []*member{m},
	}
	a.list = cell.Members{
		List: []cell.Member{{Name: m.e.name, Expected: string(m.base.Version)}}, Long: true,
	}
	a.locking = true
	a.begin()
	m.write = t.e.st.Prepare(m.base.Snapshot, cell.Place(m.base.Cell, m.fold, a.intent(m)))
	return a
}

// intent is what an escalated attempt has in a member: its action alone or, for a value
// that is final, with the value.
func (a *attempt) intent(m *member) *cell.Intent {
	return &cell.Intent{
		Tx: a.id, Priority: a.t.priority, Mode: cell.Pending, Action: m.action, Value: m.value,
		Members: a.list,
	}
}

// final is the primary's cell with the intent that is to be committed.
func (a *attempt) final(m *member) *cell.Cell {
	if !a.locking {
		return m.landed.Cell
	}
	return cell.Amend(m.landed.Cell, a.intent(m))
}
