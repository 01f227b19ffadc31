package txn

import (
	"fmt"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/commit"
	"github.com/strictkv/strictkv/internal/contention"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// Limits of what follows a dead attempt.
const (
	// blockedMax is how often a transaction goes on after a cell has refused a write at the
	// very version that the store reports of it.
	blockedMax = 8
	// blockPauseMin and blockPauseMax bound the pause before it does.
	blockPauseMin = 20 * time.Millisecond
	blockPauseMax = 2 * time.Second
)

// refresh prepares what follows a dead attempt, given what was read after that (or by
// validation). If the effective writers are still those that the function saw, only
// versions have moved, and the function need not run again.
func (t *txn) refresh(p *plan, r commit.Result) (rerun bool, err error) {
	if r.Stale {
		t.rerun(StaleRead, lostRead(p.Reads, r.Now))
		t.startFrom(p, r.Now)
		return true, nil
	}
	if r.Now == nil { // nothing was sent
		return false, nil
	}
	err = seam.Each(t.e.rt, len(p.Members), func(i int) (err error) {
		m := p.Members[i]
		if m.Result != store.Applied && !m.Unsent {
			p.writes[i].Base, err = t.meet(m.Seen, len(p.Members) > 1)
		}
		return err
	})
	t.outdate(p)
	if err != nil {
		return false, err
	}
	lost, changed := changed(p, r.Now, t.e.st.Clock())
	if !changed {
		return false, nil
	}
	t.rerun(Conflict, lost)
	t.startFrom(p, r.Now)
	return true, nil
}

// learn takes over where a dead attempt has left intents.
func (t *txn) learn(p *plan) {
	for i, m := range p.Members {
		if m.Result == store.Applied {
			p.writes[i].Base = t.e.rs.Known(m.Landed)
		}
	}
}

// outdate takes over what was read of the members that were not sent, as a hot one has
// refused. Where that is not final, the cell is to be read again; so it is where a lock was
// seen, which may have got a value since.
func (t *txn) outdate(p *plan) {
	for i, m := range p.Members {
		if !m.Unsent {
			continue
		}
		e := p.writes[i]
		rd := t.e.commits.Latest(e.Name, e.Base)
		if m.Seen.Cell != nil && m.Seen.Proved > rd.Proved { // not in the cache any more
			rd = t.e.rs.Known(m.Seen)
		}
		e.Base, e.old = rd, locked(rd) || !rd.Final()
	}
}

// locked reports whether there is a lock in the cell, whatever has become of its attempt.
func locked(rd resolve.Reading) bool {
	in := rd.Cell.Intent
	return in != nil && in.Mode == cell.Pending && in.Action == cell.Lock
}

// changed reports whether the function saw another writer of some key, and of which.
func changed(p *plan, others []resolve.Reading, now int64) (name string, yes bool) {
	for i, r := range p.Reads {
		if r.Outdated(others[i], now) {
			return r.Name, true
		}
	}
	for _, e := range p.writes {
		if e.Outdated(e.Base, now) {
			return e.Name, true
		}
	}
	return "", false
}

// lostRead is a key that has changed since the function saw it; empty if there is none, or
// nothing has been read again.
func lostRead(reads []*commit.Read, now []resolve.Reading) string {
	for i := range now {
		if _, w := now[i].Effective(); reads[i].Seen && w != reads[i].Writer {
			return reads[i].Name
		}
	}
	return ""
}

// startFrom makes what is known now the start of the function's next run: the
// members' bases, and what has been read of the other keys.
func (t *txn) startFrom(p *plan, others []resolve.Reading) {
	if others != nil || t.fresh == nil {
		t.fresh = make(map[string]resolve.Reading, len(p.writes)+len(p.Reads))
	}
	for i, rd := range others {
		t.fresh[p.Reads[i].Name] = rd
	}
	for _, e := range p.writes {
		if !e.old {
			t.fresh[e.Name] = e.Base
		}
	}
}

// meet settles what was found in a cell that refused the attempt. Two
// attempts that refused each other's writes are both dead without a kill: the older
// goes on at once, the younger backs off, longer with each failure.
func (t *txn) meet(s store.Snapshot, several bool) (resolve.Reading, error) {
	role := resolve.Role{Writer: true, Ranked: true, Priority: t.priority}
	rd, err := t.e.rs.Settle(t.ctx, s, role)
	if err != nil || !several {
		return rd, err
	}
	in := rd.Cell.Intent
	if in == nil || rd.Outcome != cell.Dead || !in.Priority.Older(t.priority) {
		return rd, nil
	}
	d := contention.Backoff(t.e.st.PutLatency(), t.failures, t.e.rt.Uint64())
	if err := t.e.rt.Sleep(t.ctx, d); err != nil {
		return rd, err
	}
	return t.e.rs.Effective(t.ctx, s.Name, role)
}

// blocked pauses if a cell has refused a write although it still is at the version that the
// write was to replace. Nobody was faster then: the store does not take the write, whatever its
// reasons, and to try again at once is of no use. After blockedMax times that is an error.
func (t *txn) blocked(members []*commit.Member) error {
	for _, m := range members {
		if m.Result != store.Refused || m.Seen.Cell == nil || m.Seen.Version != m.Base.Version {
			continue
		}
		if t.blocks++; t.blocks > blockedMax {
			return fmt.Errorf("write %q: the store refuses writes at the version that it reports, "+
				"%d times: %w", t.e.st.FullName(m.Name), t.blocks, backend.ErrUnavailable)
		}
		d := min(blockPauseMin<<t.blocks, blockPauseMax)
		return t.e.rt.Sleep(t.ctx, seam.Jitter(t.e.rt, d))
	}
	return nil
}
