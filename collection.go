package strictkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/sweep"
	"github.com/strictkv/strictkv/internal/txn"
)

// Collection is a set of keys, and of further collections. It needs no creation.
type Collection struct {
	db   *DB
	path keyspace.Path
	err  error // of the name
}

// Key is a key together with its collection.
type Key struct {
	Collection *Collection
	Key        []byte
}

// Collection returns the database's collection with a name of 1 to 512 bytes. A name
// that is not allowed makes every use of the collection fail with ErrInvalidKey.
func (db *DB) Collection(name []byte) *Collection {
	return (&Collection{db: db}).Collection(name)
}

// Collection returns the collection with a name of 1 to 512 bytes within c.
func (c *Collection) Collection(name []byte) *Collection {
	if c.err != nil {
		return c
	}
	path, err := c.path.Collection(name)
	return &Collection{db: c.db, path: path, err: public(err)}
}

// DB is the handle that c was made by.
func (c *Collection) DB() *DB { return c.db }

// Path are the names of the collections around c, outermost first, and its own.
func (c *Collection) Path() [][]byte {
	names, _ := c.path.Names() // it was made of them
	return names
}

// Key names a key of c, for ReadMulti.
func (c *Collection) Key(key []byte) Key { return Key{Collection: c, Key: key} }

// cell is the name of the key's cell.
func (c *Collection) cell(key []byte) (string, error) {
	if c.err != nil {
		return "", c.err
	}
	name, err := c.path.Cell(c.db.name, key)
	return name, public(err)
}

// Read returns the current value of a key, in one request. Errors: ErrNotFound,
// ErrInvalidKey, ErrClosed, ErrCorrupt, ErrFormat, ErrUnavailable, the context's.
func (c *Collection) Read(ctx context.Context, key []byte) ([]byte, error) {
	return c.ReadWeak(ctx, key, 0)
}

// ReadWeak returns a value that the key had at most maxStaleness ago: without a request
// if the cache has one that is known to have been current then. It sees this handle's
// own commits. A bound of 0 or less reads as Read does.
func (c *Collection) ReadWeak(
	ctx context.Context, key []byte, maxStaleness time.Duration,
) ([]byte, error) {
	v, _, err := c.read(ctx, key, maxStaleness)
	if err != nil {
		return nil, err
	}
	return own(v), nil
}

// ReadShared is ReadWeak that makes no copy of the value: the bytes are those of the handle's
// cache, and of all who read it so. Nobody may ever change them; what is changed is damaged for
// all readers, and for writers that go by it. They may be kept, but keep as much memory in use,
// beyond WithCacheSize.
func (c *Collection) ReadShared(
	ctx context.Context, key []byte, maxStaleness time.Duration,
) ([]byte, error) {
	v, _, err := c.read(ctx, key, maxStaleness)
	return slices.Clip(v), err // so that to append to it changes nothing
}

// own is a copy of a value, which is the caller's, and never nil. Memory that is filled as a whole
// is not cleared before.
func own(v []byte) []byte {
	data := make([]byte, len(v))
	copy(data, v)
	return data
}

// ReadItem is Read that tells also which version the value has, and when it expires.
func (c *Collection) ReadItem(ctx context.Context, key []byte) (Item, error) {
	v, a, err := c.read(ctx, key, 0)
	if err != nil {
		return Item{}, err
	}
	return newItem(bytes.Clone(key), own(v), a), nil
}

// read returns a value, which nobody may change.
func (c *Collection) read(
	ctx context.Context, key []byte, maxStaleness time.Duration,
) ([]byte, txn.About, error) {
	name, err := c.cell(key)
	if err != nil {
		return nil, txn.About{}, fmt.Errorf("read %q: %w", key, err)
	}
	if err := c.db.begin(); err != nil {
		return nil, txn.About{}, err
	}
	defer c.db.end()
	v, a, err := c.db.engine.Read(ctx, name, maxStaleness)
	if err != nil {
		return nil, txn.About{}, fmt.Errorf("read %q: %w", key, err)
	}
	return v, a, nil
}

// Write sets the value of a key. It is a DB.Tx of its own.
func (c *Collection) Write(
	ctx context.Context, key, value []byte, opts ...WriteOption,
) error {
	return c.db.Tx(ctx, func(tx *Tx) error { return tx.Write(c, key, value, opts...) })
}

// Delete removes a key; it is nil if there is none. It is a DB.Tx of its own.
func (c *Collection) Delete(ctx context.Context, key []byte) error {
	return c.db.Tx(ctx, func(tx *Tx) error { return tx.Delete(c, key) })
}

// Insert sets the value of a key that has none, else it fails with ErrExists. It is a
// DB.Tx of its own.
func (c *Collection) Insert(
	ctx context.Context, key, value []byte, opts ...WriteOption,
) error {
	return c.db.Tx(ctx, func(tx *Tx) error { return tx.Insert(c, key, value, opts...) })
}

// Remove is what the function of Collection.Update returns as its error to delete the key. No
// call returns it.
var Remove = errors.New("strictkv: remove the key") //nolint:staticcheck // it is no failure

// Update replaces the value of a key by what fn makes of it. fn gets nil for a key that
// has none. If it returns Remove, the key is deleted; with any other error nothing happens,
// and Update returns that. A nil value without an error is refused as ErrInvalid, since it is
// more often forgotten than meant: an empty value is []byte{}. A value expires when the one that
// it replaces would have. fn may be run several times. It is a DB.Tx of its own, without end but
// ctx's.
func (c *Collection) Update(
	ctx context.Context, key []byte, fn func(old []byte) ([]byte, error),
) error {
	if fn == nil {
		return fmt.Errorf("update %q: nil function: %w", key, ErrInvalid)
	}
	return c.db.Tx(ctx, func(tx *Tx) error {
		old, err := tx.Read(c, key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		v, err := fn(old)
		switch {
		case errors.Is(err, Remove):
			if old == nil {
				return nil
			}
			return tx.Delete(c, key)
		case err != nil:
			return err
		case v == nil:
			return fmt.Errorf("update %q: the function returned neither a value nor an error: "+
				"to delete the key, return strictkv.Remove: %w", key, ErrInvalid)
		}
		return tx.Write(c, key, v, ExpireAt(tx.expires(c, key)))
	})
}

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
