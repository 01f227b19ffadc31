package baton

import (
	"context"
	"time"

	"github.com/strictkv/strictkv/internal/seam"
)

// Epoch is when the virtual clock starts.
var Epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// Process is a part of a World that can be killed: a seam.Runtime of its own.
type Process struct {
	w      *World
	id     int
	random Source
	unique Source
	skew   time.Duration // by which its clock is ahead
	frozen []*Task       // those that it had when it was killed
}

var _ seam.Runtime = (*Process)(nil)

// NewProcess returns a process with sources of randomness. Processes with the same random are
// clones; no two have the same unique.
func (w *World) NewProcess(id int, random, unique Source) *Process {
	return &Process{w: w, id: id, random: random, unique: unique}
}

// Skew sets by how much the process's clock is ahead of the World's.
func (p *Process) Skew(d time.Duration) { p.skew = d }

// ID is the number given to NewProcess.
func (p *Process) ID() int { return p.id }

// Go implements seam.Runtime.
func (p *Process) Go(f func()) { p.w.spawn(p, f) }

// Now implements seam.Runtime.
func (p *Process) Now() time.Time { return Epoch.Add(p.w.now + p.skew) }

// Uint64 implements seam.Runtime.
func (p *Process) Uint64() uint64 { return p.random.Next() }

// Entropy implements seam.Runtime.
func (p *Process) Entropy() uint64 { return p.unique.Next() }

// Sleep implements seam.Runtime.
func (p *Process) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	p.w.park(clockOf(ctx), p.w.now+d, nil)
	return ctx.Err()
}

// NewEvent implements seam.Runtime.
func (p *Process) NewEvent() seam.Event { return &event{w: p.w} }

type event struct {
	w       *World
	set     bool
	waiters []*Task
}

func (e *event) IsSet() bool { return e.set }

func (e *event) Set() {
	e.set = true
	for _, t := range e.waiters {
		if t.event == e {
			e.w.Wake(t)
		}
	}
	e.waiters = nil
}

func (e *event) Wait(ctx context.Context) error {
	if e.set {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	t := e.w.current
	if t != nil { // nil: the world has ended, and park does not return
		e.waiters = append(e.waiters, t)
	}
	e.w.park(clockOf(ctx), Never, e)
	t.event = nil
	if e.set {
		return nil
	}
	return ctx.Err()
}

// clockContext ends by the virtual clock, or when it is cancelled. It has no goroutine
// and no channel: it is polled.
type clockContext struct {
	context.Context // the parent
	w               *World
	up              *clockContext
	deadline        time.Duration
	err             error
	waiters         int // parked tasks that wait under it
}

type clockKey struct{}

// clockOf is the nearest context of a World, nil if there is none.
func clockOf(ctx context.Context) *clockContext {
	c, _ := ctx.Value(clockKey{}).(*clockContext)
	return c
}

// WithTimeout implements seam.Runtime.
func (p *Process) WithTimeout(
	ctx context.Context, d time.Duration,
) (context.Context, context.CancelFunc) {
	return p.derive(ctx, p.w.now+d)
}

// WithCancel implements seam.Runtime.
func (p *Process) WithCancel(ctx context.Context) (context.Context, context.CancelFunc) {
	return p.derive(ctx, Never)
}

func (p *Process) derive(
	ctx context.Context, deadline time.Duration,
) (context.Context, context.CancelFunc) {
	c := &clockContext{Context: ctx, w: p.w, up: clockOf(ctx), deadline: deadline}
	if c.up != nil {
		c.deadline = min(c.deadline, c.up.deadline)
	}
	return c, c.cancel
}

func (c *clockContext) cancel() {
	if c.Err() != nil {
		return
	}
	c.err = context.Canceled
	if c.waiters == 0 || c.w.ended {
		return
	}
	for _, t := range append([]*Task{}, c.w.parked...) {
		if t.ctx != nil && t.ctx.Err() != nil {
			c.w.Wake(t)
		}
	}
}

// Err implements context.Context.
func (c *clockContext) Err() error {
	if c.err == nil {
		if c.err = c.Context.Err(); c.err == nil && c.w.now >= c.deadline {
			c.err = context.DeadlineExceeded
		}
	}
	return c.err
}

// Deadline implements context.Context.
func (c *clockContext) Deadline() (time.Time, bool) {
	if c.deadline == Never {
		return c.Context.Deadline()
	}
	return Epoch.Add(c.deadline), true
}

// Done implements context.Context. Nobody may ask for it.
func (c *clockContext) Done() <-chan struct{} {
	panic("baton: ctx.Done: contexts are polled")
}

// Value implements context.Context.
func (c *clockContext) Value(key any) any {
	if _, ok := key.(clockKey); ok {
		return c
	}
	return c.Context.Value(key)
}
