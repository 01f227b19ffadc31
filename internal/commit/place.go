package commit

import (
	"context"
	"slices"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/contention"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// placeAll sends the attempt's writes, until all have landed (undecided) or the attempt has
// ended. For one that is parallel or direct, all landed is the commit point.
func (a *attempt) placeAll() verdict {
	first := a.hotFirst()
	if len(a.unsent) > 0 {
		if err := a.yield(); err != nil {
			return dead(err)
		}
	}
	if v := a.place(first); v.ended() || len(a.unsent) == 0 {
		return v
	}
	rest := a.unsent
	for _, m := range rest {
		m.Unsent = false
	}
	a.unsent = nil
	return a.place(rest)
}

// yield lets those go first that have failed more often.
func (a *attempt) yield() error {
	return a.rt.Sleep(a.ctx, contention.Yield(a.st.PutLatency(), a.plan.Failures))
}

// hotFirst are the members that are written first: the hot one with the smallest name, or
// all. Rivals meet there, instead of each taking half of the keys.
func (a *attempt) hotFirst() []*Member {
	for i, m := range a.members {
		if len(a.members) > 1 && a.keys.Hot(m.Name) {
			a.partial = true
			a.unsent = slices.Concat(a.members[:i], a.members[i+1:])
			for _, m := range a.unsent {
				m.Result, m.Unsent = store.NotApplied, true
			}
			return a.members[i : i+1]
		}
	}
	return a.members
}

// place sends the writes of some members in one wave, and again those that may not have
// landed.
func (a *attempt) place(todo []*Member) verdict {
	for tries := 0; ; tries++ {
		if a.expired() {
			return a.late(tries)
		}
		if tries == 0 {
			a.sendAll(todo)
		} else if v := a.sendAgain(todo); v.ended() {
			return v
		}
		w := answersOf(todo)
		switch {
		case w.failed != nil:
			return dead(w.failed)
		case w.refused:
			duplicates, proof, err := a.reread()
			switch {
			case proof:
				return dead(err)
			case err != nil:
				return a.leave(err)
			}
			w.unknown, w.cause = append(w.unknown, duplicates...), errDuplicate
		case len(w.unknown) == 0:
			return undecided
		}
		again, v := a.clarify(w.unknown, w.cause)
		if v.ended() || len(again) == 0 {
			return v
		}
		todo = again
		if v := a.pause(tries, w.cause); v.ended() {
			return v
		}
	}
}

func (a *attempt) sendAll(todo []*Member) {
	ctx, cancel := a.st.Bounded(a.ctx)
	_ = seam.Each(a.rt, len(todo), func(i int) error {
		a.send(ctx, todo[i])
		return nil
	})
	cancel()
	for _, m := range todo {
		a.landedAt(m.Landed.Told)
	}
}

// sendAgain sends writes of unknown outcome once more. But where nothing is expected, an attempt
// that commits by landing fences the member instead: the first copy may have landed meanwhile,
// and what it wrote may have been deleted, and swept, so that another would take effect again.
func (a *attempt) sendAgain(todo []*Member) verdict {
	i := slices.IndexFunc(todo, func(m *Member) bool { return m.Base.Version == "" })
	if i < 0 || a.kind.mode() == cell.Pending {
		a.sendAll(todo)
		return undecided
	}
	return a.bury(todo[i])
}

// bury makes a tombstone where a member expects nothing, and nothing is. Then the attempt is
// dead, unless so much time has passed that this may be another absence. If there is something by
// now, or the tombstone's outcome is unknown, too, that is looked at again.
func (a *attempt) bury(m *Member) verdict {
	ctx, cancel := a.st.Bounded(a.ctx)
	defer cancel()
	base := m.Base.Snapshot
	res, s, err := a.rs.Send(ctx, a.st.Prepare(base, cell.Fence(base.Cell)))
	a.buried = a.buried || res != store.NotApplied
	switch {
	case res != store.Applied:
		m.err = a.ours(err)
		return undecided
	case a.expired():
		return a.leave(errExpired)
	}
	m.Result, m.Seen = store.NotApplied, s
	return dead(nil)
}

func (a *attempt) send(ctx context.Context, m *Member) {
	began := a.rt.Now()
	m.Result, m.Landed, m.err = a.rs.Send(ctx, m.write)
	m.Took, m.err = a.rt.Now().Sub(began), a.ours(m.err)
}

// ours is the error of a request, which does not match the caller's context if that has not ended.
func (a *attempt) ours(err error) error {
	if err != nil && a.ctx.Err() == nil {
		return store.NotTheCallers(err)
	}
	return err
}

// answers are those of a wave. A write that was sent once and refused, or
// that certainly was not applied and will not be sent again, proves the attempt
// dead, whatever the others came to.
type answers struct {
	refused bool
	// failed is why a write was not applied; unknown are those that may have been, for the
	// cause.
	failed  error
	unknown []*Member
	cause   error
}

func answersOf(sent []*Member) (w answers) {
	for _, m := range sent {
		switch m.Result {
		case store.Refused:
			w.refused = true
		case store.NotApplied:
			if w.failed == nil {
				w.failed = m.err
			}
		case store.Unknown:
			if w.unknown = append(w.unknown, m); w.cause == nil {
				w.cause = m.err
			}
		}
	}
	return w
}

// reread reads the cells that have not been written, together with the keys only read, in
// one parallel round, after some of them have refused the attempt's write. That proves it
// dead, unless the write has been sent twice by somebody on the way, and what was refused
// is the duplicate: then the cell shows the attempt, or does not tell, since it has been written
// cell.RecentMax times since, or was only locked. Unless some member proves the attempt dead,
// such members are returned, as of unknown outcome. With an error, which may concern one cell
// alone, another may still have proved it.
func (a *attempt) reread() (duplicates []*Member, proof bool, err error) {
	missed := make([]*Member, 0, len(a.plan.Members))
	for _, m := range a.plan.Members {
		if m.Result != store.Applied {
			missed = append(missed, m)
		}
	}
	reads := a.plan.Reads
	a.found.Now = make([]resolve.Reading, len(reads))
	err = seam.Each(a.rt, len(missed)+len(reads), func(i int) (err error) {
		if i < len(missed) {
			missed[i].Seen, err = a.readMissed(missed[i])
			return err
		}
		i -= len(missed)
		a.found.Now[i], err = a.rs.Effective(a.ctx, reads[i].Name, a.plan.validator())
		return err
	})
	var silent []*Member
	for _, m := range missed {
		if m.Seen.Cell == nil {
			continue // it could not be read
		}
		told := m.tells(a.id, m.Seen, true)
		shows := told == cell.HoldsIntent || told == cell.ProvesCommitted
		switch {
		case m.Result == store.Unknown && told == cell.HoldsIntent: // it has landed
			a.rs.Replaced(m.write)
			a.landed(m, m.Seen)
		case m.Result != store.Refused:
		case shows:
			m.Result = store.Unknown
			duplicates = append(duplicates, m)
		case told == cell.ProvesDead && (!a.expired() || !a.mayCommit()):
			proof = true
		default:
			silent = append(silent, m)
		}
	}
	if proof = proof || a.st.SendsOnce(); proof || err != nil {
		return nil, proof, err
	}
	for _, m := range silent {
		m.Result = store.Unknown
	}
	return append(duplicates, silent...), false, nil
}

// readMissed reads a member's cell. One that has refused the write is not what was known of it.
func (a *attempt) readMissed(m *Member) (store.Snapshot, error) {
	if m.Result == store.Refused {
		return a.rs.Fetch(a.ctx, m.Name)
	}
	return a.rs.Read(a.ctx, m.Name)
}
