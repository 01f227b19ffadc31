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

// Locks are what a locked attempt holds: its pending intents.
//
// The first goes into the attempt's primary. Then each other key that the function has read or
// written is locked at whatever version it has, without releasing the others. If what the
// function saw has changed, it runs again, on the locked values; if it wants another key, that is
// locked too. Then the intents get their final values, and the primary's write commits:
//
//	locked   intents are placed, or replaced by ones with values        undecided
//	         the primary replaced by its value. Commit point.           committed
//	lost     somebody has dropped the primary's intent                  dead
//
// Intents name the primary alone. The list of members is in the mark that the commit write
// leaves. Heartbeats keep others waiting as long as the user's function takes, within limits.
type Locks struct {
	a *attempt // its members in the order of locking
	// held are the members by name.
	held  map[string]*Member
	heart *heart
	// ctx is that of their requests; it ends with the transaction's, or by the first error.
	ctx    context.Context
	cancel func()

	mu   seam.Mutex // guards all below
	lost bool
	// failure is the first error, which ends the transaction.
	failure error
}

// ErrLost says that a locked attempt is dead.
var ErrLost = errors.New("locks lost")

// locks are those of an attempt whose first lock has landed.
func (a *attempt) locks() *Locks {
	m := a.members[0]
	l := &Locks{a: a, held: map[string]*Member{m.Name: m}}
	l.ctx, l.cancel = a.rt.WithCancel(a.ctx)
	l.heart = a.beat(m.Landed, lockBeatsMax, l.lose)
	return l
}

// Members are the cells that are locked, or were to be.
func (l *Locks) Members() []*Member { return l.a.members }

// lose says that the attempt is, or is to be, dead.
func (l *Locks) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = true
}

func (l *Locks) isLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost || l.a.expired()
}

// Take locks what is not locked yet, in one wave, and takes over what the function
// wants with each key. Keys that it does not want any more stay locked.
func (l *Locks) Take(wanted []*Member) error {
	for _, m := range l.a.members {
		m.Action, m.Value, m.External = cell.Lock, cell.Value{}, nil
	}
	var todo []*Member
	for _, x := range wanted {
		l.a.endBefore(x.External)
		m := l.held[x.Name]
		if m == nil {
			m = NewLock(x.Name, x.Base)
			l.held[x.Name] = m
			l.a.members = append(l.a.members, m)
		}
		if m.Result != store.Applied {
			todo = append(todo, m)
		}
	}
	if len(l.a.members) > cell.MembersMax {
		return ErrLost
	}
	err := l.each(todo, l.lock)
	for _, x := range wanted {
		m := l.held[x.Name]
		m.Action, m.Value, m.External = x.Action, x.Value, x.External
	}
	return err
}

// each does something with several members at once. An error of one ends what is under way
// with the others: nobody is to be kept waiting by locks that are of no use any more.
func (l *Locks) each(members []*Member, f func(*Member) error) error {
	err := seam.Each(l.a.rt, len(members), func(i int) error {
		err := f(members[i])
		if err != nil && !errors.Is(err, ErrLost) {
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

func (l *Locks) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil {
		l.failure = err
		l.cancel()
	}
}

// lock locks a key at whatever version it has.
func (l *Locks) lock(m *Member) error {
	for refusals := 0; !l.isLost(); refusals++ {
		if err := l.findBase(m, refusals == 0); err != nil {
			return err
		}
		made, err := l.a.makeRoom(l.ctx, m, 0)
		switch {
		case err != nil:
			return err
		case made:
			continue
		case m.races(refusals):
			err = l.race(m)
		default:
			err = l.place(m)
		}
		if err != nil || m.Result == store.Applied {
			return err
		}
	}
	return ErrLost
}

// findBase finds the base of a lock. Before the first try, one that has probably changed is
// read.
func (l *Locks) findBase(m *Member, first bool) error {
	a := l.a
	if err := a.claim(l.ctx, m.Name, a.plan.Left); err != nil {
		return err
	}
	if m.Base = a.Latest(m.Name, m.Base); first && a.keys.Doubted(m.Name) {
		s, err := a.rs.Fetch(l.ctx, m.Name)
		if err != nil {
			return err
		}
		m.Base = a.rs.Known(s)
	}
	if m.Base.Final() {
		return nil
	}
	var err error
	m.Base, err = a.rs.Settle(l.ctx, m.Base.Snapshot, a.plan.writer())
	return err
}

// learn takes over what was read of a cell that has refused a lock.
func (l *Locks) learn(m *Member) {
	if m.Seen.Cell != nil {
		m.Base = l.a.rs.Known(m.Seen)
	}
}

// place sends a lock. If the cell has changed, it is to be tried again: what decides the
// attempt is the primary alone.
func (l *Locks) place(m *Member) error {
	_, err := l.try(l.ctx, m)
	if m.Result == store.Unknown && err == nil {
		m.Result = store.Applied
		l.a.rs.Replaced(m.write)
	}
	if m.Result != store.Applied {
		l.learn(m)
	}
	return err
}

// race is place in a race. Several tries of one lock cannot be told apart in the cell: if
// none was told that it had landed, but a lock is there, that is of no use.
func (l *Locks) race(m *Member) (err error) {
	var mu seam.Mutex // guards won and unknown
	var won *Member
	unknown := false
	m.Seen, err = l.a.rs.Race(l.ctx, resolve.Race{
		Base: m.Base, Priority: l.a.plan.Priority, GivenUp: l.isLost,
		Try: func(
			ctx context.Context, rd resolve.Reading, f cell.Fold,
		) (bool, store.Snapshot, error) {
			x := NewLock(m.Name, rd)
			x.Fold = f
			landed, err := l.try(ctx, x)
			mu.Lock()
			defer mu.Unlock()
			if landed && won == nil {
				won = x
			}
			unknown = unknown || x.Result == store.Unknown
			return landed, x.Seen, err
		},
	})
	switch {
	case won != nil:
		*m = *won
		return nil
	case unknown:
		l.lose()
		if m.Result = store.Unknown; err == nil {
			err = ErrLost
		}
		return err
	}
	l.learn(m)
	return err
}

// try sends a lock until it is known whether it has landed. It is Unknown in the end if
// the answer was lost, but the cell holds a lock of the attempt.
func (l *Locks) try(ctx context.Context, m *Member) (landed bool, err error) {
	a := l.a
	_, m.writer = m.Base.Effective()
	m.write = a.st.Prepare(m.Base.Snapshot, cell.Place(m.Base.Cell, m.Fold, a.intent(m)))
	for tries := range resendsMax {
		if tries > 0 {
			if err := a.rt.Sleep(ctx, resendPauseMin<<tries); err != nil {
				return false, err
			}
		}
		doubt := m.Result == store.Unknown
		a.send(ctx, m)
		switch {
		case m.Result == store.Applied:
			return true, nil
		case m.Result == store.NotApplied && !doubt:
			return false, m.err
		}
		m.Result = store.Unknown
		s, err := a.rs.Fetch(ctx, m.Name)
		if err != nil {
			return false, err
		}
		switch m.tells(a.id, s, false) {
		case cell.HoldsIntent:
			m.Landed = s
			return false, nil
		case cell.AtExpected:
		default:
			m.Result, m.Seen = store.NotApplied, s
			a.keys.Lost(m.Name)
			return false, nil
		}
	}
	return false, fmt.Errorf("lock %q: refused or unknown %d times at the version that the store "+
		"reports: %w", a.st.FullName(m.Name), resendsMax, backend.ErrUnavailable)
}

// Outdated reports whether the function must run again, as a value that it saw had changed
// when the key was locked: then it runs on the locked values. If one of those is another
// than the function saw after all, the locks are lost.
func (l *Locks) Outdated(seen []*Read) (changed bool, err error) {
	for _, r := range seen {
		m := l.held[r.Name]
		if !r.Outdated(m.Base, l.a.st.Clock()) {
			continue
		}
		if changed = true; m.given {
			return true, ErrLost
		}
	}
	for _, m := range l.a.members {
		m.given = changed
	}
	return changed, nil
}

// Finish gives the intents their final values, but that of the primary, which the commit
// write replaces. An answer other than "applied" is taken for the loss of the locks. Ends is when
// the first value is due that the function saw.
func (l *Locks) Finish(ends int64) error {
	err := l.each(l.a.members[1:], func(m *Member) error { return l.amend(l.ctx, m) })
	l.stop(err != nil)
	switch {
	case err != nil:
		return err
	case l.isLost():
		return ErrLost
	}
	return l.before(ends)
}

// amend gives a member's intent its final value.
func (l *Locks) amend(ctx context.Context, m *Member) error {
	a := l.a
	if m.Action == cell.Lock {
		return nil
	}
	w := a.st.Prepare(m.Landed, cell.Amend(m.Landed.Cell, a.intent(m)))
	res, s, err := a.rs.Send(ctx, w)
	switch res {
	case store.Applied:
		m.Landed = s
		return nil
	case store.NotApplied:
		return a.ours(err)
	}
	return ErrLost
}

// before sees to it that no value is due at the commit that the function saw. If one may be while
// the commit write is on its way, the primary's intent gets its value, too: from then on nobody
// reads past it, and what is not due once that has been answered was not at that instant.
func (l *Locks) before(ends int64) error {
	a := l.a
	if !a.st.Soon(ends) {
		return nil
	}
	if err := l.amend(a.ctx, a.members[0]); err != nil {
		return err
	}
	if ends <= a.st.Clock() {
		return ErrLost
	}
	return nil
}

// Commit sends the commit write, after Finish, with the list of all members in its mark.
func (l *Locks) Commit() Result {
	l.a.list.List = listOf(l.a.members).List
	return l.a.conclude(l.a.commitPrimary())
}

// Release declares the attempt dead: its commit write has not been sent, and never will be.
func (l *Locks) Release() Result {
	l.stop(true)
	return l.a.conclude(dead(nil))
}

// stop ends the heartbeats, at once or after the one that is under way.
func (l *Locks) stop(now bool) {
	l.a.members[0].Landed, _ = l.heart.stop(now)
	l.cancel()
	rest := l.a.members[1:]
	slices.SortFunc(rest, func(a, b *Member) int { return strings.Compare(a.Name, b.Name) })
}
