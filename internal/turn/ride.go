package turn

import (
	"context"

	"github.com/strictkv/strictkv/internal/seam"
)

// Order is what a rider is told to do.
type Order uint8

const (
	// Run: do your part, and report.
	Run Order = iota + 1
	// Go: the turn has come, and nobody shares it. It is the rider's now.
	Go
	// Again: take another turn.
	Again
	// Solo: start over, without a turn.
	Solo
	// Slow: start over. The run took too long to share a turn.
	Slow
	// End: all is over.
	End
)

// Ride passes orders from who drives a shared turn to one of its riders. The zero value is
// ready to use.
type Ride struct {
	mu    seam.Mutex // guards all below
	order Order
	wake  seam.Event // set with an order; nil if nobody waits
	gone  bool
}

// Next waits for an order, and returns the error of ctx if that ends before.
func (r *Ride) Next(ctx context.Context, rt seam.Runtime) (Order, error) {
	for {
		r.mu.Lock()
		if o := r.order; o != 0 {
			r.order = 0
			r.mu.Unlock()
			return o, nil
		}
		if r.wake == nil {
			r.wake = rt.NewEvent()
		}
		wake := r.wake
		r.mu.Unlock()
		if err := wake.Wait(ctx); err != nil {
			return 0, err
		}
	}
}

// Tell gives an order, unless the rider has gone.
func (r *Ride) Tell(o Order) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return false
	}
	r.order = o
	if r.wake != nil {
		r.wake.Set()
		r.wake = nil
	}
	return true
}

// Quit makes the rider gone, unless an order is waiting for him.
func (r *Ride) Quit() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.order != 0 {
		return false
	}
	r.gone = true
	return true
}

// Gone tells whether the rider has gone.
func (r *Ride) Gone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone
}
