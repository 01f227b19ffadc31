package txn

import (
	"slices"
	"strings"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/commit"
	"github.com/strictkv/strictkv/internal/resolve"
)

// plan is what one attempt would write, and on what.
type plan struct {
	commit.Plan
	// writes are the entries of the members.
	writes []*entry
	// room is for them, mostly.
	room [2]*entry
	// stale says that something read has changed: the function must run again. Lost is a cell
	// that has, if it is one that is written.
	stale bool
	lost  string
}

// newPlan finds out what the write set's cells are now.
func (t *txn) newPlan(tx *Tx) (*plan, error) {
	p := &plan{Plan: t.attempt()}
	if p.writes = p.room[:0]; len(tx.entries) > len(p.room) {
		p.writes = make([]*entry, 0, len(tx.entries))
	}
	p.Spans = tx.spans
	for _, e := range tx.entries {
		switch {
		case e.op != opNone:
			e.old = false
			p.writes = append(p.writes, e)
		case e.Seen:
			p.Reads = append(p.Reads, &e.Read)
		}
	}
	if n := len(p.writes); n > cell.MembersMax {
		return p, &SizeError{What: "number of keys written", Size: n, Limit: cell.MembersMax}
	}
	slices.SortFunc(p.writes, byName)
	p.Members = membersOf(p.writes)
	if err := t.e.commits.Prepare(t.ctx, &p.Plan); err != nil {
		return p, err
	}
	if tx.expects(p.Members) {
		if err := t.e.st.AskClock(t.ctx); err != nil {
			return p, err
		}
	}
	now := t.e.st.Clock()
	for i, m := range p.Members {
		if p.writes[i].Outdated(m.Base, now) {
			p.stale, p.lost = true, m.Name
		}
	}
	p.Ends = tx.ends()
	p.Soon = t.e.st.Soon(p.Ends)
	p.stale = p.stale || p.Ends <= now
	if p.stale {
		t.startStale(p)
	}
	return p, nil
}

// expects reports whether what is written rests on values that expire, or have.
func (tx *Tx) expects(members []*commit.Member) bool {
	return slices.ContainsFunc(tx.entries, func(e *entry) bool {
		return e.Due != 0 || e.value.Expires != 0
	}) || slices.ContainsFunc(members, func(m *commit.Member) bool {
		v, _ := m.Base.Effective()
		return v.Expires != 0
	})
}

// attempt is what all plans of the transaction have in common.
func (t *txn) attempt() commit.Plan {
	p := commit.Plan{
		Priority: t.priority, Begun: t.begun, Failures: t.failures, Left: &t.left,
	}
	if t.group != nil {
		p.Seal = t.group.seal
	}
	return p
}

func byName(a, b *entry) int { return strings.Compare(a.Name, b.Name) }

func membersOf(entries []*entry) []*commit.Member {
	members, slab := make([]*commit.Member, len(entries)), make([]commit.Member, len(entries))
	for i, e := range entries {
		members[i] = &slab[i]
		slab[i].Name, slab[i].Base = e.Name, e.Base
		switch e.op {
		case opPut:
			slab[i].Action, slab[i].Value = cell.Put, e.staged()
			if e.upload != nil {
				slab[i].External = &e.upload.External
			}
		case opDelete:
			slab[i].Action = cell.Delete
		default:
			slab[i].Action = cell.Lock
		}
	}
	return members
}

// needless reports whether members only delete what is absent already: then the
// transaction need not write, but has read that.
func needless(members []*commit.Member) bool {
	for _, m := range members {
		if m.Action == cell.Put || m.Action == cell.Delete && !m.Base.Absent(0) {
			return false
		}
	}
	return true
}

// readAll makes the members part of the read set.
func readAll(writes []*entry, members []*commit.Member) {
	for i, e := range writes {
		if !e.Seen {
			e.setRead(members[i].Base, 0)
		}
	}
}

// startStale makes the members' bases the start of the function's next run.
func (t *txn) startStale(p *plan) {
	others := make([]resolve.Reading, len(p.Reads))
	for i, r := range p.Reads {
		others[i] = r.Base
	}
	for i, m := range p.Members {
		p.writes[i].Base = m.Base
	}
	t.startFrom(p, others)
}
