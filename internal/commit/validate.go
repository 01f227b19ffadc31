package commit

import (
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
)

// finishReads ends a transaction that writes nothing, or whose function returned an
// error: its result is true only if its reads are. If they are stale, the function
// runs again.
func (t *txn) finishReads(tx *Tx, ferr error) (done bool, err error) {
	reads := tx.reads()
	if t.o.Staleness <= 0 || !t.snapshot(reads) {
		stale, err := t.validate(reads, reads[:len(reads)-t.exempt(reads)], resolve.Role{})
		if err != nil {
			return true, err
		}
		if stale {
			t.e.stats.StaleReads.Add(1)
			err := t.failed()
			return err != nil, err
		}
	}
	if ferr != nil {
		t.e.stats.Failed.Add(1)
		return true, ferr
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
	return !since.After(until) && t.start.Sub(until) <= t.o.Staleness
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
		if _, w := now[i].Effective(); w != e.writer {
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
