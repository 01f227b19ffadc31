package seam

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"
)

// Real is the runtime of a program: goroutines, the system's clock, Go's randomly seeded
// generator, and the system's.
func Real() Runtime { return realRuntime{} }

type realRuntime struct{}

func (realRuntime) Go(f func()) {
	go func() {
		grow(0)
		f()
	}()
}

// grow makes the stack of a new goroutine as large as a request needs, at once: growing
// it step by step took a fifth of a transaction's time.
//
//go:noinline
func grow(i int) byte {
	var room [3400]byte // enough for the step to 8 KiB
	return room[i]
}

func (realRuntime) Now() time.Time { return time.Now() }

func (realRuntime) Uint64() uint64 { return rand.Uint64() }

// Entropy asks the system each time: what is drawn ahead is in memory, and cloned with it.
func (realRuntime) Entropy() uint64 {
	var b [8]byte
	_, _ = crand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

func (realRuntime) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (realRuntime) WithTimeout(
	ctx context.Context, d time.Duration,
) (context.Context, context.CancelFunc) {
	return withTimeout(ctx, d)
}

func (realRuntime) WithCancel(
	ctx context.Context,
) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

func (realRuntime) NewEvent() Event { return &realEvent{done: make(chan struct{})} }

type realEvent struct {
	once sync.Once
	done chan struct{}
}

func (e *realEvent) Set() { e.once.Do(func() { close(e.done) }) }

func (e *realEvent) IsSet() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

func (e *realEvent) Wait(ctx context.Context) error {
	if e.IsSet() {
		return nil
	}
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
