package seam

import "context"

// Limiter bounds how many calls run at once. Waiters are served in the order in
// which they came.
type Limiter struct {
	rt Runtime

	mu      Mutex // guards all below
	free    int
	waiters []Event
}

// NewLimiter returns a Limiter for n calls at once.
func NewLimiter(rt Runtime, n int) *Limiter { return &Limiter{rt: rt, free: n} }

// Acquire takes a place, waiting for one if need be. If ctx ends first, it
// returns its error and takes none.
func (l *Limiter) Acquire(ctx context.Context) error {
	l.mu.Lock()
	if l.free > 0 {
		l.free--
		l.mu.Unlock()
		return nil
	}
	turn := l.rt.NewEvent()
	l.waiters = append(l.waiters, turn)
	l.mu.Unlock()
	err := turn.Wait(ctx)
	if err != nil {
		l.leave(turn)
	}
	return err
}

// leave takes a waiter out of the line; if its turn had come, the place goes on.
func (l *Limiter) leave(turn Event) {
	l.mu.Lock()
	for i, w := range l.waiters {
		if w == turn {
			l.waiters = append(l.waiters[:i], l.waiters[i+1:]...)
			l.mu.Unlock()
			return
		}
	}
	l.mu.Unlock()
	l.Release()
}

// Release gives a place back.
func (l *Limiter) Release() {
	l.mu.Lock()
	if len(l.waiters) == 0 {
		l.free++
		l.mu.Unlock()
		return
	}
	turn := l.waiters[0]
	l.waiters = l.waiters[1:]
	l.mu.Unlock()
	turn.Set()
}
