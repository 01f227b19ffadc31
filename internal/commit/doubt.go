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

// Limits of clarifying unknown outcomes.
const (
	// resendsMax bounds how often writes with an unknown outcome are sent again.
	resendsMax = 8
	// resendPauseMin and resendPauseMax bound the pause before that.
	resendPauseMin = 20 * time.Millisecond
	resendPauseMax = 2 * time.Second
	// attemptMax is how long an attempt may last.
	attemptMax = store.AttemptMax
	// blockedMax is how often a transaction goes on after a cell has refused a write at the
	// very version that the store reports of it.
	blockedMax = 8
	// liftsMax bounds how often a condemned tombstone is rewritten.
	liftsMax = 20
)

// errExpired says that nothing can be concluded from absent objects any more.
var errExpired = fmt.Errorf("%w: the attempt took longer than %v",
	backend.ErrUnavailable, attemptMax)

// expired tells whether the attempt has lasted too long. While no request of its own has told
// when it began, that is when it was prepared.
func (a *attempt) expired() bool {
	born := a.born
	if born.There.IsZero() {
		born.There = a.start
	}
	return a.t.e.st.Age(born) > attemptMax
}

// late ends an attempt that has lasted too long, before its writes are sent once more, or
// at all.
func (a *attempt) late(tries int) (end, error) {
	if tries > 0 {
		return a.leaving(), errExpired
	}
	for _, m := range a.members {
		if m.result == store.Unknown { // not sent
			m.result = store.NotApplied
		}
	}
	return dead, nil
}

// lateCommit ends an attempt that has lasted too long for its commit write to be sent, perhaps
// once more.
func (a *attempt) lateCommit() (end, error) {
	if a.committing {
		return inDoubt, errExpired
	}
	return dead, nil
}

// clarify reads the cells of writes whose outcome is unknown. It returns those that
// must be sent again, or how the attempt ended.
//
//   - It holds the attempt's intent: the write landed.
//   - It names the attempt: committed.
//   - Still at the expected version: send the same bytes again.
//   - Otherwise the attempt is final: it has been settled by somebody. Pending,
//     the commit write not sent: dead. Else this cell may tell, if its recent
//     attempts reach back; or all members must be asked.
func (a *attempt) clarify(unknown []*member, cause error) (
	again []*member, how end, err error,
) {
	ctx := a.ctx
	if ctx.Err() != nil {
		return nil, a.leaving(), errors.Join(ctx.Err(), cause)
	}
	seen := make([]store.Snapshot, len(unknown))
	err = seam.Each(a.t.e.rt, len(unknown), func(i int) (err error) {
		seen[i], err = a.observe(unknown[i])
		return err
	})
	if err != nil {
		return nil, a.leaving(), errors.Join(err, cause)
	}
	ask := false
	for i, m := range unknown {
		m.refused = seen[i] // what follows if the attempt turns out to be dead
		switch a.tell(m, seen[i]) {
		case committed:
			return nil, committed, nil
		case dead:
			how = dead
		case inDoubt:
			ask = true
		case goesOn:
			if m.result != store.Applied {
				again = append(again, m)
			}
		}
	}
	if a.expired() {
		return nil, a.leaving(), errors.Join(errExpired, cause)
	}
	if how == goesOn && ask {
		how, err = a.askMembers()
		return nil, how, errors.Join(err, onlyIf(how == inDoubt, cause))
	}
	return again, how, nil
}

func onlyIf(wanted bool, err error) error {
	if wanted {
		return err
	}
	return nil
}

// tell says what one cell tells of the attempt, and notes if the write has landed.
func (a *attempt) tell(m *member, s store.Snapshot) end {
	switch {
	case a.mode != 0 && s.Cell.Holds(a.id):
		if m.result != store.Applied {
			a.t.e.rs.Replaced(m.write)
		}
		a.found(m, s)
		return goesOn
	case s.Cell.Names(a.id):
		return committed
	case s.Version == m.base.Version:
		return goesOn
	case a.mode == cell.Pending, len(a.unsent) > 0:
		return dead
	case m.tells(s):
		return dead
	}
	return inDoubt
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

// found notes that a member's write has landed, as a read has shown: at some time since the
// attempt began.
func (a *attempt) found(m *member, s store.Snapshot) {
	m.result, m.landed = store.Applied, s
	a.landedAt(s.Told)
	if !a.start.IsZero() {
		a.first = a.start
	}
}

// apart tells whether members' writes may have landed so far apart that a sweep came between:
// another client may have made an absent member a tombstone, which killed the attempt, and
// settled others; when the tombstone was gone, the late write landed.
func (a *attempt) apart() bool {
	return len(a.members) > 1 && a.last.Sub(a.first) > attemptMax
}

// together reads all members again, all of whose writes have landed, and goes on if each of
// them holds the intent. If one does not, and has no mark, but another still does, the attempt
// is dead.
func (a *attempt) together() (end, error) {
	seen := make([]store.Snapshot, len(a.members))
	err := seam.Each(a.t.e.rt, len(a.members), func(i int) (err error) {
		seen[i], err = a.t.e.rs.Read(a.ctx, a.members[i].e.name)
		return err
	})
	if err != nil {
		return a.leaving(), err
	}
	held := func(s store.Snapshot) bool { return s.Cell.Holds(a.id) }
	holder := slices.IndexFunc(seen, held)
	switch {
	case slices.ContainsFunc(seen, func(s store.Snapshot) bool { return s.Cell.Names(a.id) }):
		return committed, nil
	case !slices.ContainsFunc(seen, func(s store.Snapshot) bool { return !held(s) }):
		return goesOn, nil
	case a.mode == cell.Pending:
		return dead, nil // the commit write was not sent
	case holder >= 0:
		if s, err := a.t.e.rs.Read(a.ctx, seen[holder].Name); err == nil && held(s) {
			return dead, nil
		}
	}
	return a.askMembers()
}

// tells: the cell is off and does not name the attempt, which would be among its
// recent ones if it had committed: they reach back to the writer that it saw there.
// (A lock does not enter them. A condemned tombstone may vanish, and a late copy of the
// write land on its place.)
func (m *member) tells(s store.Snapshot) bool {
	return m.action != cell.Lock && !s.Cell.Condemned && s.Cell.ReachesBack(m.writer)
}

// observe reads a member of the attempt. A condemned tombstone that is off may be
// about to vanish: the condemnation is lifted before anything is concluded from it.
func (a *attempt) observe(m *member) (store.Snapshot, error) {
	rs := a.t.e.rs
	for try := range liftsMax {
		if try > 0 {
			if err := a.t.e.rt.Sleep(a.ctx, resendPauseMin<<min(try, 6)); err != nil {
				return store.Snapshot{}, err
			}
		}
		s, err := rs.Read(a.ctx, m.e.name)
		if err != nil || !s.Cell.Condemned || s.Version == m.base.Version {
			return s, err
		}
		res, lifted, err := rs.Send(a.ctx, a.t.e.st.Prepare(s, cell.Fence(s.Cell)))
		switch {
		case res == store.Applied:
			return lifted, nil
		case res == store.NotApplied:
			return s, err
		}
	}
	return store.Snapshot{}, fmt.Errorf("lift the condemnation of %q: outrun %d times: %w",
		a.t.e.st.FullName(m.e.name), liftsMax, backend.ErrUnavailable)
}

// askMembers is status(T) asked by the owner, after some member was seen off: it
// reads all members. One that names the attempt: committed. One that still holds the
// intent, or never got it, or is off and tells: dead. If none can tell any more, the
// outcome stays in doubt.
func (a *attempt) askMembers() (end, error) {
	seen := make([]store.Snapshot, len(a.members))
	err := seam.Each(a.t.e.rt, len(a.members), func(i int) (err error) {
		seen[i], err = a.observe(a.members[i])
		return err
	})
	if err != nil {
		return inDoubt, err
	}
	how := inDoubt
	for i, m := range a.members {
		s := seen[i]
		switch {
		case s.Cell.Names(a.id):
			return committed, nil
		case s.Cell.Holds(a.id), s.Version == m.base.Version, m.tells(s):
			how = dead
		}
	}
	switch {
	case a.expired():
		return inDoubt, errExpired
	case how == inDoubt:
		err = errors.New("no member's history reaches back")
	}
	return how, err
}

// pause waits before writes are sent again, and gives up after a while.
func (a *attempt) pause(tries int, cause error) (end, error) {
	if tries == resendsMax {
		if how := a.leaving(); how != dead {
			return how, cause
		}
		return dead, fmt.Errorf("place intents: %w: %s", backend.ErrUnavailable, cause.Error())
	}
	rt := a.t.e.rt
	d := min(resendPauseMin<<tries, resendPauseMax)
	half := uint64(d / 2)
	if err := rt.Sleep(a.ctx, time.Duration(half+rt.Uint64()%half)); err != nil {
		return a.leaving(), errors.Join(err, cause)
	}
	return goesOn, nil
}

// leaving is how an attempt ends whose owner gives up with writes on their way: a
// pending one is dead, as its commit write has not been sent, and so is one with an intent
// that has not.
func (a *attempt) leaving() end {
	if len(a.unsent) > 0 || a.mode == cell.Pending && !a.committing {
		return dead
	}
	return inDoubt
}

// doubtful ends the transaction with ErrInDoubt. The background finds out what the
// attempt came to, or kills it, and settles its intents.
func (a *attempt) doubtful(err error) error {
	t := a.t
	t.e.stats.InDoubt.Add(1)
	t.linked = a.members
	names := make([]string, len(a.members))
	for i, m := range a.members {
		names[i] = m.e.name
	}
	if m := a.members[0]; a.mode == 0 {
		t.e.rs.UnlinkByWrite(a.id, m.writer, m.write, a.expired)
	} else {
		t.e.rs.Resolve(a.id, names, a.mode == cell.Pending)
		t.e.rs.UnlinkIfDead(a.id, a.mode, a.linking(), a.expired)
	}
	return &InDoubtError{Attempt: a.id, Names: names, Err: t.whyDoubt(err)}
}

// linking tells the resolver what it needs to know of the members' external values.
func (a *attempt) linking() []resolve.Linking {
	all := make([]resolve.Linking, len(a.members))
	for i, m := range a.members {
		all[i] = resolve.Linking{Member: a.list.List[i], Ref: m.value.Ref}
		if m.action != cell.Lock {
			all[i].Saw = m.writer
		}
	}
	return all
}

// whyDoubt keeps of a cause what its owner may act on: that he left himself, or that the
// outcome is unknown. It must not match what means "not applied".
func (t *txn) whyDoubt(err error) error {
	why := &doubtCause{text: "gave up"}
	if err != nil {
		why.text = err.Error()
	}
	if cerr := t.ctx.Err(); cerr != nil {
		why.is = append(why.is, cerr)
	}
	if errors.Is(err, backend.ErrOutcomeUnknown) {
		why.is = append(why.is, backend.ErrOutcomeUnknown)
	}
	return why
}

// blocked pauses if a cell has refused a write although it still is at the version that the
// write was to replace. Nobody was faster then: the store does not take the write, whatever its
// reasons, and to try again at once is of no use. After blockedMax times that is an error.
func (t *txn) blocked(members []*member) error {
	for _, m := range members {
		if m.result != store.Refused || m.refused.Cell == nil ||
			m.refused.Version != m.base.Version {
			continue
		}
		if t.blocks++; t.blocks > blockedMax {
			return fmt.Errorf("write %q: the store refuses writes at the version that it reports, "+
				"%d times: %w", t.e.st.FullName(m.e.name), t.blocks, backend.ErrUnavailable)
		}
		d := min(resendPauseMin<<t.blocks, resendPauseMax)
		half := uint64(d / 2)
		return t.e.rt.Sleep(t.ctx, time.Duration(half+t.e.rt.Uint64()%half))
	}
	return nil
}
