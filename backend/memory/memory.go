// Package memory is a backend in the memory of the process: for tests, for
// examples, and for data that may die with the process.
//
// It copies no data: Put keeps the bytes that it is given, and Get returns them.
package memory

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/strictkv/strictkv/backend"
)

// pageSize is the largest number of entries of a listing that sets no limit.
const pageSize = 1000

// Backend holds its objects in memory. Make one with New. A call whose context
// has already ended has no effect; its error matches the context's error and no
// sentinel of package backend.
type Backend struct {
	now func() time.Time

	mu      sync.RWMutex // guards all below
	objects map[string]object
	names   index // the keys of objects
	version uint64
}

type object struct {
	data     []byte
	version  backend.Version
	modified time.Time
}

var _ backend.Backend = (*Backend)(nil)

// Option changes a Backend that New makes.
type Option func(*Backend)

// WithClock makes now the store's clock, which answers tell, and Info.Modified is read
// from; the default is the wall clock. It is called with the store locked, and must not call it.
func WithClock(now func() time.Time) Option { return func(b *Backend) { b.now = now } }

// New returns an empty backend, which is safe for concurrent use. Its versions
// never recur, not even after a Delete.
func New(options ...Option) *Backend {
	b := &Backend{
		objects: make(map[string]object),
		// A monotonic clock stands still in sleep.
		now: func() time.Time { return time.Now().Round(0) },
	}
	for _, o := range options {
		o(b)
	}
	return b
}

// Len is the number of objects.
func (b *Backend) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.objects)
}

// Get implements backend.Backend. It takes no copy of the data.
func (b *Backend) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	if err := check(ctx, name != ""); err != nil {
		return backend.Object{}, &callError{"get", name, err}
	}
	b.mu.RLock()
	o, ok := b.objects[name]
	now := b.now()
	b.mu.RUnlock()
	switch {
	case !ok:
		return backend.Object{Time: now}, &callError{"get", name, backend.ErrNotFound}
	case known != "" && o.version == known:
		return backend.Object{Time: now}, &callError{"get", name, backend.ErrNotModified}
	}
	return backend.Object{Data: o.data, Version: o.version, Time: now}, nil
}

// Put implements backend.Backend. It keeps data.
func (b *Backend) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	if err := check(ctx, name != "" && c.Valid()); err != nil {
		return backend.Stamp{}, &callError{"put", name, err}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	old, ok := b.objects[name]
	if ok == c.Absent() || old.version != c.Version() {
		return backend.Stamp{}, &callError{"put", name, backend.ErrPrecondition}
	}
	if !ok {
		b.names.insert(name)
	}
	b.version++
	v := backend.Version(strconv.FormatUint(b.version, 36))
	now := b.now()
	b.objects[name] = object{data[:len(data):len(data)], v, now}
	return backend.Stamp{Version: v, Time: now}, nil
}

// Delete implements backend.Backend.
func (b *Backend) Delete(ctx context.Context, name string, v backend.Version) error {
	if err := check(ctx, name != "" && v != ""); err != nil {
		return &callError{"delete", name, err}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// An absent object has the empty version, which v is not.
	if b.objects[name].version != v {
		return &callError{"delete", name, backend.ErrPrecondition}
	}
	delete(b.objects, name)
	b.names.remove(name)
	return nil
}

func check(ctx context.Context, valid bool) error {
	if !valid {
		return backend.ErrInvalid
	}
	return ctx.Err()
}

// callError formats itself only when asked: "not modified" and "precondition
// failed" are everyday answers, which must stay cheap.
type callError struct {
	call, name string
	err        error
}

func (e *callError) Error() string { return fmt.Sprintf("memory %s %q: %v", e.call, e.name, e.err) }

func (e *callError) Unwrap() error { return e.err }

// Capabilities implements backend.Backend: there is no network.
func (*Backend) Capabilities() backend.Capabilities {
	return backend.Capabilities{ConditionalDelete: true, SendsOnce: true}
}
