package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
)

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
