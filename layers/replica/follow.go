package replica

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/strictkv/strictkv"
)

// retryEvery is the pause before following begins anew that the copy has ended.
const retryEvery = time.Second

// run follows until ctx ends, or the handle is closed.
func (r *Replica) run(ctx context.Context) {
	defer close(r.ended)
	for {
		err := r.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errDamage):
			if err = r.rebuild(err); err == nil {
				continue
			}
		case r.store != nil:
			err = errors.Join(err, r.renew())
		}
		r.failed(err)
		if errors.Is(err, strictkv.ErrClosed) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryEvery):
		}
	}
}

// errStore says that the copy has failed, and not the database.
type errStore struct{ error }

func (e errStore) Unwrap() error { return e.error }

// follow applies what a Follow yields, until ctx ends, the copy fails, or the handle is closed.
func (r *Replica) follow(ctx context.Context) error {
	if r.store == nil {
		if err := r.load(); err != nil {
			return err
		}
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case err := <-r.damage:
			cancel(errStore{err})
		case <-within.Done():
		}
	}()
	defer func() { cancel(nil); <-watching }()
	f := following{Replica: r}
	opts := []strictkv.FollowOption{
		strictkv.FollowSeen(&f), strictkv.FollowCollections(r.byOrder...),
		strictkv.FollowEvery(r.o.Every), strictkv.FollowFullEvery(r.o.FullEvery),
	}
	if r.o.Mode == Instant {
		opts = append(opts, strictkv.FollowInstant())
	}
	for c, err := range r.db.Follow(within, strictkv.Position{}, opts...) {
		switch cause := (errStore{}); {
		case errors.As(context.Cause(within), &cause):
			return cause.error
		case f.broken != nil:
			return f.broken
		case errors.Is(err, strictkv.ErrClosed), ctx.Err() != nil:
			return err
		case err != nil:
			f.failing = err
			r.failed(err)
			continue
		}
		if err := f.take(c); err != nil {
			r.apply.forget()
			return err
		}
	}
	return nil
}

// failed notes why following fails.
func (r *Replica) failed(err error) {
	r.mu.Lock()
	news := r.err == nil && err != nil
	r.err = err
	r.mu.Unlock()
	if news {
		r.o.Logger.Warn("replica: following the database fails", "dir", r.dir, "err", err)
	}
}

// noticed is told of damage that was found beside following.
func (r *Replica) noticed(err error) {
	select {
	case r.damage <- err:
	default: // it is known already
	}
}

// rebuild throws the copy away, and begins a new one.
func (r *Replica) rebuild(why error) error {
	r.hide()
	r.views.Wait()
	if r.store != nil {
		_ = r.store.close() // it is damaged
		r.store = nil
	}
	r.tellRebuild(why)
	if err := r.discard(); err != nil {
		return fmt.Errorf("throw a copy away: %w", err)
	}
	select {
	case old := <-r.damage:
		r.o.Logger.Debug("replica: damage of the copy that is gone", "err", old)
	default:
	}
	return r.load()
}

// following is one Follow. It is what that asks for what is kept.
type following struct {
	*Replica
	broken  error // the copy's failure
	failing error // the database's, since the last whole pass
}

// take applies a change, or the end of a pass.
func (f *following) take(c strictkv.Change) error {
	if c.Pass != nil {
		return f.pass(c.Pass)
	}
	full, err := f.apply.change(c)
	if err != nil || !full {
		return err
	}
	if err := f.apply.flushPart(); err != nil || f.o.Mode == Instant {
		return err
	}
	return f.show(f.seen)
}

// pass applies the end of a pass. Only one that was whole counts for Lag: others have looked at
// what they were told of, and who tells may be wrong.
func (f *following) pass(p *strictkv.Pass) error {
	shown, err := f.apply.pass(p)
	if err != nil {
		return err
	}
	seen := f.seen
	if p.Whole {
		if f.failing == nil {
			f.failed(nil)
		}
		f.failing, seen = nil, p.At
	}
	if !shown {
		return nil
	}
	return f.show(seen)
}

// States implements strictkv.Seen.
func (f *following) States(
	c *strictkv.Collection, from []byte,
) iter.Seq2[strictkv.KeyState, error] {
	return func(yield func(strictkv.KeyState, error) bool) {
		if err := f.states(c, from, func(k strictkv.KeyState) bool {
			return yield(k, nil)
		}); err != nil {
			f.broken = err
			yield(strictkv.KeyState{}, err)
		}
	}
}

func (f *following) states(
	c *strictkv.Collection, from []byte, yield func(strictkv.KeyState) bool,
) (err error) {
	n, err := f.number(c)
	if err != nil {
		return err
	}
	i, err := f.store.cursor(cellKey(nil, keyRecord, n, from), cellKey(nil, keyRecord, n+1, nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.close()) }()
	for more := i.first(); more; more = i.next() {
		value, err := i.value()
		if err != nil {
			return err
		}
		k, err := keyState(value)
		if err != nil {
			return err
		}
		if k.Key = i.key()[cellHead:]; !yield(k) {
			return nil
		}
	}
	return nil
}

// keyState is what a record says of its key.
func keyState(value []byte) (k strictkv.KeyState, err error) {
	var r record
	if err := r.decode(value); err != nil {
		return k, err
	}
	v, err := versionFrom(r.version)
	if err != nil {
		return k, fmt.Errorf("%w: %w", errRecord, err)
	}
	return strictkv.KeyState{State: r.state, Version: v, Expires: instant(r.expires)}, nil
}

// Lookup implements strictkv.Seen.
func (f *following) Lookup(
	c *strictkv.Collection, key []byte,
) (k strictkv.KeyState, err error) {
	n, err := f.number(c)
	if err != nil {
		return k, err
	}
	err = f.store.get(cellKey(nil, keyRecord, n, key), func(value []byte) (err error) {
		k, err = keyState(value)
		return err
	})
	switch {
	case errors.Is(err, errAbsent):
		return strictkv.KeyState{Key: key, Deleted: true}, nil
	case err != nil:
		f.broken = err
	}
	k.Key = key
	return k, err
}

// Restate implements strictkv.Seen.
func (f *following) Restate(c *strictkv.Collection, key []byte, s strictkv.State) error {
	n, err := f.number(c)
	if err == nil {
		err = f.apply.restate(n, key, s)
	}
	if err != nil {
		f.broken = err
	}
	return err
}
