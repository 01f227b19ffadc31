package replica

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv"
)

// shown is what readers see until something newer is shown.
type shown struct {
	r *Replica
	snapshot
	status      status
	incarnation [incarnationSize]byte
	refs        atomic.Int64
}

// acquire is what is shown now. It must be released.
func (r *Replica) acquire() (*shown, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	switch {
	case r.closed:
		return nil, fmt.Errorf("replica: %w", strictkv.ErrClosed)
	case r.shown == nil:
		return nil, ErrNotReady
	}
	r.shown.refs.Add(1)
	return r.shown, nil
}

func (s *shown) release() {
	if s.refs.Add(-1) == 0 {
		_ = s.close() // it only lets go
		s.r.views.Done()
	}
}

// show lets readers see what is stored now, if that is complete. Seen is when the last pass began
// that counts for Lag.
func (r *Replica) show(seen time.Time) error {
	st := r.apply.status
	var next *shown
	if st.complete && !st.torn {
		snap, err := r.store.snapshot()
		if err != nil {
			return err
		}
		next = &shown{r: r, snapshot: snap, status: st, incarnation: r.incarnation}
		next.refs.Store(1)
		r.views.Add(1)
	}
	r.replace(next, seen)
	return nil
}

// hide shows nothing.
func (r *Replica) hide() { r.replace(nil, time.Time{}) }

func (r *Replica) replace(next *shown, seen time.Time) {
	r.mu.Lock()
	before := r.shown
	r.shown, r.seen = next, seen
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
	if before != nil {
		before.release()
	}
}

// next is closed when something else is shown.
func (r *Replica) next() <-chan struct{} {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.changed
}
