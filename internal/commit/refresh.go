package commit

import (
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// Limits of the pause of a younger transaction that has collided with an older one.
const (
	// backoffDoublings bounds how often the pause doubles.
	backoffDoublings = 5
	backoffMax       = 5 * time.Second
)

// refresh prepares what follows a dead attempt. One parallel round reads the cells
// that it has not written, together with the keys only read (unless validation has
// just read those). If the effective writers are still those that the function saw,
// only versions have moved, and the function need not run again.
func (t *txn) refresh(a *attempt, p *plan) (rerun bool, err error) {
	if a.stale {
		t.e.stats.StaleReads.Add(1)
		t.startFrom(p, nil)
		return true, nil
	}
	var missed []*member
	for _, m := range p.members {
		if m.result != store.Applied {
			missed = append(missed, m)
		}
	}
	others := make([]resolve.Reading, len(p.others))
	role := resolve.Role{Ranked: true, Priority: t.priority}
	err = seam.Each(t.e.rt, len(missed)+len(others), func(i int) (err error) {
		if i < len(missed) {
			m := missed[i]
			m.e.known = true
			m.e.base, err = t.meet(m.e.name, len(p.members) > 1)
			return err
		}
		i -= len(missed)
		others[i], err = t.e.rs.Effective(t.ctx, p.others[i].name, role)
		return err
	})
	if err != nil || !changed(p, others) {
		return false, err
	}
	t.e.stats.StaleReads.Add(1)
	t.startFrom(p, others)
	return true, nil
}

// changed tells whether the function saw another writer of some key.
func changed(p *plan, others []resolve.Reading) bool {
	for i, e := range p.others {
		if _, w := others[i].Effective(); w != e.writer {
			return true
		}
	}
	for _, m := range p.members {
		_, w := m.e.base.Effective()
		if m.e.read && w != m.e.writer || m.e.insert && !m.e.base.Absent() {
			return true
		}
	}
	return false
}

// startFrom makes what is known now the start of the function's next run: the
// members' bases, and what has been read of the other keys. Without that, fresh has
// them already.
func (t *txn) startFrom(p *plan, others []resolve.Reading) {
	if others != nil || t.fresh == nil {
		t.fresh = make(map[string]resolve.Reading, len(p.members)+len(p.others))
	}
	for i, rd := range others {
		t.fresh[p.others[i].name] = rd
	}
	for _, m := range p.members {
		t.fresh[m.e.name] = m.e.base
	}
}

// meet reads a cell that refused the attempt, and settles what it finds there. Two
// attempts that refused each other's writes are both dead without a kill: the older
// goes on at once, the younger backs off, longer with each failure.
func (t *txn) meet(name string, several bool) (resolve.Reading, error) {
	role := resolve.Role{Writer: true, Ranked: true, Priority: t.priority}
	rd, err := t.e.rs.Effective(t.ctx, name, role)
	if err != nil || !several {
		return rd, err
	}
	in := rd.Cell.Intent
	if in == nil || rd.Outcome != cell.Dead || !in.Priority.Older(t.priority) {
		return rd, nil
	}
	d := min(t.e.st.PutLatency()<<min(t.failures, backoffDoublings), backoffMax)
	if err := t.e.rt.Sleep(t.ctx, time.Duration(t.e.rt.Uint64()%uint64(d+1))); err != nil {
		return rd, err
	}
	return t.e.rs.Effective(t.ctx, name, role)
}
