package resolve

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

// hot remembers which keys have lately lost a CAS. Whoever has just written such a key
// knows it best, and would win again and again; so everybody who has lost there once looks
// at the store before using it, which gives all the same chance. Who has lost twice has not
// only had an old value in its cache: others want the key at the same time.
type hot struct {
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
}

func newHot(rt seam.Runtime) *hot { return &hot{rt: rt, keys: map[string]losses{}} }

// Lost notes that a write of the key was refused.
func (r *Resolver) Lost(name string) { r.hot.note(name, 1) }

// Doubt notes that a write of the key was not sent, as that of a hotter one was refused:
// whoever has won there has probably written this one as well.
func (r *Resolver) Doubt(name string) { r.hot.note(name, 0) }

func (h *hot) note(name string, lost int) {
	now := h.rt.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	x, known := h.keys[name]
	if !known {
		if len(h.order) == hotMax {
			delete(h.keys, h.order[0])
			h.order = h.order[1:]
		}
		h.order = append(h.order, name)
	}
	if now.Sub(x.last) >= hotFor {
		x.n = 0
	}
	if x.n += lost; lost > 0 {
		x.last = now
	}
	x.doubted = now
	h.keys[name] = x
	for len(h.order) > 0 && now.Sub(h.keys[h.order[0]].doubted) >= hotFor {
		delete(h.keys, h.order[0])
		h.order = h.order[1:]
	}
	h.known.Store(int64(len(h.order)))
}

// Hot tells whether others want the key at the same time.
func (r *Resolver) Hot(name string) bool {
	h := r.hot
	if h.known.Load() == 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.keys[name]
	return x.n >= hotLosses && h.rt.Now().Sub(x.last) < hotFor
}

// Doubted tells whether what the cache holds of the key is to be looked at before use.
func (r *Resolver) Doubted(name string) bool {
	h := r.hot
	if h.known.Load() == 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	x, known := h.keys[name]
	return known && h.rt.Now().Sub(x.doubted) < hotFor
}
