package pebble

import (
	"sync/atomic"

	"github.com/strictkv/strictkv/backend"
)

// recentMax is how many names recent has at most. Each takes some 100 bytes and its length.
const recentMax = 1 << 16

// recent has the versions of objects that were written or read not long ago, so that who knows
// an object is told that it has not changed without asking the engine. It is a table with two
// places for each hash of a name, which others share.
//
// What it has of a name is so: the entry is made, and taken away before the object changes,
// by who holds the name's lock.
type recent [recentMax]atomic.Pointer[entry]

// entry is immutable.
type entry struct {
	name    string
	version version
}

// places are where a name's entry may be.
func (r *recent) places(hash uint64) [2]*atomic.Pointer[entry] {
	return [...]*atomic.Pointer[entry]{&r[hash%recentMax], &r[(hash>>32)%recentMax]}
}

// at reports whether the object is certainly at a version that somebody knows.
func (r *recent) at(hash uint64, name string, known backend.Version) bool {
	for _, place := range r.places(hash) {
		if e := place.Load(); e != nil && e.name == name {
			return e.version.is(known)
		}
	}
	return false
}

// keep notes the version of an object that has no entry.
func (r *recent) keep(hash uint64, name string, v version) {
	e := &entry{name, v}
	places := r.places(hash)
	if !places[0].CompareAndSwap(nil, e) && !places[1].CompareAndSwap(nil, e) {
		places[v[len(v)-1]%2].Store(e)
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
