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

// Progress has f called about once for 1000 keys listed, and at the end (but not of a loop
// that is left, or that an error ends), always by the goroutine that runs Items or Drop.
func Progress(f func(WalkProgress)) WalkOption {
	return func(w *walk) { w.tell = f }
}

// walk is an Items or a Drop.
type walk struct {
	tell func(WalkProgress)
	WalkProgress
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

// Items yields the keys of c within the range, in their order, with their values. It is
// not a transaction, and can't conflict: it is for exports, and for walking millions of
// keys. Each item was current at an instant within the loop and before it was yielded,
// but no two need have been at the same one. A key that has a value from the loop's
// beginning to its end is yielded exactly once; whether one is that is created or deleted
// meanwhile, is left open. For a snapshot use DB.View with Tx.Scan.
//
// Values are read many in parallel, ahead of the loop: by 1024 keys or 16 MiB at most, so
// that in a loop that takes long, an item may be as old as what came in that time. Memory does
// not depend on the number of keys. Collections nested in c are not walked. It costs a list
// request for each 1000 keys, tombstones included, and a read for each value that the cache
// does not have at the version listed; keys only cost none. Reverse lists all of the range
// before the first item comes.
//
// A loop that was left goes on behind its last key, in another process too, with the range
// that begins there: From: append(key, 0), or in reverse To: key.
//
// An error ends the loop: ErrClosed, ErrInvalid, ErrInvalidKey, ErrCorrupt, ErrFormat,
// ErrUnavailable, the backend's, and the context's.
func (c *Collection) Items(
	ctx context.Context, r Range, opts ...WalkOption,
) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		w, err := newWalk(opts)
		if err == nil {
			err = c.begin()
		}
		if err != nil {
			yield(Item{}, fmt.Errorf("items: %w", err))
			return
		}
		defer c.db.end()
		if err := w.items(ctx, c, r, yield); err != nil {
			yield(Item{}, fmt.Errorf("items: %w", err))
		}
	}
}

// items walks the range. It returns nil if the consumer has left.
func (w *walk) items(
	ctx context.Context, c *Collection, r Range, yield func(Item, error) bool,
) error {
	cells, err := c.interval(r)
	if err != nil {
		return err
	}
	walker := scan.New(c.db.st, c.db.rs).Walk(ctx, cells, scan.WalkOptions{Since: c.db.st.Tick()})
	defer walker.Stop()
	for r.Limit == 0 || w.Done < int64(r.Limit) {
		found, more, err := walker.Next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		w.listed(int64(walker.Listed()))
		if !found.Present() {
			continue
		}
		item, err := c.item(found, r.KeysOnly)
		if err != nil {
			return err
		}
		w.Done++
		if !yield(item, nil) {
			return nil
		}
	}
	w.Listed = int64(walker.Listed())
	if w.tell != nil {
		w.tell(w.WalkProgress)
	}
	return nil
}

// listed tells how many keys have been listed, if that is worth telling.
func (w *walk) listed(n int64) {
	if n < w.Listed+walkProgressEvery {
		return
	}
	w.Listed = n
	if w.tell != nil {
		w.tell(w.WalkProgress)
	}
}

// item is what the user sees of a cell that has a value.
func (c *Collection) item(found scan.Item, keyOnly bool) (Item, error) {
	key, err := c.path.Key(found.Name)
	if err != nil || keyOnly {
		return Item{Key: key}, err
	}
	data := found.Data
	if data == nil {
		data = found.Value().Data
	}
	return Item{Key: key, Value: append(make([]byte, 0, len(data)), data...)}, nil
}

// Collections yields the names of the collections of the database that are not empty: those
// in which a key has a value, or in a collection nested in which. They are in byte order,
// except where one name is the beginning of another: then the longer one comes first if
// it goes on with one of the bytes from 00 to 2F ("a-b" and "a/b" before "a").
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
// the number tells what was deleted nevertheless. A key whose object can't be read for what
// it holds (ErrCorrupt, ErrFormat) is left, and the first of these errors comes back when
// all others have been deleted. It costs a read and a write for each key,
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
	if err == nil && d.left > 0 {
		err = fmt.Errorf("%d keys can't be read, and were left: %w", d.left, d.unread)
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
	// left counts keys that can't be read for what they hold, and unread is the first's error.
	left   int
	unread error
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
