package seam

import (
	"sync"
	"sync/atomic"
)

// Mutex guards memory for a moment. It is never held across a blocking point, so
// under a simulation's baton it is never contended.
type Mutex struct{ mu sync.Mutex }

// Observer is told of every Lock (+1, before it) and Unlock (-1, after it).
type Observer func(delta int)

var observer atomic.Pointer[Observer]

// Observe installs f for all mutexes of the process, or removes it (nil). A
// simulation counts the held mutexes by it, and preempts.
func Observe(f Observer) {
	if f == nil {
		observer.Store(nil)
		return
	}
	observer.Store(&f)
}

// Lock locks m.
func (m *Mutex) Lock() {
	if f := observer.Load(); f != nil {
		(*f)(1)
	}
	m.mu.Lock()
}

// Unlock unlocks m.
func (m *Mutex) Unlock() {
	m.mu.Unlock()
	if f := observer.Load(); f != nil {
		(*f)(-1)
	}
}
