package strictkv

import (
	"context"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/sweep"
)

// dropsWaitingMax is how many keys may wait to be deleted while the next are listed.
const dropsWaitingMax = 1000

// Drop removes the database: every object in the bucket whose name begins with the
// database's and a slash, also what is damaged, foreign, or has been moved aside by a Check.
// It returns how many it has removed. There is no way back.
//
// Close all other handles before, in all processes: one that goes on working finds its keys
// gone in any order, and what it writes after the end stays in the bucket, where a new
// database of that name would have it. If one does so while Drop works, that goes on, for a
// few rounds, and then fails with ErrUnavailable.
//
// Drop closes the handle, like Close, whatever comes of it. It can be stopped at any time:
// open the database, and call it again. What tells that there is a database goes last. It
// costs a list request for each 1000 objects, and a delete request for each object, as many
// in parallel as WithConcurrency allows; then a list request to see that nothing is left.
//
// An object that can't be removed is left, and so is the database; the error has the first
// one. On a store without conditional deletes an object goes even if it was written after it
// was listed. Errors: ErrClosed, ErrReadOnly, ErrInvalid, ErrCorrupt (an object of which the
// store can't tell its state: remove it by hand), ErrUnavailable, the backend's, and the
// context's.
func (db *DB) Drop(ctx context.Context, opts ...WalkOption) (removed int64, err error) {
	w, err := newWalk(opts)
	if err == nil {
		if err = db.begin(); err == nil {
			db.end()
			err = db.writable()
		}
	}
	if err == nil {
		err = db.Close(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("drop database %q: %w", db.name, err)
	}
	r := sweep.NewRemover(db.st, db.concurrency, func(listed, done int64) {
		if w.tell != nil {
			w.tell(WalkProgress{Listed: listed, Done: done})
		}
	})
	ctx, work := db.st.Observer().Work(ctx, observe.Drop)
	removed, err = r.Remove(ctx)
	work.Done(ctx, removed, err)
	db.st.Log().Info("dropped", "objects", removed, "err", err)
	if err != nil {
		return removed, fmt.Errorf("drop database %q: %w", db.name, err)
	}
	return removed, nil
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
// the number tells what was deleted nevertheless. A key whose object can't be read for what
// it holds (ErrCorrupt, ErrFormat) is left, and the first of these errors comes back when
// all others have been deleted. It costs a read and a write for each key,
// and a list request for each 1000. External values go as well; the tombstones stay until
// a sweep removes them. Errors: ErrClosed, ErrReadOnly, ErrInvalid, ErrInvalidKey, ErrInDoubt
// (call it
// again), ErrCorrupt, ErrFormat, ErrUnavailable, the backend's, and the context's.
func (c *Collection) Drop(ctx context.Context, opts ...WalkOption) (deleted int64, err error) {
	w, err := newWalk(opts)
	if err != nil {
		return 0, fmt.Errorf("drop: %w", err)
	}
	if err = c.begin(); err == nil {
		defer c.db.end()
		err = c.db.writable()
	}
	if err != nil {
		return 0, fmt.Errorf("drop: %w", err)
	}
	d := drop{db: c.db, tell: w.tell}
	ctx, work := c.db.st.Observer().Work(ctx, observe.Drop)
	pool := seam.NewPool(c.db.rt, c.db.concurrency, dropsWaitingMax)
	d.fail(d.list(ctx, c.path, pool))
	d.fail(pool.Wait())
	p, err := d.soFar()
	if d.tell != nil {
		d.tell(p)
	}
	if err == nil && d.left > 0 {
		err = fmt.Errorf("%d keys can't be read, and were left: %w", d.left, d.unread)
	}
	work.Done(ctx, p.Done, err)
	if err != nil {
		return p.Done, fmt.Errorf("drop: %w", err)
	}
	return p.Done, nil
}

// drop is a Drop of a collection. What its goroutines share is guarded by mu.
type drop struct {
	db   *DB
	tell func(WalkProgress)

	mu       seam.Mutex // guards all below
	progress WalkProgress
	err      error // the first
	// left counts keys that can't be read for what they hold, and unread is the first's error.
	left   int
	unread error
}

// list lists the keys below path, and hands over those that are to be deleted, until
// something fails.
func (d *drop) list(ctx context.Context, path keyspace.Path, pool *seam.Pool) error {
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
		if err := pool.Do(ctx, func() { d.remove(ctx, x.Name) }); err != nil {
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

// fail keeps the first error, which ends the drop unless it is one key's own.
func (d *drop) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case errors.Is(err, ErrCorrupt), errors.Is(err, ErrFormat):
		if d.left++; d.unread == nil {
			d.unread = err
		}
	case d.err == nil:
		d.err = err
	}
}
