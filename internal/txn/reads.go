package txn

import (
	"slices"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/commit"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// finishReads ends a transaction that writes nothing, or whose function returned an
// error: its result is true only if its reads are. If they are stale, the function
// runs again.
func (t *txn) finishReads(tx *Tx, ferr error) (done bool, err error) {
	exists := false
	if ferr != nil {
		if exists, err = t.readInserts(tx); err != nil {
			return true, err
		}
	}
	reads := tx.reads()
	if exists || !t.valid(tx, reads) {
		must := reads
		if len(tx.spans) == 0 && !exists {
			must = reads[:len(reads)-t.exempt(tx, reads)]
		}
		stale, err := t.validate(reads, must, tx.spans)
		if err == nil && !stale && t.longAgo(reads[len(must):]) {
			must = reads
			stale, err = t.validate(reads, reads, nil)
		}
		if err != nil {
			return true, err
		}
		if stale {
			t.rerun(StaleRead, t.lost(must))
			t.metLocks = t.metLocks || slices.ContainsFunc(reads, lockedByOther)
			err := t.failed()
			return err != nil, err
		}
	}
	if tx.ends() <= t.e.st.Clock() {
		return t.again(tx)
	}
	if ferr != nil {
		t.endsAs(observe.Failed)
		return true, ferr
	}
	if t.group != nil && !t.group.seal() {
		return false, nil
	}
	t.endsAs(observe.ReadOnly)
	return true, nil
}

// lockedByOther reports whether the cell was locked when it was read, by an attempt that may not
// have ended.
func lockedByOther(r *commit.Read) bool { return locked(r.Base) && !r.Base.Final() }

// lost is a key that was read, and has changed by what is fresh now.
func (t *txn) lost(reads []*commit.Read) string {
	for _, r := range reads {
		if rd, ok := t.fresh[r.Name]; ok && rd.Cell != nil {
			if _, w := rd.Effective(); r.Seen && w != r.Writer {
				return r.Name
			}
		}
	}
	return ""
}

// readInserts makes what Insert has taken to be absent, unread, part of the read set: no commit
// will try it, and the function's error may come from there. It reports whether any of it exists.
func (t *txn) readInserts(tx *Tx) (exists bool, err error) {
	var blind []*entry
	for _, e := range tx.entries {
		if e.Insert && !e.Seen {
			blind = append(blind, e)
		}
	}
	err = seam.Each(t.e.rt, len(blind), func(i int) error {
		rd, err := t.e.rs.Shared(t.ctx, blind[i].Name, 0)
		if err == nil {
			blind[i].setRead(rd, tx.now)
		}
		return err
	})
	return slices.ContainsFunc(blind, func(e *entry) bool {
		return e.value.Kind != cell.Absent
	}), err
}

// reads is the read set.
func (tx *Tx) reads() []*commit.Read {
	var reads []*commit.Read
	for _, e := range tx.entries {
		if e.Seen {
			reads = append(reads, &e.Read)
		}
	}
	return reads
}

// validate validates the reads that must be, and spans, all in one round. What was read and
// listed is where the function's next run begins if something has changed.
func (t *txn) validate(reads, must []*commit.Read, spans []*scan.Span) (stale bool, err error) {
	found, err := t.e.commits.Validate(t.ctx, must, spans, scan.Validator{})
	if len(spans) > 0 {
		t.listed = found.Listed
	}
	if err != nil || found.Now == nil {
		return found.Stale, err
	}
	t.fresh = make(map[string]resolve.Reading, len(reads))
	for _, r := range reads {
		t.fresh[r.Name] = r.Base
	}
	for i, r := range must {
		t.fresh[r.Name] = found.Now[i]
	}
	return found.Stale, nil
}

// exempt is 1 if one read needs no validation, and moves that to the end: its
// request was sent since this transaction began, and after all others had been answered. (Its
// instant is that of the whole transaction: the others were current before, and
// their validation shows that they still are after.)
func (t *txn) exempt(tx *Tx, reads []*commit.Read) int {
	if len(reads) == 0 {
		return 0
	}
	last := 0
	for i, r := range reads {
		if r.Base.Proved > reads[last].Base.Proved {
			last = i
		}
	}
	end := len(reads) - 1
	reads[last], reads[end] = reads[end], reads[last]
	sent := reads[end].Base.Proved
	if sent <= t.begun {
		return 0
	}
	for _, r := range reads[:end] {
		if r.Base.Answered >= sent {
			return 0
		}
	}
	if sent <= tx.tick && !proven(reads, 0) { // at its instant they may not have been due
		return 0
	}
	return 1
}

// longAgo reports whether the instant of an exempt read is so long ago that what was absent
// before, and is now, may have been there then.
func (t *txn) longAgo(exempt []*commit.Read) bool {
	return len(exempt) > 0 &&
		!t.e.st.Fresh(exempt[0].Base.Until, t.e.rt.Now(), store.AttemptMax)
}

// snapshot reports whether all values are known to have been current at one instant
// within the staleness bound.
func (t *txn) snapshot(reads []*commit.Read) bool {
	switch len(reads) {
	case 0:
		return true
	case 1: // reading it has seen to the bound
		return proven(reads, t.e.st.ClockAt(reads[0].Base.Until))
	}
	since, until := reads[0].Base.Since, reads[0].Base.Until
	for _, r := range reads {
		in := r.Base.Cell.Intent
		if in != nil && in.Action != cell.Lock && r.Base.Outcome != cell.Dead {
			return false // the value has been current since its commit, whenever that was
		}
		if r.Base.Since.After(since) {
			since = r.Base.Since
		}
		if r.Base.Until.Before(until) {
			until = r.Base.Until
		}
	}
	return !since.After(until) && t.e.st.Fresh(until, t.start, t.o.Staleness) &&
		proven(reads, t.e.st.ClockAt(until))
}
