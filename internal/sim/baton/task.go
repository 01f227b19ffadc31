package baton

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"time"
)

// Task is one goroutine of a World.
type Task struct {
	id   int
	p    *Process
	f    func()
	w    *worker
	done bool

	// While it is parked: its place in World.parked (-1 else), when it is woken at
	// the latest, and what it waits for.
	slot     int
	deadline time.Duration
	ctx      *clockContext
	event    *event
}

// worker is a coroutine that runs one task after another.
type worker struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	task  *Task
}

func newWorker() *worker {
	x := &worker{}
	x.next, x.stop = iter.Pull(func(yield func(struct{}) bool) {
		x.yield = yield
		for {
			x.task.main()
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return x
}

func (t *Task) main() {
	defer func() {
		t.done = true
		if p := recover(); p != nil {
			t.p.w.Fail(fmt.Errorf("panic in process %d: %v\n%s", t.p.id, p, debug.Stack()))
		}
	}()
	t.f()
}

// spawn makes a new task ready.
func (w *World) spawn(p *Process, f func()) {
	if !w.ended {
		w.tasks++
		w.ready = append(w.ready, &Task{id: w.tasks, p: p, f: f, slot: -1})
	}
}

// lend gives the task a worker, if it has none.
func (w *World) lend(t *Task) {
	if t.w != nil {
		return
	}
	if n := len(w.idle); n > 0 {
		t.w, w.idle = w.idle[n-1], w.idle[:n-1]
	} else {
		t.w = newWorker()
		w.workers++
	}
	t.w.task = t
}

// Current is the task that holds the baton.
func (w *World) Current() *Task { return w.current }

// Park gives the baton back until the current task is woken, by Wake or since ctx has
// ended. The caller finds out which.
func (w *World) Park(ctx context.Context) { w.park(clockOf(ctx), Never, nil) }

func (w *World) park(ctx *clockContext, deadline time.Duration, e *event) {
	if w.ended {
		runtime.Goexit()
	}
	t := w.current
	t.ctx, t.event, t.deadline = ctx, e, deadline
	for c := ctx; c != nil; c = c.up {
		c.waiters++
		t.deadline = min(t.deadline, c.deadline)
	}
	t.slot = len(w.parked)
	w.parked = append(w.parked, t)
	w.yield(t)
}

// yield hands the baton back. In a world that has ended it does not return.
func (w *World) yield(t *Task) {
	if !t.w.yield(struct{}{}) {
		runtime.Goexit()
	}
}

// Parked reports whether the task waits to be woken.
func (t *Task) Parked() bool { return t.slot >= 0 }

// Wake makes a parked task ready; any other it leaves alone.
func (w *World) Wake(t *Task) {
	if t.Parked() && !w.ended {
		w.unpark(t)
		w.ready = append(w.ready, t)
	}
}

func (w *World) unpark(t *Task) {
	last := len(w.parked) - 1
	w.parked[t.slot] = w.parked[last]
	w.parked[t.slot].slot = t.slot
	w.parked = w.parked[:last]
	t.slot = -1
	for c := t.ctx; c != nil; c = c.up {
		c.waiters--
	}
}
