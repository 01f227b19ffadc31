package otelkv

import (
	"maps"
	"sync"
	"sync/atomic"
)

// table is a map that is read without a lock: whoever adds to it replaces it by a copy. It is for
// what is complete soon.
type table[K comparable, V any] struct {
	now atomic.Pointer[map[K]V] // nil, or never changed

	mu sync.Mutex // held by who adds
}

func (t *table[K, V]) all() map[K]V {
	if m := t.now.Load(); m != nil {
		return *m
	}
	return nil
}

// of is what there is of a key; else made adds it.
func (t *table[K, V]) of(k K, made func() V) V {
	if v, ok := t.all()[k]; ok {
		return v
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := t.all()[k]
	if ok {
		return v
	}
	v = made()
	next := maps.Clone(t.all())
	if next == nil {
		next = map[K]V{}
	}
	next[k] = v
	t.now.Store(&next)
	return v
}
