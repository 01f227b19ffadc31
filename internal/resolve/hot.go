package resolve

import (
	"time"

	"github.com/strictkv/strictkv/internal/seam"
)

// Limits of what a handle remembers of hot keys.
const (
	// hotMax is how many it remembers.
	hotMax = 1024
	// hotFor is how long a key stays hot after it has lost a CAS.
	hotFor = 10 * time.Second
)

// hot remembers which keys have lately lost a CAS. Whoever has just written such a key
// knows it best, and would win again and again; so everybody who has lost there once looks
// at the store before using it, which gives all the same chance.
type hot struct {
	rt seam.Runtime

	mu    seam.Mutex // guards all below
	until map[string]time.Time
	order []string // in which they came, oldest first; each once
}

func newHot(rt seam.Runtime) *hot { return &hot{rt: rt, until: map[string]time.Time{}} }

// Lost notes that a write of the key was refused.
func (r *Resolver) Lost(name string) {
	h := r.hot
	now := h.rt.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.until[name]; !known {
		if len(h.order) == hotMax {
			delete(h.until, h.order[0])
			h.order = h.order[1:]
		}
		h.order = append(h.order, name)
	}
	h.until[name] = now.Add(hotFor)
	for len(h.order) > 0 && h.until[h.order[0]].Before(now) {
		delete(h.until, h.order[0])
		h.order = h.order[1:]
	}
}

// Hot tells whether writes of the key were lately refused.
func (r *Resolver) Hot(name string) bool {
	h := r.hot
	h.mu.Lock()
	defer h.mu.Unlock()
	until, known := h.until[name]
	return known && h.rt.Now().Before(until)
}
