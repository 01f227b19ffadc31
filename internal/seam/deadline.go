package seam

import (
	"context"
	"sync"
	"time"
)

// deadline is a context that ends at an instant. Most requests have ended long before, and nobody
// has waited for that: only for who does it makes a timer, and tells its parent that it is there.
type deadline struct {
	parent context.Context
	at     time.Time // unless the parent's is earlier

	mu     sync.Mutex // guards all below
	ended  bool       // by cancel
	armed  context.Context
	disarm context.CancelFunc
}

var _ context.Context = (*deadline)(nil)

// withTimeout is context.WithTimeout.
func withTimeout(
	parent context.Context, d time.Duration,
) (context.Context, context.CancelFunc) {
	c := &deadline{parent: parent, at: time.Now().Add(d)}
	return c, c.cancel
}

func (c *deadline) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended = true; c.disarm != nil {
		c.disarm()
	}
}

// armLocked makes the context that has a timer.
func (c *deadline) armLocked() context.Context {
	if c.armed == nil {
		c.armed, c.disarm = context.WithDeadline(c.parent, c.at)
		if c.ended {
			c.disarm()
		}
	}
	return c.armed
}

// Deadline implements context.Context.
func (c *deadline) Deadline() (time.Time, bool) {
	if at, ok := c.parent.Deadline(); ok && at.Before(c.at) {
		return at, true
	}
	return c.at, true
}

// Done implements context.Context.
func (c *deadline) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.armLocked().Done()
}

// Err implements context.Context.
func (c *deadline) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.armed == nil && !c.ended && c.parent.Err() == nil && time.Now().Before(c.at) {
		return nil
	}
	return c.armLocked().Err()
}

// Value implements context.Context. Package context finds by it which of its own contexts a Done
// is of.
func (c *deadline) Value(key any) any {
	c.mu.Lock()
	in := c.parent
	if c.armed != nil || c.ended {
		in = c.armLocked()
	}
	c.mu.Unlock()
	return in.Value(key)
}
