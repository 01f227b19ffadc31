// Package seam is the engine's only door to goroutines, waiting, time, timeouts
// and randomness. The real runtime is made of the Go runtime's own; a simulation
// puts its scheduler in its place, so that a run replays from its seed. A lint
// test bans every other way.
//
// Everything that blocks is built on Event.Wait and Sleep, and gives up when its
// context ends. A Mutex is never held across a blocking point.
package seam

import (
	"context"
	"time"
)

// Runtime is what the engine asks of the world beside the bucket.
type Runtime interface {
	// Go runs f in a goroutine.
	Go(f func())
	// NewEvent returns an event that has not happened.
	NewEvent() Event
	// Now is the current time, with a monotonic reading.
	Now() time.Time
	// Sleep waits for d, or until ctx ends and then returns its error.
	Sleep(ctx context.Context, d time.Duration) error
	// WithTimeout derives a context that ends after d.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// WithCancel derives a context that ends when cancel is called.
	WithCancel(ctx context.Context) (context.Context, context.CancelFunc)
	// Uint64 returns 64 random bits, for choices that may be repeated: a clone of the
	// process, made with its memory, draws the same.
	Uint64() uint64
	// Entropy returns 64 random bits that nobody else draws, no clone of the process
	// either: for what must be unique.
	Entropy() uint64
}

// Since is how long ago t was, by the monotonic clock or by the wall clock, whichever says
// more: the one may stand still while a machine sleeps, the other may be set back.
func Since(now, t time.Time) time.Duration {
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// Jitter returns a random duration between half of d and d, so that those who failed together
// do not try again together.
func Jitter(rt Runtime, d time.Duration) time.Duration {
	half := uint64(d) / 2
	return time.Duration(half + rt.Uint64()%(half+1))
}

// Event happens at most once.
type Event interface {
	// Set makes the event happen, if it has not.
	Set()
	// Wait returns nil once the event has happened, or the error of ctx if that
	// ends before.
	Wait(ctx context.Context) error
	// IsSet reports whether the event has happened.
	IsSet() bool
}

type contextKey struct{}

// NewContext returns a context that carries a runtime: what is opened with it lives
// in that runtime. It is the door for simulations.
func NewContext(ctx context.Context, rt Runtime) context.Context {
	return context.WithValue(ctx, contextKey{}, rt)
}

// FromContext returns the runtime that ctx carries, or the real one.
func FromContext(ctx context.Context) Runtime {
	if rt, ok := ctx.Value(contextKey{}).(Runtime); ok {
		return rt
	}
	return Real()
}
