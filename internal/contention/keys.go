package contention

import (
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv/internal/seam"
)

// Limits of what a handle remembers of hot keys.
const (
	// hotMax is how many it remembers.
	hotMax = 1024
	// hotFor is how long it remembers that a key has lost a CAS.
	hotFor = 10 * time.Second
	// hotLosses is how many losses make a key hot.
	hotLosses = 2
)

// Keys remembers which keys have lately lost a CAS. Whoever has just written such a key
// knows it best, and would win again and again; so everybody who has lost there once looks
// at the store before using it, which gives all the same chance. Who has lost twice has not
// only had an old value in its cache: others want the key at the same time.
type Keys struct {
	rt seam.Runtime
	// known is the length of order: mostly 0, and then nobody need wait for mu.
	known atomic.Int64

	mu    seam.Mutex // guards all below
	keys  map[string]losses
	order []string // in which they came, oldest first; each once
}

// losses are those of a key that came no more than hotFor apart. A doubt is none, but lasts
// as long.
type losses struct {
	n             int
	last, doubted time.Time
	// wait is how long own transactions take to commit there.
	wait time.Duration
}

// NewKeys returns Keys of which none is known to be contended.
func NewKeys(rt seam.Runtime) *Keys { return &Keys{rt: rt, keys: map[string]losses{}} }

// Lost notes that a write of the key was refused.
func (k *Keys) Lost(name string) { k.note(name, 1) }

// Doubt notes that a write of the key was not sent, as that of a hotter one was refused:
// whoever has won there has probably written this one as well.
func (k *Keys) Doubt(name string) { k.note(name, 0) }

func (k *Keys) note(name string, lost int) {
	now := k.rt.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	x, known := k.keys[name]
	if !known {
		if len(k.order) == hotMax {
			delete(k.keys, k.order[0])
			k.order = k.order[1:]
		}
		k.order = append(k.order, name)
	}
	if now.Sub(x.last) >= hotFor {
		x.n = 0
	}
	if x.n += lost; lost > 0 {
		x.last = now
	}
	x.doubted = now
	k.keys[name] = x
	for len(k.order) > 0 && now.Sub(k.keys[k.order[0]].doubted) >= hotFor {
		delete(k.keys, k.order[0])
		k.order = k.order[1:]
	}
	k.known.Store(int64(len(k.order)))
}

// Hot reports whether others want the key at the same time.
func (k *Keys) Hot(name string) bool {
	if k.known.Load() == 0 {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	x := k.keys[name]
	return x.n >= hotLosses && k.rt.Now().Sub(x.last) < hotFor
}

// Doubted reports whether what the cache holds of the key is to be looked at before use.
func (k *Keys) Doubted(name string) bool {
	if k.known.Load() == 0 {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	x, known := k.keys[name]
	return known && k.rt.Now().Sub(x.doubted) < hotFor
}

// Waited notes how old a transaction was when it had committed at a hot key.
func (k *Keys) Waited(name string, age time.Duration) {
	if k.known.Load() == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if x, known := k.keys[name]; known {
		x.wait = Wait(x.wait, age)
		x.doubted = k.rt.Now()
		k.keys[name] = x
	}
}

// Pace is how long a transaction of some age leaves the key to others, given the latency of a
// write.
func (k *Keys) Pace(name string, age, latency time.Duration) time.Duration {
	if k.known.Load() == 0 {
		return 0
	}
	k.mu.Lock()
	x := k.keys[name]
	k.mu.Unlock()
	if x.wait == 0 || k.rt.Now().Sub(x.doubted) >= hotFor+x.wait {
		return 0
	}
	return Pace(x.wait, age, latency, k.rt.Uint64())
}
