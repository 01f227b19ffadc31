// Package baton is a world of one thread: goroutines that run one at a time, on a
// virtual clock. A goroutine is a coroutine that runs only while it holds the baton;
// every blocking point gives it back. So nothing that happens depends on the Go
// scheduler, and equal choices give equal runs.
//
// A World knows nothing of stores: its owner runs the goroutines that are ready, and
// when none is, decides what happens next: which parked one to wake, or to let time
// pass.
package baton

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/strictkv/strictkv/internal/seam"
)

// Never is an instant that does not come.
const Never = time.Duration(1<<63 - 1)

// Options configure a World.
type Options struct {
	// Order is the source of the choices below.
	Order Source
	// Shuffle chooses among ready goroutines instead of taking the first.
	Shuffle bool
	// Preempt hands the baton over before one in so many locks; 0 is never.
	Preempt int
}

// World is a scheduler with a clock. It belongs to one goroutine. As it observes all
// mutexes of the engine, there can be only one at a time.
type World struct {
	o   Options
	now time.Duration

	current *Task
	ready   []*Task
	parked  []*Task
	idle    []*worker
	tasks   int
	held    int // mutexes
	ended   bool
	dead    []*Process
	// outside is how many goroutines there were before, workers how many there are
	// for tasks.
	outside, workers int
	err              error
}

// New returns a World at instant 0. Unwind must follow.
func New(o Options) *World {
	w := &World{o: o, outside: runtime.NumGoroutine()}
	seam.Observe(w.observe)
	return w
}

// Now is the time since the world began.
func (w *World) Now() time.Duration { return w.now }

// Fail notes an error; the first one counts.
func (w *World) Fail(err error) {
	if w.err == nil && !w.ended {
		w.err = err
	}
}

// Err is the first error: a panic of a goroutine, a mutex held where it must not be,
// or what was given to Fail.
func (w *World) Err() error { return w.err }

// Ended reports whether the world has ended: what still runs then is on its way out.
func (w *World) Ended() bool { return w.ended }

// Step runs a ready goroutine until it parks or ends. It returns false if none is ready.
func (w *World) Step() bool {
	if len(w.ready) == 0 {
		return false
	}
	i := 0
	if w.o.Shuffle && len(w.ready) > 1 {
		i = w.o.Order.Below(len(w.ready))
	}
	t := w.ready[i]
	w.ready = slices.Delete(w.ready, i, i+1)
	w.run(t)
	return true
}

// NextTimer is when the next parked goroutine must be woken, Never if there is none.
func (w *World) NextTimer() time.Duration {
	next := Never
	for _, t := range w.parked {
		next = min(next, t.deadline)
	}
	return next
}

// Advance sets the clock, which never goes back, and wakes the goroutines whose time
// has come, earliest first.
func (w *World) Advance(now time.Duration) {
	w.now = max(w.now, now)
	var due []*Task
	for _, t := range w.parked {
		if t.deadline <= w.now {
			due = append(due, t)
		}
	}
	slices.SortFunc(due, func(a, b *Task) int {
		if a.deadline != b.deadline {
			return int(max(-1, min(1, a.deadline-b.deadline)))
		}
		return a.id - b.id
	})
	for _, t := range due {
		w.Wake(t)
	}
}

// Kill ends a process: none of its goroutines runs again.
func (w *World) Kill(p *Process) {
	w.dead = append(w.dead, p)
	for i := 0; i < len(w.parked); {
		if t := w.parked[i]; t.p == p {
			w.unpark(t)
			p.frozen = append(p.frozen, t)
		} else {
			i++
		}
	}
	w.ready = slices.DeleteFunc(w.ready, func(t *Task) bool {
		if t.p == p {
			p.frozen = append(p.frozen, t)
		}
		return t.p == p
	})
}

// observe is told of every mutex: it counts those that are held, and hands the baton
// over before some.
func (w *World) observe(delta int) {
	t := w.current
	if t == nil {
		return
	}
	if delta > 0 && w.held == 0 && w.o.Preempt > 0 && len(w.ready) > 0 &&
		w.o.Order.Below(w.o.Preempt) == 0 {
		w.ready = append(w.ready, t)
		w.yield(t)
	}
	w.held += delta
}

// Holds reports whether the goroutine that runs holds a mutex.
func (w *World) Holds() bool { return w.current != nil && w.held > 0 }

// Unwind ends the world. Each goroutine that is left is woken with poison, which makes
// it exit.
func (w *World) Unwind() {
	seam.Observe(nil)
	w.ended, w.current = true, nil
	left := slices.Concat(w.parked, w.ready)
	for _, p := range w.dead {
		left = append(left, p.frozen...)
	}
	done := make(chan struct{})
	go func() { // a coroutine that exits takes with it the goroutine that waits for it
		defer close(done)
		for _, t := range left {
			if t.w != nil && !t.done {
				defer t.w.stop()
			}
		}
	}()
	<-done
	for _, x := range w.idle {
		x.stop()
	}
}

func (w *World) run(t *Task) {
	w.lend(t)
	w.current = t
	t.w.next()
	w.current = nil
	if t.done {
		w.idle = append(w.idle, t.w)
	}
	if w.held != 0 {
		w.Fail(fmt.Errorf("task %d parked with %d mutexes held", t.id, w.held))
		w.held = 0
	}
	if w.strays() {
		w.Fail(fmt.Errorf("task %d started a goroutine past the seam", t.id))
	}
}

// strays reports whether there are goroutines that the world did not start. The runtime's
// own, for finalizers, are counted only while they are at work.
func (w *World) strays() bool {
	for range straysWait {
		if runtime.NumGoroutine() <= w.outside+w.workers {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	// That may have been virtual time. The number is wrong while a thread of the runtime moves what
	// is left of dead goroutines, and on a busy machine it may stand still there: nothing does
	// while the world is stopped.
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return runtime.NumGoroutine() > w.outside+w.workers
}

// straysWait is how long a goroutine too many may stay, in milliseconds.
const straysWait = 100
