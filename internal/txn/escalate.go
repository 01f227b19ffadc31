package txn

import (
	"errors"
	"slices"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/commit"
	"github.com/strictkv/strictkv/internal/contention"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/store"
)

// escalates reports whether the transaction is to take locks. Locks do not protect ranges: a
// transaction that has scanned takes none, and gives up those that it has.
func (t *txn) escalates(tx *Tx) bool {
	if len(tx.spans) > 0 {
		t.release()
		return false
	}
	if t.locks != nil {
		return true
	}
	if t.toll == 0 || t.tooWide {
		return false
	}
	n := len(tx.used())
	return n <= cell.MembersMax && contention.Locks(t.toll, n, t.slowRun())
}

// locksReads reports whether a transaction that only reads is to lock what it reads. As for one
// that writes, locks are given up by who scans.
func (t *txn) locksReads(tx *Tx) bool {
	switch {
	case tx.writes(), t.o.Staleness > 0, t.e.st.ReadOnly():
		return false
	case len(tx.spans) > 0:
		t.unlock()
		return false
	case t.locks != nil:
		return true
	}
	n := len(tx.used())
	return !t.tooWide && n <= cell.MembersMax && contention.LocksReads(t.failures, n, t.metLocks)
}

// locksFirst reports whether the transaction is to take locks before its function, which is
// slow, runs again.
func (t *txn) locksFirst(tx *Tx) bool { return t.slowRun() && t.escalates(tx) }

// slowRun reports whether the function took long when it last ran.
func (t *txn) slowRun() bool {
	return contention.Failure{Ran: t.ran, Latency: t.e.st.PutLatency()}.Slow()
}

// tax adds what a failure means to the transaction's claim on locks.
func (t *txn) tax(f contention.Failure) {
	f.First, f.Ran, f.Latency = t.failures == 0, t.ran, t.e.st.PutLatency()
	t.toll += f.Toll()
}

// taxDead is tax for a dead attempt.
func (t *txn) taxDead(r commit.Result) {
	f := contention.Failure{Partial: r.Partial, Stale: r.Stale}
	for _, m := range r.Members {
		switch m.Result {
		case store.Refused:
			f.Refused++
			if m.Beaten() {
				f.Direct++
			}
		case store.Applied:
			f.Landed++
		}
	}
	if r.Torn() {
		f.Landed = max(f.Landed, 1)
	}
	t.tax(f)
}

// pace pauses where many want the one key that the transaction writes, and reports whether it
// has.
func (t *txn) pace(p *plan) (paused bool, err error) {
	if p.Kind() != commit.Direct || !t.e.keys.Hot(p.Members[0].Name) {
		return false, nil
	}
	age := t.e.rt.Now().Sub(t.start)
	d := t.e.keys.Pace(p.Members[0].Name, age, t.e.st.PutLatency())
	if d == 0 {
		return false, nil
	}
	return true, t.stayAway(d, p.Members[0].Name)
}

// standBack pauses after an attempt whose write the store has held up, and refused then, and
// reports whether it has.
func (t *txn) standBack(p *plan) (paused bool, err error) {
	var worst *commit.Member
	for _, m := range p.Members {
		if m.Result == store.Refused && (worst == nil || m.Took > worst.Took) {
			worst = m
		}
	}
	if worst == nil || !contention.HeldUp(worst.Took, t.e.st.PutLatency()) {
		return false, nil
	}
	d := contention.StandBack(worst.Took, t.heldUp, t.e.rt.Uint64())
	t.heldUp++
	return true, t.stayAway(d, worst.Name)
}

// stayAway leaves a key to others for some time; the function must run again, as what it has read
// is old then.
func (t *txn) stayAway(d time.Duration, name string) error {
	if err := t.e.rt.Sleep(t.ctx, d); err != nil {
		return err
	}
	t.fresh = nil
	t.rerun(Conflict, name)
	return nil
}

// used are the entries that were read or written, in name order.
func (tx *Tx) used() []*entry {
	var used []*entry
	for _, e := range tx.entries {
		if e.Seen || e.op != opNone {
			used = append(used, e)
		}
	}
	slices.SortFunc(used, byName)
	return used
}

// commitLocked commits under locks. done is false if the function must run again, under
// the locks that the transaction then has.
func (t *txn) commitLocked(tx *Tx) (done bool, err error) {
	if err := t.uploaded(tx); err != nil {
		return true, err
	}
	used := tx.used()
	if t.locks == nil {
		err := t.escalate(used)
		switch {
		case mayOnlyRead(tx, err):
			return t.withoutLocks(tx)
		case err != nil:
			return true, err
		}
	}
	members, changed := membersOf(used), false
	if err = t.locks.Take(members); err == nil {
		changed, err = t.outdated(used)
	}
	t.tooWide = len(t.locks.Members()) > cell.MembersMax
	switch {
	case errors.Is(err, commit.ErrLost):
		return t.lockAgain()
	case mayOnlyRead(tx, err):
		return t.withoutLocks(tx)
	case err != nil:
		return true, err
	case changed:
		t.rerun(StaleRead, "")
		return false, nil
	case t.group != nil && !t.group.seal():
		return false, nil
	}
	if err = t.locks.Finish(tx.ends()); errors.Is(err, commit.ErrLost) {
		return t.lockAgain()
	} else if err != nil {
		return true, err
	}
	r := t.locks.Commit()
	t.locks, t.fresh = nil, nil
	conclude := t.conclude
	if !tx.writes() {
		conclude = t.concludeReads
	}
	if done, err = conclude(r); !done {
		t.anew(LocksLost, "")
	}
	return done, err
}

// mayOnlyRead reports whether locks were denied to a transaction that writes nothing: its user may
// read, but not write, what it has read, or some of it.
func mayOnlyRead(tx *Tx, err error) bool {
	return errors.Is(err, backend.ErrDenied) && !tx.writes()
}

// withoutLocks validates what such a transaction has read, which takes no locks any more.
func (t *txn) withoutLocks(tx *Tx) (done bool, err error) {
	t.unlock()
	t.tooWide = true
	return t.finishReads(tx, nil)
}

// concludeReads is conclude for a transaction that has written nothing but locks: if their commit
// is in doubt, so is whether they were held all the time, and the function runs again.
func (t *txn) concludeReads(r commit.Result) (done bool, err error) {
	if r.Outcome == commit.Committed {
		t.endsAs(observe.ReadOnly)
		return true, nil
	}
	t.mourn(r)
	if err = r.Err; err == nil || r.Outcome == commit.InDoubt {
		err = t.failed()
	}
	return err != nil, err
}

// outdated reports whether the function must run again, on the locked values: these are fresh.
func (t *txn) outdated(used []*entry) (changed bool, err error) {
	seen := make([]*commit.Read, len(used))
	for i, e := range used {
		seen[i] = &e.Read
	}
	if changed, err = t.locks.Outdated(seen); err != nil {
		return changed, err
	}
	members := t.locks.Members()
	t.fresh = make(map[string]resolve.Reading, len(members))
	for _, m := range members {
		t.fresh[m.Name] = m.Base
	}
	return changed, nil
}

// lockAgain gives up lost locks: the function runs again, and takes new ones.
func (t *txn) lockAgain() (done bool, err error) {
	t.release()
	t.fresh = nil
	t.anew(LocksLost, "")
	err = t.failed()
	return err != nil, err
}

// release gives up the locks, if there are any.
func (t *txn) release() {
	if l := t.locks; l != nil {
		t.locks = nil
		t.mourn(l.Release())
	}
}

// unlock is release for a transaction that has nothing to put in the place of its locks: they are
// removed while it goes on.
func (t *txn) unlock() {
	if t.locks != nil {
		t.release()
		t.e.commits.Resolve(&t.left)
		t.left = commit.Leftovers{}
	}
}

// escalate locks the first key: the hot one with the smallest name, where rivals meet, or
// the one with the smallest name. It ranks the transaction before all that have not escalated.
func (t *txn) escalate(used []*entry) error {
	if t.priority.Escalate() {
		t.e.stats.Escalated.Add(1)
		t.seen.Escalates()
	}
	if err := t.e.bg.Admit(t.ctx); err != nil {
		return err
	}
	hot := func(e *entry) bool { return t.e.keys.Hot(e.Name) }
	first := max(slices.IndexFunc(used, hot), 0)
	for refusals := 0; t.locks == nil; refusals++ {
		if err := t.lockFirst(used, first, refusals); err != nil {
			return err
		}
	}
	return nil
}

// lockFirst tries to lock the first key, after so many refusals.
func (t *txn) lockFirst(used []*entry, first, refusals int) error {
	p := t.attempt()
	p.Members = make([]*commit.Member, len(used))
	for i, e := range used {
		p.Members[i] = commit.NewLock(e.Name, e.Base)
	}
	if t.o.MaxAttempts > 0 { // of several that race, each counts
		refusals = 0
	}
	got := t.e.commits.Lock(t.ctx, &p, p.Members[first], refusals)
	t.locks = got.Locks
	for i, m := range p.Members {
		if m.Seen.Cell != nil {
			used[i].Base = t.e.rs.Known(m.Seen)
		}
	}
	var refused []*commit.Member
	for _, r := range got.Died {
		t.mourn(r)
		refused = append(refused, r.Members...)
		if err := t.failed(); got.Err == nil {
			got.Err = err
		}
	}
	if t.locks != nil {
		return nil
	}
	if got.Err == nil {
		got.Err = t.blocked(refused)
	}
	return got.Err
}
