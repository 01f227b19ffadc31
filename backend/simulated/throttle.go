package simulated

import (
	"context"
	"fmt"
	"time"

	"github.com/strictkv/strictkv/backend"
)

const (
	// interval is the time for one write of an object, if writes are limited.
	interval = time.Second
	// burst is how many writes pass at once.
	burst = 3
	// throttleMin is how many objects a throttle remembers without looking for
	// some to forget.
	throttleMin = 10_000
)

// throttle limits the writes of each object. It forgets objects that have been
// left alone, so its size is bounded by the writes of some seconds.
type throttle struct {
	// paid is when the writes so far will have had their intervals, one after
	// the other.
	paid map[string]time.Time
	max  int // at this size some are forgotten
}

func newThrottle() *throttle {
	return &throttle{paid: make(map[string]time.Time), max: throttleMin}
}

// take claims a write of an object, and tells whether it may be made.
func (w *throttle) take(name string, now time.Time) bool {
	paid := w.paid[name]
	if paid.Before(now) {
		paid = now
	}
	if paid.Sub(now) > (burst-1)*interval {
		return false
	}
	if len(w.paid) >= w.max {
		w.forget(now)
	}
	w.paid[name] = paid.Add(interval)
	return true
}

// turn is when a write of an object may be made that waits for those before it.
func (w *throttle) turn(name string, now time.Time) time.Time {
	at := w.paid[name].Add(-(burst - 1) * interval)
	if at.Before(now) {
		at = now
	}
	if w.paid[name].Before(now) {
		w.paid[name] = now
	}
	w.paid[name] = w.paid[name].Add(interval)
	return at
}

// giveBack returns what take has claimed.
func (w *throttle) giveBack(name string) { w.paid[name] = w.paid[name].Add(-interval) }

func (w *throttle) forget(now time.Time) {
	for name, paid := range w.paid { // any order: they are independent
		if paid.Before(now) {
			delete(w.paid, name)
		}
	}
	w.max = max(throttleMin, 2*len(w.paid))
}

// limited makes a write, unless it exceeds the limit.
func (b *Backend) limited(
	ctx context.Context, call, name string, effect func() error,
) error {
	switch {
	case b.p.BusyIn > 0 && b.rt.Uint64()%uint64(b.p.BusyIn) == 0:
		b.count(&b.counts.Throttled)
		return fmt.Errorf("simulated %s %q: busy: %w", call, name, backend.ErrThrottled)
	case !b.p.OneWritePerSecond:
		return effect()
	case b.p.InTurn:
		b.mu.Lock()
		now := b.rt.Now()
		wait := b.writes.turn(name, now).Sub(now)
		b.mu.Unlock()
		if err := b.rt.Sleep(ctx, wait); err != nil {
			return fmt.Errorf("simulated %s %q: %w: %w", call, name, backend.ErrOutcomeUnknown, err)
		}
		return effect()
	}
	b.mu.Lock()
	ok := b.writes.take(name, b.rt.Now())
	if !ok {
		b.counts.Throttled++
	}
	b.mu.Unlock()
	if !ok {
		return fmt.Errorf("simulated %s %q: one write per second: %w", call, name,
			backend.ErrThrottled)
	}
	err := effect()
	if err != nil {
		b.mu.Lock()
		b.writes.giveBack(name)
		b.mu.Unlock()
	}
	return err
}
