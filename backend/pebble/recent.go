package pebble

import "sync/atomic"

// recentMax is how many names recent has at most. Each takes some 100 bytes and its length.
const recentMax = 1 << 16

// recent has the versions of objects that were written or read not long ago, so that neither a
// condition nor a reader who knows the object needs to ask the engine. It is a table with two
// places for each hash of a name, which others share.
//
// What it has of a name is so: the entry is made, and taken away before the object changes,
// by who holds the name's lock.
type recent [recentMax]atomic.Pointer[entry]

// entry is immutable.
type entry struct {
	name string
	state
}

// state is what an object is at.
type state struct {
	version version
	file    *content // nil: it has none
}

// places are where a name's entry may be.
func (r *recent) places(hash uint64) [2]*atomic.Pointer[entry] {
	return [...]*atomic.Pointer[entry]{&r[hash%recentMax], &r[(hash>>32)%recentMax]}
}

// find returns the object's state, if there is an entry of it.
func (r *recent) find(hash uint64, name string) (state, bool) {
	for _, place := range r.places(hash) {
		if e := place.Load(); e != nil && e.name == name {
			return e.state, true
		}
	}
	return state{}, false
}

// keep notes the state of an object that has no entry.
func (r *recent) keep(hash uint64, name string, s state) {
	e := &entry{name, s}
	places := r.places(hash)
	if !places[0].CompareAndSwap(nil, e) && !places[1].CompareAndSwap(nil, e) {
		places[s.version[len(s.version)-1]%2].Store(e)
	}
}

// forget takes the object's entry away. Those of other names stay.
func (r *recent) forget(hash uint64, name string) {
	for _, place := range r.places(hash) {
		if e := place.Load(); e != nil && e.name == name {
			place.CompareAndSwap(e, nil)
		}
	}
}
