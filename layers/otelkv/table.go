package otelkv

import (
	"maps"
	"sync"
	"sync/atomic"
)

// frontMax is how many entries of a table are found without hashing.
const frontMax = 64

// table is a map that is read without a lock: whoever adds to it replaces it by a copy. It is for
// what is complete soon.
type table[K comparable, V any] struct {
	front [frontMax]atomic.Pointer[entry[K, V]] // each the last that was asked for with its hint
	now   atomic.Pointer[map[K]*entry[K, V]]    // nil, or never changed

	mu sync.Mutex // held by who adds
}

type entry[K comparable, V any] struct {
	k K
	v V
}

// at is what there is of a key. The hint is a number that keys often asked for have to themselves:
// comparing one key takes a fifth of the time of looking up two strings.
func (t *table[K, V]) at(hint uint8, k K) (v V, ok bool) {
	front := &t.front[hint%frontMax]
	if e := front.Load(); e != nil && e.k == k {
		return e.v, true
	}
	e := t.all()[k]
	if e == nil {
		return v, false
	}
	front.Store(e)
	return e.v, true
}

func (t *table[K, V]) all() map[K]*entry[K, V] {
	if m := t.now.Load(); m != nil {
		return *m
	}
	return nil
}

// of is what there is of a key; else made adds it.
func (t *table[K, V]) of(k K, made func() V) V {
	if e := t.all()[k]; e != nil {
		return e.v
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.all()[k]; e != nil {
		return e.v
	}
	next := maps.Clone(t.all())
	if next == nil {
		next = map[K]*entry[K, V]{}
	}
	e := &entry[K, V]{k, made()}
	next[k] = e
	t.now.Store(&next)
	return e.v
}
