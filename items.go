package strictkv

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/seam"
)

const (
	// walkProgressEvery is how many keys are listed between two calls of Progress.
	walkProgressEvery = 1000
	// dropsWaitingMax is how many keys may wait to be deleted while the next are listed.
	dropsWaitingMax = 1000
)

// WalkOption configures one Items or Drop.
type WalkOption func(*walk)

// WalkProgress says how far an Items or a Drop has come.
type WalkProgress struct {
	// Listed counts the keys that were listed, those included that are deleted and whose
	// tombstones no sweep has removed yet.
	Listed int64
	// Done counts the items that were yielded, or the keys that were deleted.
	Done int64
}

// Progress has f called about once for 1000 keys listed, and at the end, always by the
// goroutine that called Items or Drop.
func Progress(f func(WalkProgress)) WalkOption {
	return func(w *walk) { w.tell = f }
}

// walk is what options say of an Items or a Drop.
type walk struct {
	tell func(WalkProgress)
}

func newWalk(opts []WalkOption) (walk, error) {
	var w walk
	for _, opt := range opts {
		if opt == nil {
			return w, fmt.Errorf("nil option: %w", ErrInvalid)
		}
		opt(&w)
	}
	return w, nil
}

// Collections yields the names of the collections of the database that are not empty: those
// in which a key has a value, or in a collection nested in which. They are in byte order,
// except where one name is the beginning of another: then the longer one comes first if
// it goes on with one of the bytes from 00 to 2E ("a-b" before "a").
//
// It is not a transaction: each name was right at an instant within the loop, and whether
// one is yielded that has been filled or emptied meanwhile is left open. It costs a list
// request for each 1000 names, and one for each name, many in parallel, ahead of the loop;
// more for collections full of tombstones that no sweep has removed. Memory does not depend
// on the number of names. An error ends the loop: ErrClosed, ErrUnavailable, the backend's,
// and the context's.
func (db *DB) Collections(ctx context.Context) iter.Seq2[[]byte, error] {
	return (&Collection{db: db}).Collections(ctx)
}

// Collections yields the names of the collections directly within c that are not empty, as
// DB.Collections does for the database. Another error is ErrInvalidKey.
func (c *Collection) Collections(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := c.begin(); err != nil {
			yield(nil, fmt.Errorf("collections: %w", err))
			return
		}
		defer c.db.end()
		for name, err := range scan.Collections(ctx, c.db.st, c.db.rs, c.path) {
			if !yield(name, err) {
				return
			}
		}
	}
}

// begin counts a call on c; c.db.end must follow.
func (c *Collection) begin() error {
	if c.err != nil {
		return c.err
	}
	return c.db.begin()
}

// Drop deletes all keys of c and of the collections nested in it, and returns how many it
// has deleted. It is not a transaction: each key is deleted by one of its own, as many in
// parallel as WithConcurrency allows.
//
// When it returns nil, every key that had a value when it was called has been deleted at
// an instant within the call. Of what others write meanwhile, some may be deleted and some
// stay: what is written to a key after its turn stays. Who wants the collection to be
// empty sees to it that nobody writes to it. What is written after Drop has returned
// stays, always.
//
// It can be stopped at any time, and called again: it then lists the tombstones of what is
// gone, and deletes the rest. An error ends it, after the deletions that have begun, and
// the number tells what was deleted nevertheless. It costs a read and a write for each key,
// and a list request for each 1000. External values go as well; the tombstones stay until
// a sweep removes them. Errors: ErrClosed, ErrInvalid, ErrInvalidKey, ErrInDoubt (call it
// again), ErrCorrupt, ErrFormat, ErrUnavailable, the backend's, and the context's.
func (c *Collection) Drop(ctx context.Context, opts ...WalkOption) (deleted int64, err error) {
	w, err := newWalk(opts)
	if err != nil {
		return 0, fmt.Errorf("drop: %w", err)
	}
	if err := c.begin(); err != nil {
		return 0, fmt.Errorf("drop: %w", err)
	}
	defer c.db.end()
	d := drop{db: c.db, tell: w.tell}
	crew := seam.NewCrew(c.db.rt, c.db.concurrency, dropsWaitingMax)
	d.fail(d.list(ctx, c.path, crew))
	d.fail(crew.Wait())
	p, err := d.soFar()
	if d.tell != nil {
		d.tell(p)
	}
	if err != nil {
		return p.Done, fmt.Errorf("drop: %w", err)
	}
	return p.Done, nil
}

// drop is a Drop. What its goroutines share is guarded by mu.
type drop struct {
	db   *DB
	tell func(WalkProgress)

	mu       seam.Mutex // guards all below
	progress WalkProgress
	err      error // the first
}

// list lists the keys below path, and hands over those that are to be deleted, until
// something fails.
func (d *drop) list(ctx context.Context, path keyspace.Path, crew *seam.Crew) error {
	for x, err := range scan.Below(ctx, d.db.st, path) {
		if err != nil {
			return err
		}
		p, err := d.listed()
		if err != nil {
			return err
		}
		if d.tell != nil && p.Listed%walkProgressEvery == 0 {
			d.tell(p)
		}
		if x.Gone() {
			continue
		}
		if err := crew.Do(ctx, func() { d.remove(ctx, x.Name) }); err != nil {
			return err
		}
	}
	return nil
}

// listed counts a key that was listed.
func (d *drop) listed() (WalkProgress, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.progress.Listed++
	return d.progress, d.err
}

func (d *drop) soFar() (WalkProgress, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.progress, d.err
}

// remove deletes a key, unless something has failed.
func (d *drop) remove(ctx context.Context, name string) {
	if _, err := d.soFar(); err != nil {
		return
	}
	had, err := d.db.engine.Remove(ctx, name)
	if err != nil && errors.Is(err, ErrInDoubt) {
		err = d.db.inDoubt(err)
	}
	d.fail(err)
	if had {
		d.mu.Lock()
		d.progress.Done++
		d.mu.Unlock()
	}
}

// fail keeps the first error.
func (d *drop) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
	}
}
