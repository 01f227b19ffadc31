package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/strictkv/strictkv/backend"
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
	// heartbeatMax is how long heartbeats protect the locks of one attempt.
	heartbeatMax = 30 * time.Second
	// heartbeatMin is the shortest time between two heartbeats.
	heartbeatMin = 10 * time.Millisecond
)

// locks are what an escalated transaction holds: the intents of one pending attempt.
//
// The first goes into the attempt's primary. It ranks the transaction before all that have
// not escalated. Then each other key that the function has read or written is locked at
// whatever version it has, without releasing the others. If what the function saw has
// changed, it runs again, on the locked values; if it wants another key, that is locked
// too. Then the intents get their final values, and the primary's write commits:
//
//	locked   intents are placed, or replaced by ones with values        undecided
//	         the primary replaced by its value. Commit point.           committed
//	lost     somebody has dropped the primary's intent                  dead
//
// Intents name the primary alone. The list of members is in the mark that the commit write
// leaves. Others wait for an escalated transaction until their patience has run out, and
// begin anew when its primary has changed: so it is rewritten in time (a heartbeat), as
// long as the user's function takes, within limits.
type locks struct {
	t *txn
	a *attempt // its members in the order of locking
	// held are the members by name.
	held map[string]*member
	// cancel ends the heartbeats at once, halt after the one that is under way.
	cancel        func()
	halt, stopped seam.Event

	mu   seam.Mutex // guards lost, and txn.claimed while keys are being locked
	lost bool
}

// errLost says that an escalated attempt is dead.
var errLost = errors.New("locks lost")

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
		t.e.stats.StaleReads.Add(1)
		return false, nil
	case (&plan{members: l.a.members}).needless():
		return t.finishReads(tx, nil)
	}
	if err = l.finish(); errors.Is(err, errLost) {
		return l.again()
	} else if err != nil {
		return true, err
	}
	return l.commit()
}

// escalate locks the first key: the hot one with the smallest name, where rivals meet, or
// the one with the smallest name. An attempt whose primary is refused is dead.
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
	for {
		p := &plan{} // after a refusal, all are read in one round
		var m *member
		for _, e := range used {
			x := &member{e: e, action: cell.Lock, result: store.NotApplied}
			if p.members = append(p.members, x); e == first {
				m = x
			}
		}
		if err := t.settle([]*member{m}); err != nil {
			return err
		}
		_, m.writer = m.base.Effective()
		if relieved, err := t.makeRoom(m, 1); err != nil {
			return err
		} else if relieved {
			continue
		}
		a := t.newLocking(m)
		how, err := a.landWave(p, a.members)
		if how == goesOn && err == nil {
			t.locks = t.newLocks(a)
			return nil
		}
		a.die()
		if err != nil {
			return err
		}
		if err := t.failed(); err != nil {
			return err
		}
		for _, x := range p.members {
			if x.refused.Cell != nil {
				x.e.known, x.e.base = true, t.e.rs.Known(x.refused)
			}
		}
	}
}

// newLocking prepares an attempt that begins by locking its primary.
func (t *txn) newLocking(m *member) *attempt {
	a := &attempt{
		t: t, id: txid.New(t.e.rt.Uint64), mode: cell.Pending, members: []*member{m},
		until: t.e.rt.Now().Add(attemptMax),
	}
	a.list = cell.Members{
		List: []cell.Member{{Name: m.e.name, Expected: string(m.base.Version)}}, Long: true,
	}
	a.locking = true
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

func (t *txn) newLocks(a *attempt) *locks {
	rt := t.e.rt
	ctx, cancel := rt.WithCancel(t.ctx)
	m := a.members[0]
	l := &locks{
		t: t, a: a, held: map[string]*member{m.e.name: m},
		cancel: cancel, halt: rt.NewEvent(), stopped: rt.NewEvent(),
	}
	rt.Go(func() {
		defer l.stopped.Set()
		until := rt.Now().Add(heartbeatMax)
		for rt.Now().Before(until) {
			short, stop := rt.WithTimeout(ctx, l.interval())
			err := l.halt.Wait(short)
			stop()
			if err == nil || ctx.Err() != nil || !l.beat(ctx, m) {
				return
			}
		}
	})
	return l
}

// interval is the time between two heartbeats.
func (l *locks) interval() time.Duration { return max(l.t.e.rs.Patience()/2, heartbeatMin) }

// beat rewrites the primary, beside the user's function: of the member it uses what has
// landed alone. It returns false when that does not hold the intent any more:
// then the attempt is dead, as its commit write has not been sent.
func (l *locks) beat(ctx context.Context, m *member) bool {
	rs, st := l.t.e.rs, l.t.e.st
	res, s, _ := rs.Send(ctx, st.Prepare(m.landed, cell.Fence(m.landed.Cell)))
	switch res {
	case store.Applied:
		m.landed = s
		return true
	case store.NotApplied:
		return true
	}
	s, err := rs.Fetch(ctx, m.landed.Name)
	if err != nil {
		return true
	}
	if s.Cell.Holds(l.a.id) {
		m.landed = s
		return true
	}
	l.mu.Lock()
	l.lost = true
	l.mu.Unlock()
	return false
}

func (l *locks) isLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost || l.a.expired()
}

// lockAll locks what is not locked yet, in one wave, and takes over what the function
// wants with each key. Keys that it does not want any more stay locked.
func (l *locks) lockAll(used []*entry) error {
	for _, m := range l.a.members {
		m.action, m.value = cell.Lock, cell.Value{}
	}
	var todo []*member
	for _, e := range used {
		l.a.endBefore(e.upload)
		m := l.held[e.name]
		if m == nil {
			m = &member{e: e, action: cell.Lock, result: store.NotApplied}
			l.held[e.name] = m
			l.a.members = append(l.a.members, m)
		}
		if m.e = e; m.result != store.Applied {
			todo = append(todo, m)
		}
	}
	if l.t.tooWide = len(l.a.members) > cell.MembersMax; l.t.tooWide {
		return errLost
	}
	err := seam.Each(l.t.e.rt, len(todo), func(i int) error { return l.lock(todo[i]) })
	for _, e := range used {
		m := newMember(e)
		l.held[e.name].action, l.held[e.name].value = m.action, m.value
	}
	return err
}

// lock locks a key at whatever version it has.
func (l *locks) lock(m *member) error {
	t := l.t
	for !l.isLost() {
		tx, err := t.e.rs.Claim(t.ctx, m.e.name)
		if !tx.IsZero() {
			l.mu.Lock()
			t.claimed = append(t.claimed, leftover{name: m.e.name, tx: tx})
			l.mu.Unlock()
		}
		if err != nil {
			return err
		}
		if m.base = t.latest(m.e); m.write == nil && t.e.rs.Doubted(m.e.name) {
			s, err := t.e.rs.Fetch(t.ctx, m.e.name)
			if err != nil {
				return err
			}
			m.base = t.e.rs.Known(s)
		}
		if !m.base.Final() {
			role := resolve.Role{Writer: true, Ranked: true, Priority: t.priority}
			if m.base, err = t.e.rs.Settle(t.ctx, m.base.Snapshot, role); err != nil {
				return err
			}
		}
		_, m.writer = m.base.Effective()
		if relieved, err := t.makeRoom(m, 0); err != nil {
			return err
		} else if relieved {
			continue
		}
		if landed, err := l.place(m); landed || err != nil {
			return err
		}
	}
	return errLost
}

// place sends a lock. If the cell has changed, it is to be tried again: what decides the
// attempt is the primary alone.
func (l *locks) place(m *member) (landed bool, err error) {
	t, a := l.t, l.a
	m.write = t.e.st.Prepare(m.base.Snapshot, cell.Place(m.base.Cell, m.fold, a.intent(m)))
	for tries := range resendsMax {
		if tries > 0 {
			if err := t.e.rt.Sleep(t.ctx, resendPauseMin<<tries); err != nil {
				return false, err
			}
		}
		doubt := m.result == store.Unknown
		a.send(t.ctx, m)
		switch {
		case m.result == store.Applied:
			return true, nil
		case m.result == store.NotApplied && !doubt:
			return false, m.err
		}
		m.result = store.Unknown
		s, err := t.e.rs.Fetch(t.ctx, m.e.name)
		switch {
		case err != nil:
			return false, err
		case s.Cell.Holds(a.id):
			t.e.rs.Replaced(m.write)
			m.result, m.landed = store.Applied, s
			return true, nil
		case s.Version != m.base.Version:
			m.result, m.e.known, m.e.base = store.NotApplied, true, t.e.rs.Known(s)
			t.e.rs.Lost(m.e.name)
			return false, nil
		}
	}
	return false, fmt.Errorf("lock %q: %w", t.e.st.FullName(m.e.name), backend.ErrUnavailable)
}

// outdated tells whether the function must run again, as a value that it saw had changed
// when the key was locked: then it runs on the locked values. If one of those is another
// than the function saw after all, the locks are lost.
func (l *locks) outdated(tx *Tx) (changed bool, err error) {
	for _, e := range tx.used() {
		m := l.held[e.name]
		if !e.outdated(m.base) {
			continue
		}
		if changed = true; m.given {
			return true, errLost
		}
	}
	l.t.fresh = make(map[string]resolve.Reading, len(l.a.members))
	for _, m := range l.a.members {
		m.given = changed
		l.t.fresh[m.e.name] = m.base
	}
	return changed, nil
}

// finish gives the intents their final values, but that of the primary, which the commit
// write replaces. An answer other than "applied" is taken for the loss of the locks.
func (l *locks) finish() error {
	t := l.t
	err := seam.Each(t.e.rt, len(l.a.members), func(i int) error {
		m := l.a.members[i]
		if i == 0 || m.action == cell.Lock {
			return nil
		}
		w := t.e.st.Prepare(m.landed, cell.Amend(m.landed.Cell, l.a.intent(m)))
		res, s, err := t.e.rs.Send(t.ctx, w)
		switch res {
		case store.Applied:
			m.landed = s
			return nil
		case store.NotApplied:
			if t.ctx.Err() == nil {
				err = store.NotTheCallers(err)
			}
			return err
		}
		return errLost
	})
	l.stop(false)
	if err == nil && l.isLost() {
		return errLost
	}
	return err
}

// stop ends the heartbeats, at once or after the one that is under way.
func (l *locks) stop(now bool) {
	if now {
		l.cancel()
	}
	l.halt.Set()
	_ = l.stopped.Wait(context.Background())
	l.cancel()
	rest := l.a.members[1:]
	slices.SortFunc(rest, func(a, b *member) int { return strings.Compare(a.e.name, b.e.name) })
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
	switch how {
	case committed:
		a.succeed()
		return true, nil
	case inDoubt:
		return true, a.doubtful(err)
	}
	a.die()
	if err == nil {
		err = t.failed()
	}
	t.fresh = nil
	return err != nil, err
}

// final is the primary's cell with the intent that is to be committed.
func (a *attempt) final(m *member) *cell.Cell {
	if !a.locking {
		return m.landed.Cell
	}
	return cell.Amend(m.landed.Cell, a.intent(m))
}

// again gives up lost locks: the function runs again, and takes new ones.
func (l *locks) again() (done bool, err error) {
	l.release()
	l.t.fresh = nil
	err = l.t.failed()
	return err != nil, err
}

// release declares the attempt dead: its commit write has not been sent, and never will be.
func (l *locks) release() {
	l.stop(true)
	l.t.locks = nil
	l.a.die()
}
