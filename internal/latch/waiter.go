package latch

import (
	"context"

	"github.com/strictkv/strictkv/internal/seam"
)

// Order is what a waiter is told to do.
type Order uint8

const (
	// Run: do your part, and report.
	Run Order = iota + 1
	// Go: the latch is granted, and nobody shares it. It is the waiter's now.
	Go
	// Again: take another latch.
	Again
	// Solo: start over, without a latch.
	Solo
	// Slow: start over. The run took too long to share a latch.
	Slow
	// End: all is over.
	End
)

// Waiter passes orders from who drives a shared latch to one of its waiters. The zero value is
// ready to use.
type Waiter struct {
	mu    seam.Mutex // guards all below
	order Order
	wake  seam.Event // set with an order; nil if nobody waits
	gone  bool
}

// Next waits for an order, and returns the error of ctx if that ends before.
func (w *Waiter) Next(ctx context.Context, rt seam.Runtime) (Order, error) {
	for {
		w.mu.Lock()
		if o := w.order; o != 0 {
			w.order = 0
			w.mu.Unlock()
			return o, nil
		}
		if w.wake == nil {
			w.wake = rt.NewEvent()
		}
		wake := w.wake
		w.mu.Unlock()
		if err := wake.Wait(ctx); err != nil {
			return 0, err
		}
	}
}

// Tell gives an order, unless the waiter has gone.
func (w *Waiter) Tell(o Order) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return false
	}
	w.order = o
	if w.wake != nil {
		w.wake.Set()
		w.wake = nil
	}
	return true
}

// Quit makes the waiter gone, unless an order is waiting for it.
func (w *Waiter) Quit() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.order != 0 {
		return false
	}
	w.gone = true
	return true
}

// Gone reports whether the waiter has gone.
func (w *Waiter) Gone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone
}
