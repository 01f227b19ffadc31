package pebble

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/strictkv/strictkv/backend"
)

// flights are the writes whose effect can be seen, or soon will be, but that the disk does not
// have yet. Whoever has read such a state waits until the disk has it before answering. The
// log is in the order of the writes: what is durable makes all before it so.
type flights struct {
	count atomic.Int64 // how many names have one: mostly none

	mu     sync.Mutex // guards byName
	byName map[string]*flight
}

// flight is one write. Its err is set before done is closed.
type flight struct {
	done chan struct{}
	err  error
}

// start notes a write of some names that is about to take effect. It replaces earlier ones.
func (f *flights) start(names ...string) *flight {
	w := &flight{done: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byName == nil {
		f.byName = make(map[string]*flight)
	}
	for _, name := range names {
		if f.byName[name] == nil {
			f.count.Add(1)
		}
		f.byName[name] = w
	}
	return w
}

// land says that the disk has a write, or why that is not known.
func (f *flights) land(w *flight, err error, names ...string) {
	f.mu.Lock()
	for _, name := range names {
		if f.byName[name] == w {
			delete(f.byName, name)
			f.count.Add(-1)
		}
	}
	f.mu.Unlock()
	w.err = err
	close(w.done)
}

// wait waits until a state of the object is durable that has been read before this call.
func (f *flights) wait(ctx context.Context, name string) error {
	if f.count.Load() == 0 {
		return nil
	}
	f.mu.Lock()
	w := f.byName[name]
	f.mu.Unlock()
	if w == nil {
		return nil
	}
	return w.wait(ctx)
}

// waitAll waits until all is durable that has been read before this call.
func (f *flights) waitAll(ctx context.Context) error {
	if f.count.Load() == 0 {
		return nil
	}
	f.mu.Lock()
	all := make([]*flight, 0, len(f.byName))
	for _, w := range f.byName {
		all = append(all, w)
	}
	f.mu.Unlock()
	for _, w := range all {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *flight) wait(ctx context.Context) error {
	select {
	case <-w.done:
		if w.err != nil {
			return fmt.Errorf("%w: what was read is not durable: %w", backend.ErrUnavailable, w.err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
