package commit

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// expired reports whether the attempt has lasted too long. While no request of its own has told
// when it began, that is when it was prepared.
func (a *attempt) expired() bool {
	born := a.born
	if born.There.IsZero() {
		born.There = a.start
	}
	return a.st.Age(born) > attemptMax
}

// late ends an attempt that has lasted too long, before its writes are sent once more, or
// at all.
func (a *attempt) late(tries int) verdict {
	if tries > 0 {
		return a.leave(errExpired)
	}
	for _, m := range a.members {
		if m.Result == store.Unknown { // not sent
			m.Result = store.NotApplied
		}
	}
	return dead(nil)
}

// lateCommit ends an attempt that has lasted too long for its commit write to be sent, perhaps
// once more.
func (a *attempt) lateCommit() verdict {
	if a.phase == committing {
		return inDoubt(errExpired)
	}
	return dead(nil)
}

// clarify reads the cells of writes whose outcome is unknown. It returns those that
// must be sent again, or how the attempt ended.
func (a *attempt) clarify(unknown []*Member, cause error) (again []*Member, v verdict) {
	if err := a.ctx.Err(); err != nil {
		return nil, a.leave(errors.Join(err, cause))
	}
	seen, err := a.observe(unknown)
	if err != nil {
		return nil, a.leave(errors.Join(err, cause))
	}
	isDead, ask := false, false
	for i, m := range unknown {
		m.Seen = seen[i].Snapshot // what follows if the attempt turns out to be dead
		switch a.tell(m, seen[i]) {
		case Committed:
			return nil, committed
		case Dead:
			isDead = true
		case InDoubt:
			ask = true
		default:
			if m.Result != store.Applied {
				again = append(again, m) // see sendAgain
			}
		}
	}
	switch {
	case a.expired():
		return nil, a.leave(errors.Join(errExpired, cause))
	case isDead:
		return again, dead(nil)
	case ask:
		if v = a.askMembers(); v.Outcome == InDoubt {
			v.err = errors.Join(v.err, cause)
		}
		return nil, v
	}
	return again, undecided
}

// tell says what one cell tells of the attempt, and notes if the write has landed.
//
//	the cell                        the attempt
//	holds its intent                goes on: the write has landed
//	names it                        has committed
//	is at its expected version      goes on: the same bytes are sent again
//	would name it                   is dead
//	is off, and does not tell       has been settled by somebody. If it can't have committed,
//	                                it is dead; else all members must be asked.
func (a *attempt) tell(m *Member, s resolve.Sight) Outcome {
	switch s.Evidence {
	case cell.HoldsIntent:
		if m.Result != store.Applied {
			a.rs.Replaced(m.write)
		}
		a.landed(m, s.Snapshot)
		return Undecided
	case cell.ProvesCommitted:
		return Committed
	case cell.AtExpected:
		return Undecided
	case cell.ProvesDead:
		return Dead
	}
	if !a.mayCommit() {
		return Dead
	}
	return InDoubt
}

// landedAt notes when a member's write was answered, by the store's clock.
func (a *attempt) landedAt(told time.Time) {
	if told.IsZero() {
		return
	}
	a.born = a.born.Earlier(store.Moment{Here: a.born.Here, There: told})
	if a.first.IsZero() || told.Before(a.first) {
		a.first = told
	}
	if told.After(a.last) {
		a.last = told
	}
}

// landed notes that a member's write has, as a read has shown: at some time since the
// attempt began.
func (a *attempt) landed(m *Member, s store.Snapshot) {
	m.Result, m.Landed = store.Applied, s
	a.landedAt(s.Told)
	if !a.start.IsZero() {
		a.first = a.start
	}
}

// apart reports whether members' writes may have landed so far apart that a sweep came between:
// another client may have made an absent member a tombstone, which killed the attempt, and
// settled others; when the tombstone was gone, the late write landed.
func (a *attempt) apart() bool {
	return len(a.members) > 1 && a.last.Sub(a.first) > attemptMax
}

// together reads all members again, all of whose writes have landed, and goes on if each of
// them holds the intent. If one does not, and has no mark, but another still does, the attempt
// is dead.
func (a *attempt) together() verdict {
	seen := make([]store.Snapshot, len(a.members))
	err := seam.Each(a.rt, len(a.members), func(i int) (err error) {
		seen[i], err = a.rs.Read(a.ctx, a.members[i].Name)
		return err
	})
	if err != nil {
		return a.leave(err)
	}
	held := func(s store.Snapshot) bool { return s.Cell.Holds(a.id) }
	holder := slices.IndexFunc(seen, held)
	switch {
	case slices.ContainsFunc(seen, func(s store.Snapshot) bool { return s.Cell.Names(a.id) }):
		return committed
	case !slices.ContainsFunc(seen, func(s store.Snapshot) bool { return !held(s) }):
		return undecided
	case a.kind == Validated:
		return dead(nil) // the commit write was not sent
	case holder >= 0:
		if s, err := a.rs.Read(a.ctx, seen[holder].Name); err == nil && held(s) {
			return dead(nil)
		}
	}
	return a.askMembers()
}

// observe reads members of the attempt, in one round.
func (a *attempt) observe(members []*Member) ([]resolve.Sight, error) {
	seen := make([]resolve.Sight, len(members))
	err := seam.Each(a.rt, len(members), func(i int) (err error) {
		seen[i], err = a.rs.Look(a.ctx, members[i].Name, members[i].asks(a.id))
		return err
	})
	return seen, err
}

// askMembers is status(T) asked by the owner, after some member was seen off: it
// reads all members. One that names the attempt: committed. One that still holds the
// intent, or never got it, or would name the attempt: dead. If none can tell any more, the
// outcome stays in doubt.
func (a *attempt) askMembers() verdict {
	seen, err := a.observe(a.members)
	if err != nil {
		return inDoubt(err)
	}
	silent := true
	for _, s := range seen {
		switch s.Evidence {
		case cell.ProvesCommitted:
			return committed
		case cell.HoldsIntent, cell.AtExpected, cell.ProvesDead:
			silent = false
		}
	}
	switch {
	case a.expired():
		return inDoubt(errExpired)
	case silent:
		return inDoubt(errSilent)
	}
	return dead(nil)
}

// pause waits before writes are sent again, and gives up after a while.
func (a *attempt) pause(tries int, cause error) verdict {
	if tries == resendsMax {
		if a.mayCommit() {
			return inDoubt(cause)
		}
		return dead(fmt.Errorf("place intents: %w: %s", backend.ErrUnavailable, cause.Error()))
	}
	d := min(resendPauseMin<<tries, resendPauseMax)
	if err := a.rt.Sleep(a.ctx, seam.Jitter(a.rt, d)); err != nil {
		return a.leave(errors.Join(err, cause))
	}
	return undecided
}

// mayCommit reports whether the writes that have been sent may commit the attempt: not those
// of one with pending intents before its commit write, nor while some intent has not been sent.
func (a *attempt) mayCommit() bool {
	return len(a.unsent) == 0 && (a.kind.mode() != cell.Pending || a.phase == committing)
}

// leave is how an attempt ends whose owner gives up with writes on their way.
func (a *attempt) leave(err error) verdict {
	if a.mayCommit() {
		return inDoubt(err)
	}
	return dead(err)
}
