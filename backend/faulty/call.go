package faulty

import (
	"context"
	"fmt"
	"time"

	"github.com/strictkv/strictkv/backend"
)

type fault int

const (
	none fault = iota
	failBefore
	loseRequest
	loseAnswer
	duplicate
	late
)

// plan is what a call is going to suffer.
type plan struct {
	fault         fault
	throttled     bool // what failBefore says
	before, after time.Duration
	late          time.Duration
}

// do makes one call with its faults.
func (b *Backend) do(ctx context.Context, op Op) Answer {
	p := b.draw(op)
	if err := b.approach(ctx, op, p); err != nil {
		return Answer{Err: err}
	}
	a, answered := b.reach(ctx, op, p)
	if answered && b.o.After != nil {
		b.o.After(ctx, op, &a)
	}
	if p.after > 0 {
		if err := b.rt.Sleep(ctx, p.after); err != nil {
			a = Answer{Err: abandoned(op, err)}
		}
	}
	if b.isCrashed() {
		return Answer{Err: lost(op, "crashed")}
	}
	return a
}

// draw decides what a call suffers. It always takes the same number of random
// values, so that a call's fate depends on its number only.
func (b *Backend) draw(op Op) plan {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts.Calls++
	delayed := b.random.Float64() < b.o.Delay
	delay := time.Duration(b.random.Float64() * float64(b.o.DelayMax))
	first := b.random.Float64() < 0.5
	dice := b.random.Float64()
	p := plan{throttled: b.random.Float64() < 0.5}
	p.late = time.Duration(b.random.Float64() * float64(b.o.DelayMax))
	if delayed {
		b.counts.Delays++
		if first {
			p.before = delay
		} else {
			p.after = delay
		}
	}
	p.fault = b.pick(dice, op.Write())
	return p
}

// pick tells which fault the dice, a number from 0 to 1, stand for.
func (b *Backend) pick(dice float64, write bool) fault {
	for _, f := range []struct {
		fault       fault
		probability float64
		reads       bool
	}{
		{failBefore, b.o.FailBefore, true},
		{loseRequest, b.o.LoseRequest, true},
		{loseAnswer, b.o.LoseAnswer, true},
		{duplicate, b.o.Duplicate, false},
		{late, b.o.Late, false},
	} {
		if dice < f.probability {
			if write || f.reads {
				return f.fault
			}
			return none
		}
		dice -= f.probability
	}
	return none
}

// approach is the way of a call to the store. An error says that it was not sent.
func (b *Backend) approach(ctx context.Context, op Op, p plan) error {
	if err := b.admit(op); err != nil {
		return err
	}
	if b.o.Before != nil {
		if err := b.o.Before(ctx, op); err != nil {
			return err
		}
	}
	if err := b.rt.Sleep(ctx, p.before); err != nil {
		return fmt.Errorf("faulty %s %q: %w", op.Kind, op.Name, err)
	}
	// The outage or the crash may have come meanwhile.
	if err := b.admit(op); err != nil {
		return err
	}
	if p.fault != failBefore {
		return nil
	}
	b.count(&b.counts.FailuresBefore)
	cause := backend.ErrUnavailable
	if p.throttled {
		cause = backend.ErrThrottled
	}
	return fmt.Errorf("faulty %s %q: failed before: %w", op.Kind, op.Name, cause)
}

// admit refuses calls in an outage, and after a crash.
func (b *Backend) admit(op Op) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	why := "outage"
	switch {
	case b.crashed:
		why = "crashed"
	case !b.outage:
		return nil
	}
	b.counts.Refusals++
	return fmt.Errorf("faulty %s %q: %s: %w", op.Kind, op.Name, why, backend.ErrUnavailable)
}

// reach is what happens at the store. The second result tells whether the answer
// is the store's own.
func (b *Backend) reach(ctx context.Context, op Op, p plan) (Answer, bool) {
	switch p.fault {
	case loseRequest:
		b.count(&b.counts.LostRequests)
		return Answer{Err: lost(op, "lost request")}, false
	case loseAnswer:
		b.count(&b.counts.LostAnswers)
		b.send(ctx, op)
		return Answer{Err: lost(op, "lost answer")}, false
	case duplicate:
		b.count(&b.counts.Duplicates)
		b.send(ctx, op)
		b.send(ctx, op)
		return Answer{Err: lost(op, "duplicated")}, false
	case late:
		b.sendLate(ctx, op, p.late)
		return Answer{Err: lost(op, "late")}, false
	default:
		return b.send(ctx, op), true
	}
}

// sendLate sends a write after a delay, even if ctx ends before.
func (b *Backend) sendLate(ctx context.Context, op Op, delay time.Duration) {
	b.mu.Lock()
	b.counts.LateWrites++
	if b.pending == 0 {
		b.settled = b.rt.NewEvent()
	}
	b.pending++
	b.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	b.rt.Go(func() {
		// It cannot fail: this context never ends.
		_ = b.rt.Sleep(ctx, delay)
		b.send(ctx, op)
		b.mu.Lock()
		b.pending--
		settled := b.pending == 0
		event := b.settled
		b.mu.Unlock()
		if settled {
			event.Set()
		}
	})
}

func (b *Backend) count(n *int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*n++
}

func (b *Backend) isCrashed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.crashed
}

// lost is the error of a call whose answer, if there was any, did not arrive.
func lost(op Op, why string) error {
	cause := backend.ErrUnavailable
	if op.Write() {
		cause = backend.ErrOutcomeUnknown
	}
	return fmt.Errorf("faulty %s %q: %s: %w", op.Kind, op.Name, why, cause)
}

// abandoned is the error of a call whose caller left before the answer came.
func abandoned(op Op, err error) error {
	if op.Write() {
		return fmt.Errorf("faulty %s %q: %w: %w", op.Kind, op.Name, backend.ErrOutcomeUnknown, err)
	}
	return fmt.Errorf("faulty %s %q: %w", op.Kind, op.Name, err)
}
