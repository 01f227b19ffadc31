package replica

import (
	"context"
	"errors"
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
	edition     uint64   // its number, higher than those of what was shown before
	records     *records // nil if there is no cache
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
		r.edition++
		next = &shown{
			r: r, snapshot: snap, status: st, incarnation: r.incarnation, edition: r.edition,
			records: r.recordsFor(r.edition),
		}
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
	before, records := r.shown, (*records)(nil)
	if next != nil {
		records = next.records
	}
	r.shown, r.seen = next, seen
	r.records.Store(records)
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

// Ready waits until the Replica shows something: at once after a restart, else after the first
// pass; of an Instant replica after the first instant. Errors: strictkv.ErrClosed, the context's.
func (r *Replica) Ready(ctx context.Context) error {
	return r.until(ctx, func(*shown) (bool, error) { return true, nil })
}

// Wait waits until all is shown that was committed before the call, by whomever: until a pass has
// come to its end that has begun since, which takes up to Options.Every and the pass, or with a
// feed Options.FullEvery. Errors: strictkv.ErrClosed, the context's.
func (r *Replica) Wait(ctx context.Context) error {
	called := time.Now()
	return r.until(ctx, func(*shown) (bool, error) { return r.lookedSince(called), nil })
}

// lookedSince reports whether what is shown was looked at, all of it, since a time.
func (r *Replica) lookedSince(t time.Time) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.seen.After(t)
}

// WaitFor waits until the key is shown as of a version, or as of a later one: so a program reads
// what it has written. What the Replica's own handle has committed is there within milliseconds
// (of an Instant replica, with the next instant), and what others have, as Wait tells. The zero
// Version is that of a deletion. Errors: strictkv.ErrInvalid for a collection that is not copied,
// strictkv.ErrClosed, the context's.
func (r *Replica) WaitFor(
	ctx context.Context, c *strictkv.Collection, key []byte, version strictkv.Version,
) error {
	called := time.Now()
	n, err := r.number(c)
	if err != nil {
		return fmt.Errorf("wait for %q: %w", key, err)
	}
	name, want := cellKey(nil, keyRecord, n, key), versionOf(version)
	return r.until(ctx, func(s *shown) (bool, error) {
		if r.lookedSince(called) {
			return true, nil
		}
		var rec record
		err := s.get(name, rec.decode)
		if errors.Is(err, errAbsent) {
			err = nil
		}
		return rec.version == want, err
	})
}

// until waits until what is shown is right.
func (r *Replica) until(ctx context.Context, right func(*shown) (bool, error)) error {
	for {
		next := r.next()
		s, err := r.acquire()
		if errors.Is(err, strictkv.ErrClosed) {
			return err
		}
		if err == nil {
			ok, err := right(s)
			s.release()
			if errors.Is(err, errDamage) {
				r.noticed(err) // and wait for the new copy
			} else if err != nil || ok {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next:
		}
	}
}
