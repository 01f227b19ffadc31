package txn

import (
	"context"
	"time"

	"github.com/strictkv/strictkv/internal/latch"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/seam"
)

// Limits of waiting for others of the same handle.
const (
	// latchMax is how long a transaction waits for a latch. Then it goes on without: it may
	// have been started within the function of one that it waits for.
	latchMax = 5 * time.Second
	// slowTries is how often a transaction whose function takes longer than that may fail
	// before it has the latch while its function runs. If that takes longer than latchMax, the
	// others would not wait for it anyway.
	slowTries = 3
)

// waiter is a transaction's place in a group.
type waiter struct {
	latch.Waiter
	// The rest is written by one side while the other waits for its orders or its report.
	group *group
	tx    *Tx // the run that is wanted, or was
	ran   seam.Event
	good  bool // the function returned nil, and what it did can be committed with others'
	err   error
	how   observe.Outcome
}

// acquireLatch waits until the handle's other transactions that want the same cells have
// committed. It returns now if the run of the function can be committed. Otherwise the
// transaction is done, as others have committed it, or the function must run again.
func (t *txn) acquireLatch(tx *Tx, fn func(*Tx) error) (now, done bool, err error) {
	switch {
	case t.solo, t.latch != nil, t.slow && t.failures < slowTries:
		return true, false, nil
	case t.locks != nil: // those who have the latch may be waiting for them
		return true, false, nil
	}
	var w, r [4]string
	writes, reads := w[:0], r[:0]
	share := t.o.MaxAttempts == 0 && len(tx.spans) == 0 && !t.slow
	for _, e := range tx.entries {
		switch {
		case e.op != opNone:
			writes = append(writes, e.Name)
			share = share && e.upload == nil
		case e.Seen:
			reads = append(reads, e.Name)
		}
	}
	for again := true; again; {
		own := &t.own
		if t.lined { // that may still be in use
			own = new(latch.Latch[*txn])
		}
		t.lined = true
		place, how := t.e.latches.Acquire(own, t, share, writes, reads)
		switch how {
		case latch.Held:
			t.latch = place
			return true, false, nil
		case latch.First:
			t.e.bg.Go(func(life context.Context) { t.e.drive(life, place) })
		}
		again, done, err = t.await(place, fn)
	}
	t.fresh = nil
	if !done {
		t.anew(Regrouped, "")
	}
	return false, done, err
}

// await waits for the latch, and does what the group wants. If that has had no time for the
// function, another one is to be acquired at once.
func (t *txn) await(
	place *latch.Latch[*txn], fn func(*Tx) error,
) (again, done bool, err error) {
	ctx, cancel := t.e.rt.WithTimeout(t.ctx, latchMax)
	defer cancel()
	w, how := t.e.st.Observer().Wait(observe.ForTurn, ""), observe.Alone
	w.Begin()
	defer func() { w.End(t.ctx, how) }()
	var begun time.Time // of the last run
	for {
		o, err := t.waiter.Next(ctx, t.e.rt)
		if err != nil {
			if left, err := t.stepOut(place); left {
				if err != nil {
					how = observe.GaveUp
				}
				return false, err != nil, err
			}
			ctx = t.ctx // the group is at work, which has limits of its own
			continue
		}
		switch o {
		case latch.Run:
			begun = t.e.rt.Now()
			t.runShared(fn)
		case latch.Go:
			t.latch, how = place, observe.Over
			return false, false, nil
		case latch.Slow:
			t.slow, t.solo = true, t.e.rt.Now().Sub(begun) >= latchMax
			return false, false, nil
		case latch.Solo:
			t.solo = true
			return false, false, nil
		case latch.Again:
			return true, false, nil
		case latch.End:
			how = observe.Together
			t.seen.Joined(t.waiter.how)
			return false, true, t.waiter.err
		}
	}
}

// stepOut leaves the latch, as the caller leaves, or has waited too long. For that reason it
// does not leave a group that is at work.
func (t *txn) stepOut(place *latch.Latch[*txn]) (left bool, err error) {
	err = t.ctx.Err()
	if t.e.latches.Leave(place, t) {
		t.solo = true
		return true, err
	}
	if err == nil || !t.waiter.Quit() {
		return false, nil
	}
	return true, t.waiter.group.without(t, err)
}

// runShared runs the function for the group.
func (t *txn) runShared(fn func(*Tx) error) {
	r := &t.waiter
	r.good = false
	t.seen.Run()
	defer r.ran.Set() // if it panics, too
	r.good = r.tx.call(fn) == nil && r.tx.sound()
}
