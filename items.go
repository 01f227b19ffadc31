package strictkv

import (
	"context"
	"fmt"
	"iter"

	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/txn"
)

// walkProgressEvery is how many keys are listed between two calls of Progress.
const walkProgressEvery = 1000

// WalkOption configures one Items, or one Drop of a collection or a database.
type WalkOption func(*walk)

// WalkProgress says how far an Items or a Drop has come.
type WalkProgress struct {
	// Listed counts the keys that were listed, those included that are deleted and whose
	// tombstones no sweep has removed yet; of DB.Drop it counts objects.
	Listed int64
	// Done counts the items that were yielded, or the keys, or objects, that were deleted.
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
// meanwhile, or expires, is left open. For a snapshot use DB.View with Tx.Scan.
//
// Values are read many in parallel, ahead of the loop: by 1024 keys or 16 MiB at most, so
// that in a loop that takes long, an item may be as old as what came in that time. Memory does
// not depend on the number of keys. Collections nested in c are not walked. It costs a list
// request for each 1000 keys, tombstones included, and a read for each value that the cache
// does not have at the version listed; keys only cost none. Reverse lists all of the range
// before the first item comes.
//
// A loop that was left goes on behind its last key, in another process too, with the range
// that begins there: r.After(key).
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
	now := c.db.st.Clock()
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
		if !found.PresentAt(now) {
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
	value := append(make([]byte, 0, len(data)), data...)
	return newItem(key, value, txn.About{Writer: found.Writer(), Expires: found.Expires()}), nil
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
