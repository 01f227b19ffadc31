package commit

import (
	"context"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/contention"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Locking is what came of trying to take the first lock.
type Locking struct {
	// Locks are nil if there are none. Then it may be tried again, unless Err is set.
	Locks *Locks
	// Died are the attempts that came to nothing.
	Died []Result
	Err  error
}

// NewLock is a member that is to be locked, and has not been.
func NewLock(name string, known resolve.Reading) *Member {
	return &Member{
		Name: name, Action: cell.Lock, Base: known, Fate: Fate{Result: store.NotApplied},
	}
}

// Lock tries to lock the first key, after so many refusals. An attempt whose primary is refused
// is dead: so each try is an attempt of its own. If one is refused, all members of the plan are
// read, in one round.
func (c *Committer) Lock(ctx context.Context, p *Plan, first *Member, refusals int) Locking {
	if err := c.findBases(ctx, p, first); err != nil {
		return Locking{Err: err}
	}
	made, err := c.makeRoom(ctx, first, 1)
	switch {
	case err != nil || made:
		return Locking{Err: err}
	case first.races(refusals):
		return c.raceFirst(ctx, p, first)
	}
	a, v := c.tryFirst(ctx, p, first)
	if !v.ended() {
		return Locking{Locks: a.locks()}
	}
	return Locking{Died: []Result{a.conclude(dead(v.err))}, Err: v.err}
}

// races reports whether the member is to be locked in a race, after so many refusals: if there
// is no intent in its cell. Among rivals with several members it is better to know of all.
func (m *Member) races(refusals int) bool {
	return contention.Races(refusals) && m.Base.Cell.Intent == nil
}

// tryFirst makes an attempt that begins by locking its primary, and has ended if that has not
// landed.
func (c *Committer) tryFirst(ctx context.Context, p *Plan, m *Member) (*attempt, verdict) {
	_, m.writer = m.Base.Effective()
	a := &attempt{
		Committer: c, plan: p, kind: Locked, ctx: ctx, id: txid.New(c.rt.Entropy),
		members: []*Member{m},
	}
	a.list = listOf(a.members)
	a.list.Long = true
	a.begin()
	m.write = c.st.Prepare(m.Base.Snapshot, cell.Place(m.Base.Cell, m.Fold, a.intent(m)))
	return a, a.place(a.members)
}

// raceFirst is Lock in a race. What has landed beside the first that did is dead.
func (c *Committer) raceFirst(ctx context.Context, p *Plan, m *Member) (got Locking) {
	var mu seam.Mutex // guards won and rest
	var won *attempt
	var rest []*attempt
	m.Seen, got.Err = c.rs.Race(ctx, resolve.Race{
		Base: m.Base, Extra: 1, Priority: p.Priority,
		Try: func(
			ctx context.Context, rd resolve.Reading, f cell.Fold,
		) (bool, store.Snapshot, error) {
			x := NewLock(m.Name, rd)
			x.Fold = f
			alone := *p
			alone.Members = []*Member{x}
			a, v := c.tryFirst(ctx, &alone, x)
			mu.Lock()
			defer mu.Unlock()
			if a.raced = true; !v.ended() && won == nil {
				won = a
			} else {
				rest = append(rest, a)
			}
			return !v.ended(), x.Seen, v.err
		},
	})
	for _, a := range rest {
		got.Died = append(got.Died, a.conclude(dead(nil)))
	}
	if won != nil {
		won.ctx = ctx
		got.Locks = won.locks()
	}
	return got
}

// intent is what a locked attempt has in a member: its action alone or, for a value
// that is final, with the value.
func (a *attempt) intent(m *Member) *cell.Intent {
	return &cell.Intent{
		Tx: a.id, Priority: a.plan.Priority, Mode: cell.Pending, Action: m.Action, Value: m.Value,
		Members: a.list,
	}
}
