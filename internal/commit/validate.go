package commit

import (
	"context"
	"errors"
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// validateBeatsMax is how long heartbeats protect an attempt that is being validated.
const validateBeatsMax = 5 * time.Minute

// Validate reads keys again, and lists spans, all in one round, and compares the writers.
func (c *Committer) Validate(
	ctx context.Context, reads []*Read, spans []*scan.Span, v scan.Validator,
) (found Validation, err error) {
	if len(spans) == 0 {
		found.Now, err = c.readAgain(ctx, reads, v.Role)
		found.Stale = found.Now != nil
		return found, err
	}
	at := c.rt.Now()
	staleSpans := false
	err = seam.Each(c.rt, 2, func(i int) (err error) {
		if i == 0 {
			found.Now, err = c.readAgain(ctx, reads, v.Role)
		} else {
			found.Listed, staleSpans, err = c.scans.Validate(ctx, spans, v)
		}
		return err
	})
	if err != nil {
		return found, err
	}
	if found.Stale = found.Now != nil || staleSpans; !found.Stale {
		c.memory.Keep(spans, at)
	}
	return found, nil
}

// readAgain reads keys again, in parallel. It returns what they are now if one has changed.
func (c *Committer) readAgain(
	ctx context.Context, reads []*Read, role resolve.Role,
) ([]resolve.Reading, error) {
	now := make([]resolve.Reading, len(reads))
	err := c.st.Wave(len(reads), func(i int) (err error) {
		now[i], err = c.rs.Effective(ctx, reads[i].Name, role)
		return err
	})
	if err != nil {
		return nil, err
	}
	stale, clock := false, c.st.Clock()
	for i, r := range reads {
		if r.Outdated(now[i], clock) {
			stale = true
		}
	}
	if !stale {
		return nil, nil
	}
	return now, nil
}

// validateAndCommit ends an attempt all of whose pending intents have landed.
func (a *attempt) validateAndCommit() verdict {
	m, gone := a.members[0], false
	h := a.beat(m.Landed, validateBeatsMax, nil)
	err := a.validate()
	// By now answers have told what the time was at least when validation began.
	a.found.Stale = a.found.Stale || a.plan.Ends <= a.st.Clock()
	if m.Landed, gone = h.stop(false); gone || a.found.Stale || err != nil {
		return dead(err) // the commit write was not sent, and never will be
	}
	if a.found.Stale = !a.plan.seal(); a.found.Stale {
		return dead(nil)
	}
	return a.commitPrimary()
}

// validate validates what the plan has read.
func (a *attempt) validate() error {
	p := a.plan
	v := scan.Validator{Role: p.validator()}
	if len(p.Spans) > 0 {
		v.Own = make(map[string]resolve.Reading, len(p.Members))
		for _, m := range p.Members {
			v.Own[m.Name] = m.Base
		}
	}
	now := a.found.Now // of a refusal that was none
	found, err := a.Validate(a.ctx, p.Reads, p.Spans, v)
	if a.found = found; found.Now == nil {
		a.found.Now = now
	}
	return err
}

// commitPrimary replaces the primary's intent by its value, with the mark.
func (a *attempt) commitPrimary() verdict {
	rs, m, doubt := a.rs, a.members[0], false
	for tries := 0; ; tries++ {
		if a.expired() { // a locked primary does not link its value yet, which may be gone
			return a.lateCommit()
		}
		a.phase = committing
		fold := rs.FoldOf(rs.Known(m.Landed))
		fold.Unmarked = len(a.members) == 1
		w := a.st.Prepare(m.Landed, cell.Commit(a.final(m), a.id, fold))
		res, _, err := rs.Send(a.ctx, w) // Commit point.
		switch {
		case res == store.Applied:
			return committed
		case res == store.NotApplied && !doubt:
			return dead(err) // never sent, or certainly not applied
		case res == store.Refused && a.st.SendsOnce():
		default: // refused may be a duplicate
			doubt = true
		}
		if !doubt {
			a.phase = placing
		}
		if cerr := a.ctx.Err(); cerr != nil {
			return a.leave(errors.Join(cerr, err))
		}
		v, s := a.commitSeen(doubt)
		switch v.Outcome {
		case Undecided:
		case Committed:
			rs.Replaced(w)
			return v
		case InDoubt:
			v.err = errors.Join(v.err, err)
			return v
		default:
			return v
		}
		m.Landed = s
		if v := a.pause(tries, err); v.ended() {
			return v
		}
	}
}

// commitSeen reads the primary after a commit write that was refused, or, with doubt, is of
// unknown outcome. It goes on if the intent is still there.
func (a *attempt) commitSeen(doubt bool) (verdict, store.Snapshot) {
	m := a.members[0]
	s, err := a.rs.Read(a.ctx, m.Name)
	if err != nil {
		return a.leave(err), s
	}
	told := m.tells(a.id, s, true)
	switch {
	case told == cell.ProvesCommitted:
		return committed, s
	case told == cell.HoldsIntent:
		return undecided, s
	case !doubt:
		return dead(nil), s
	case a.expired(): // it may be another object, after one that was written and removed
		return inDoubt(errExpired), s
	case told == cell.ProvesDead:
		return dead(nil), s
	}
	return a.askMembers(), s
}

// final is the primary's cell with the intent that is to be committed.
func (a *attempt) final(m *Member) *cell.Cell {
	if a.kind != Locked {
		return m.Landed.Cell
	}
	return cell.Amend(m.Landed.Cell, a.intent(m))
}
