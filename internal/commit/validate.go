package commit

import (
	"fmt"
	"slices"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// Limits of the pause of a younger transaction that has collided with an older one.
const (
	// backoffDoublings bounds how often the pause doubles.
	backoffDoublings = 5
	backoffMax       = 5 * time.Second
)

// outdated tells whether the key is not any more what the function saw: it has another
// effective writer (the version alone proves nothing, as an intent's attempt may have
// committed since), or what was to be inserted exists.
func (e *entry) outdated(rd resolve.Reading) bool {
	_, w := rd.Effective()
	return e.read && w != e.writer || e.insert && !rd.Absent()
}

// finishReads ends a transaction that writes nothing, or whose function returned an
// error: its result is true only if its reads are. If they are stale, the function
// runs again.
func (t *txn) finishReads(tx *Tx, ferr error) (done bool, err error) {
	reads := tx.reads()
	if !t.valid(reads, tx.spans) {
		must := reads
		if len(tx.spans) == 0 {
			must = reads[:len(reads)-t.exempt(reads)]
		}
		stale, err := t.validateAll(reads, must, tx.spans, scan.Validator{})
		if err == nil && !stale && t.longAgo(reads[len(must):]) {
			stale, err = t.validate(reads, reads, resolve.Role{})
		}
		if err != nil {
			return true, err
		}
		if stale {
			t.rerun(StaleRead)
			err := t.failed()
			return err != nil, err
		}
	}
	if ferr != nil {
		t.e.stats.Failed.Add(1)
		return true, ferr
	}
	if !t.seal() {
		return false, nil
	}
	t.e.stats.ReadOnly.Add(1)
	return true, nil
}

// reads is the read set.
func (tx *Tx) reads() []*entry {
	var reads []*entry
	for _, e := range tx.entries {
		if e.read {
			reads = append(reads, e)
		}
	}
	return reads
}

// exempt is 1 if one read needs no validation, and moves that to the end: its
// request was sent since this transaction began, and after all others had been answered. (Its
// instant is that of the whole transaction: the others were current before, and
// their validation shows that they still are after.)
func (t *txn) exempt(reads []*entry) int {
	if len(reads) == 0 {
		return 0
	}
	last := 0
	for i, e := range reads {
		if e.base.Proved > reads[last].base.Proved {
			last = i
		}
	}
	end := len(reads) - 1
	reads[last], reads[end] = reads[end], reads[last]
	sent := reads[end].base.Proved
	if sent <= t.begun {
		return 0
	}
	for _, e := range reads[:end] {
		if e.base.Answered >= sent {
			return 0
		}
	}
	return 1
}

// longAgo tells whether the instant of an exempt read is so long ago that what was absent before,
// and is now, may have been there then.
func (t *txn) longAgo(exempt []*entry) bool {
	return len(exempt) > 0 &&
		!t.e.st.Fresh(exempt[0].base.Until, t.e.rt.Now(), attemptMax)
}

// snapshot tells whether all values are known to have been current at one instant
// within the staleness bound.
func (t *txn) snapshot(reads []*entry) bool {
	if len(reads) < 2 {
		return true // reading it has seen to the bound
	}
	since, until := reads[0].base.Since, reads[0].base.Until
	for _, e := range reads {
		in := e.base.Cell.Intent
		if in != nil && in.Action != cell.Lock && e.base.Outcome != cell.Dead {
			return false // the value has been current since its commit, whenever that was
		}
		if e.base.Since.After(since) {
			since = e.base.Since
		}
		if e.base.Until.Before(until) {
			until = e.base.Until
		}
	}
	return !since.After(until) && t.e.st.Fresh(until, t.start, t.o.Staleness)
}

// validate reads keys again, in parallel, and compares the writers. If one differs,
// what it read becomes the start of the function's next run, together with the other
// reads of the transaction.
func (t *txn) validate(reads, must []*entry, role resolve.Role) (stale bool, err error) {
	now := make([]resolve.Reading, len(must))
	err = seam.Each(t.e.rt, len(must), func(i int) (err error) {
		now[i], err = t.e.rs.Effective(t.ctx, must[i].name, role)
		return err
	})
	if err != nil {
		return false, err
	}
	for i, e := range must {
		if e.outdated(now[i]) {
			stale = true
		}
	}
	if !stale {
		return false, nil
	}
	t.fresh = make(map[string]resolve.Reading, len(reads))
	for _, e := range reads {
		t.fresh[e.name] = e.base
	}
	for i, e := range must {
		t.fresh[e.name] = now[i]
	}
	return true, nil
}

// reread reads the cells that have not been written, together with the keys only read, in
// one parallel round, after some of them have refused the attempt's write. That proves it
// dead, unless the write has been sent twice by somebody on the way, and what was refused
// is the echo: then the cell shows the attempt, or does not tell, since it has been written
// cell.RecentMax times since, or was only locked. Unless some member proves the attempt dead,
// such members are returned, as of unknown outcome. With an error, which may concern one cell
// alone, another may still have proved it.
func (a *attempt) reread(p *plan) (echoes []*member, proof bool, err error) {
	t := a.t
	var missed []*member
	for _, m := range p.members {
		if m.result != store.Applied {
			missed = append(missed, m)
		}
	}
	p.othersNow = make([]resolve.Reading, len(p.others))
	role := resolve.Role{Ranked: true, Priority: t.priority}
	err = seam.Each(t.e.rt, len(missed)+len(p.others), func(i int) (err error) {
		if i < len(missed) {
			missed[i].refused, err = missed[i].look(a)
			return err
		}
		i -= len(missed)
		p.othersNow[i], err = t.e.rs.Effective(a.ctx, p.others[i].name, role)
		return err
	})
	var silent []*member
	for _, m := range missed {
		if m.refused.Cell == nil {
			continue // it could not be read
		}
		shows := m.refused.Cell.Holds(a.id) || m.refused.Cell.Names(a.id)
		switch {
		case m.result == store.Unknown && m.refused.Cell.Holds(a.id): // it has landed
			t.e.rs.Replaced(m.write)
			a.found(m, m.refused)
		case m.result != store.Refused:
		case shows:
			m.result = store.Unknown
			echoes = append(echoes, m)
		case m.tells(m.refused) && (!a.expired() || a.leaving() == dead):
			proof = true
		default:
			silent = append(silent, m)
		}
	}
	if proof = proof || t.e.st.SendsOnce(); proof || err != nil {
		return nil, proof, err
	}
	for _, m := range silent {
		m.result = store.Unknown
	}
	return append(echoes, silent...), false, nil
}

// look reads a member's cell. One that has refused the write is not what was known of it.
func (m *member) look(a *attempt) (store.Snapshot, error) {
	if m.result == store.Refused {
		return a.t.e.rs.Fetch(a.ctx, m.e.name)
	}
	return a.t.e.rs.Read(a.ctx, m.e.name)
}

// errEcho is why an attempt is in doubt of which a write was sent twice on its way.
var errEcho = fmt.Errorf("a refused write may have landed: %w", backend.ErrOutcomeUnknown)

// refresh prepares what follows a dead attempt, given what was read after that (or by
// validation). If the effective writers are still those that the function saw, only
// versions have moved, and the function need not run again.
func (t *txn) refresh(a *attempt, p *plan) (rerun bool, err error) {
	if a.stale {
		t.rerun(StaleRead)
		t.startFrom(p, nil)
		return true, nil
	}
	if p.othersNow == nil { // nothing was sent
		return false, nil
	}
	err = seam.Each(t.e.rt, len(p.members), func(i int) (err error) {
		m := p.members[i]
		if m.result != store.Applied && !slices.Contains(a.unsent, m) {
			m.e.known = true
			m.e.base, err = t.meet(m.refused, len(p.members) > 1)
		}
		return err
	})
	t.outdate(a.unsent)
	if err != nil || !changed(p, p.othersNow) {
		return false, err
	}
	t.rerun(Conflict)
	t.startFrom(p, p.othersNow)
	return true, nil
}

// outdate takes over what was read of the members that were not sent, as a hot one has
// refused. Where that is not final, the cell is to be read again; so it is where a lock was
// seen, which may have got a value since.
func (t *txn) outdate(unsent []*member) {
	for _, m := range unsent {
		rd := t.latest(m.e)
		if m.refused.Cell != nil && m.refused.Proved > rd.Proved { // not in the cache any more
			rd = t.e.rs.Known(m.refused)
		}
		in := rd.Cell.Intent
		locked := in != nil && in.Mode == cell.Pending && in.Action == cell.Lock
		m.e.known, m.e.base, m.old = true, rd, locked || !rd.Final()
	}
}

// changed tells whether the function saw another writer of some key.
func changed(p *plan, others []resolve.Reading) bool {
	for i, e := range p.others {
		if e.outdated(others[i]) {
			return true
		}
	}
	for _, m := range p.members {
		if m.e.outdated(m.e.base) {
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
		if !m.old {
			t.fresh[m.e.name] = m.e.base
		}
	}
}

// meet settles what was found in a cell that refused the attempt. Two
// attempts that refused each other's writes are both dead without a kill: the older
// goes on at once, the younger backs off, longer with each failure.
func (t *txn) meet(s store.Snapshot, several bool) (resolve.Reading, error) {
	rd, err := t.e.rs.Settle(t.ctx, s, t.writer())
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
	return t.e.rs.Effective(t.ctx, s.Name, t.writer())
}
