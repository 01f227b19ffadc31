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
)

// lockBeatsMax is how long heartbeats protect the locks of one attempt.
const lockBeatsMax = 30 * time.Second

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
// leaves. Heartbeats keep others waiting as long as the user's function takes, within limits.
type locks struct {
	t *txn
	a *attempt // its members in the order of locking
	// held are the members by name.
	held  map[string]*member
	heart *resolve.Heart
	// ctx is that of their requests; it ends with the transaction's, or by the first error.
	ctx    context.Context
	cancel func()

	mu   seam.Mutex // guards all below, and txn.claimed while keys are being locked
	lost bool
	// failure is the first error, which ends the transaction.
	failure error
}

// errLost says that an escalated attempt is dead.
var errLost = errors.New("locks lost")

func (t *txn) newLocks(a *attempt) *locks {
	m := a.members[0]
	l := &locks{t: t, a: a, held: map[string]*member{m.e.name: m}}
	l.ctx, l.cancel = t.e.rt.WithCancel(t.ctx)
	l.heart = t.e.rs.Beat(t.ctx, a.id, m.landed, lockBeatsMax, l.lose)
	return l
}

// lose says that the attempt is, or is to be, dead.
func (l *locks) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = true
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
			m = newLock(e)
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
	err := l.each(todo, l.lock)
	for _, e := range used {
		m := newMember(e)
		l.held[e.name].action, l.held[e.name].value = m.action, m.value
	}
	return err
}

// each does something with several members at once. An error of one ends what is under way
// with the others: nobody is to be kept waiting by locks that are of no use any more.
func (l *locks) each(members []*member, f func(*member) error) error {
	err := seam.Each(l.t.e.rt, len(members), func(i int) error {
		err := f(members[i])
		if err != nil && !errors.Is(err, errLost) {
			l.fail(err)
		}
		return err
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil {
		return l.failure
	}
	return err
}

func (l *locks) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil {
		l.failure = err
		l.cancel()
	}
}

// lock locks a key at whatever version it has.
func (l *locks) lock(m *member) error {
	for refusals := 0; !l.isLost(); refusals++ {
		if err := l.settle(m, refusals == 0); err != nil {
			return err
		}
		relieved, err := l.t.makeRoom(l.ctx, m, 0)
		switch {
		case err != nil:
			return err
		case relieved:
			continue
		case m.chased(refusals):
			err = l.chase(m)
		default:
			err = l.place(m)
		}
		if err != nil || m.result == store.Applied {
			return err
		}
	}
	return errLost
}

// settle finds the base of a lock. Before the first try, one that has probably changed is
// read.
func (l *locks) settle(m *member, first bool) error {
	t := l.t
	tx, err := t.e.rs.Claim(l.ctx, m.e.name)
	if !tx.IsZero() {
		l.mu.Lock()
		t.claimed = append(t.claimed, leftover{name: m.e.name, tx: tx})
		l.mu.Unlock()
	}
	if err != nil {
		return err
	}
	if m.base = t.latest(m.e); first && t.e.rs.Doubted(m.e.name) {
		s, err := t.e.rs.Fetch(l.ctx, m.e.name)
		if err != nil {
			return err
		}
		m.base = t.e.rs.Known(s)
	}
	if m.base.Final() {
		return nil
	}
	m.base, err = t.e.rs.Settle(l.ctx, m.base.Snapshot, t.writer())
	return err
}

// place sends a lock. If the cell has changed, it is to be tried again: what decides the
// attempt is the primary alone.
func (l *locks) place(m *member) error {
	_, err := l.try(l.ctx, m)
	if m.result == store.Unknown && err == nil {
		m.result = store.Applied
		l.t.e.rs.Replaced(m.write)
	}
	l.t.learn(m)
	return err
}

// chase is place in a race. Several tries of one lock cannot be told apart in the cell: if
// none was told that it had landed, but a lock is there, that is of no use.
func (l *locks) chase(m *member) (err error) {
	t := l.t
	var mu seam.Mutex // guards won and unknown
	var won *member
	unknown := false
	m.refused, err = t.e.rs.Chase(l.ctx, resolve.Chase{
		Base: m.base, Priority: t.priority, GivenUp: l.isLost,
		Try: func(
			ctx context.Context, rd resolve.Reading, f cell.Fold,
		) (bool, store.Snapshot, error) {
			x := newLock(m.e)
			x.base, x.fold = rd, f
			landed, err := l.try(ctx, x)
			mu.Lock()
			defer mu.Unlock()
			if landed && won == nil {
				won = x
			}
			unknown = unknown || x.result == store.Unknown
			return landed, x.refused, err
		},
	})
	switch {
	case won != nil:
		*m = *won
		return nil
	case unknown:
		l.lose()
		if m.result = store.Unknown; err == nil {
			err = errLost
		}
		return err
	}
	t.learn(m)
	return err
}

// try sends a lock until it is known whether it has landed. It is Unknown in the end if
// the answer was lost, but the cell holds a lock of the attempt.
func (l *locks) try(ctx context.Context, m *member) (landed bool, err error) {
	t, a := l.t, l.a
	_, m.writer = m.base.Effective()
	m.write = t.e.st.Prepare(m.base.Snapshot, cell.Place(m.base.Cell, m.fold, a.intent(m)))
	for tries := range resendsMax {
		if tries > 0 {
			if err := t.e.rt.Sleep(ctx, resendPauseMin<<tries); err != nil {
				return false, err
			}
		}
		doubt := m.result == store.Unknown
		a.send(ctx, m)
		switch {
		case m.result == store.Applied:
			return true, nil
		case m.result == store.NotApplied && !doubt:
			return false, m.err
		}
		m.result = store.Unknown
		s, err := t.e.rs.Fetch(ctx, m.e.name)
		switch {
		case err != nil:
			return false, err
		case s.Cell.Holds(a.id):
			m.landed = s
			return false, nil
		case s.Version != m.base.Version:
			m.result, m.refused = store.NotApplied, s
			t.e.rs.Lost(m.e.name)
			return false, nil
		}
	}
	return false, fmt.Errorf("lock %q: refused or unknown %d times at the version that the store "+
		"reports: %w", t.e.st.FullName(m.e.name), resendsMax, backend.ErrUnavailable)
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
	err := l.each(l.a.members[1:], func(m *member) error {
		if m.action == cell.Lock {
			return nil
		}
		w := t.e.st.Prepare(m.landed, cell.Amend(m.landed.Cell, l.a.intent(m)))
		res, s, err := t.e.rs.Send(l.ctx, w)
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
	l.stop(err != nil)
	if err == nil && l.isLost() {
		return errLost
	}
	return err
}

// stop ends the heartbeats, at once or after the one that is under way.
func (l *locks) stop(now bool) {
	l.a.members[0].landed, _ = l.heart.Stop(now)
	l.cancel()
	rest := l.a.members[1:]
	slices.SortFunc(rest, func(a, b *member) int { return strings.Compare(a.e.name, b.e.name) })
}
