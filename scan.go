package strictkv

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/follow"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/txid"
	"github.com/strictkv/strictkv/internal/txn"
)

// Range is a part of a collection, in the order of its keys, and how to go through it. The
// zero Range is all of it, forward.
type Range struct {
	// From is the least key, if it is there; To is beyond the last. None is the open end.
	// With To not greater than From the range is empty. Each has at most 513 bytes: a key
	// with a zero behind it is what comes next, as After makes it.
	From, To []byte
	// Reverse goes from the last key to the first. Stores list names forward only: names,
	// but not values, of all of the range are listed before the first key comes, and those of
	// a range of more than 16 000 keys twice.
	Reverse bool
	// Limit is how many keys are wanted; 0 is all.
	Limit int
	// KeysOnly leaves the values out. It reads no cells but those that a transaction has
	// just written, and of keys that expire.
	KeysOnly bool
}

// Item is a key with its value. Both are the caller's.
type Item struct {
	// Key is never empty.
	Key []byte
	// Value is nil only if keys alone were wanted.
	Value []byte
	// Version is the value's. It is zero if keys alone were wanted, or the transaction itself has
	// written the value.
	Version Version
	// Expires is when the value expires, if ExpireAt was given; else, or if keys alone were wanted,
	// it is zero.
	Expires time.Time
	// State tells states of the key's object apart, and scans alone tell it.
	State State
}

// State tells states of the object of a key apart, by what a listing of the store shows, so that
// a scan for keys alone costs no read for it. While the key has the same State, it has the same
// value, unless that expires; a new State need not mean a new value, as a Version does, since an
// object is written again when a transaction has left something to be tidied. It may be kept
// anywhere. The zero State, which is compared with nothing, is given to a key that a transaction
// under way holds, or has itself written.
type State [16]byte

// state is the State of a cell at a version of its object.
func (c *Collection) state(cell string, v backend.Version) State {
	return follow.StateOf(c.db.st.ID(), cell, v)
}

// newItem is what the user sees of a key that has a value.
func newItem(key, value []byte, a txn.About) Item {
	return Item{
		Key: key, Value: value, Version: Version{a.Writer}, Expires: instant(a.Expires),
	}
}

// instant is a time in nanoseconds since 1970, zero for none.
func instant(nanoseconds int64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds)
}

// Version is an opaque token of a value of a key, to be compared with == : it changes with every
// write of the key, to an equal value too, and with nothing else. So it serves as the ETag of a
// resource, and, with Tx.Require, for a compare-and-set over several requests. Values that one
// transaction has written have the same. The zero Version is that of a key without a value.
type Version struct{ writer txid.ID }

// IsZero reports whether v is the Version of a key that has no value.
func (v Version) IsZero() bool { return v.writer.IsZero() }

// String is v as 32 hexadecimal digits; nothing for the zero Version. The form is stable.
func (v Version) String() string {
	if v.IsZero() {
		return ""
	}
	return v.writer.String()
}

// ParseVersion is the inverse of Version.String. What that can't return is refused with
// ErrInvalid.
func ParseVersion(s string) (Version, error) {
	var v Version
	n, err := hex.Decode(v.writer[:], []byte(s[:min(len(s), 2*len(v.writer))]))
	if s != v.String() || err != nil || n != 0 && n != len(v.writer) {
		return Version{}, fmt.Errorf("version %.40q: want 32 lower-case hexadecimal digits: %w",
			s, ErrInvalid)
	}
	return v, nil
}

// MarshalText is String, for encodings such as JSON.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseVersion.
func (v *Version) UnmarshalText(text []byte) (err error) {
	*v, err = ParseVersion(string(text))
	return err
}

// Prefix is the range of all keys that begin with p.
func Prefix(p []byte) Range {
	r := Range{From: append([]byte{}, p...)}
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] < 0xff {
			r.To = append([]byte{}, p[:i+1]...)
			r.To[i]++
			break
		}
	}
	return r
}

// After is the rest of the range behind a key, which need not be there: for the next page, or
// to go on with a walk in another process. In a range that is reversed it is what comes before
// the key. The limit stays as it is.
func (r Range) After(key []byte) Range {
	if r.Reverse {
		if len(r.To) == 0 || bytes.Compare(key, r.To) < 0 {
			r.To = append([]byte{}, key...)
		}
		return r
	}
	if next := append(append([]byte{}, key...), 0); bytes.Compare(next, r.From) > 0 {
		r.From = next
	}
	return r
}

// interval turns a range of the user's into one of cells.
func (c *Collection) interval(r Range) (scan.Range, error) {
	if c.err != nil {
		return scan.Range{}, c.err
	}
	if r.Limit < 0 {
		return scan.Range{}, fmt.Errorf("limit %d: %w", r.Limit, ErrInvalid)
	}
	i, err := c.path.Interval(r.From, r.To)
	if err != nil {
		return scan.Range{}, public(err)
	}
	return scan.Range{
		Interval: i, Reverse: r.Reverse, Limit: r.Limit, KeysOnly: r.KeysOnly,
	}, nil
}

// Scan yields the keys of a range that have a value, in order, with their values. It sees
// what the transaction has written and deleted itself, also during the loop, if that is
// ahead. Values are fetched in parallel, ahead of the loop, and nothing more once that is
// left.
//
// What the loop has gone through is read, up to the last key yielded, or the whole range if
// it came to its end: the transaction commits only if no key in there has been created,
// deleted or changed meanwhile by others. If keys alone are wanted, a value that has
// been replaced counts as changed.
//
// An error is yielded last, with no item, and fails the transaction: ErrInvalidKey for a
// bound, ErrInvalid for a negative limit, ErrTooLarge for more than 1 048 576 keys scanned by
// one transaction, ErrTxDone, ErrCorrupt, ErrFormat, ErrUnavailable, and the context's.
func (tx *Tx) Scan(c *Collection, r Range) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		left := false
		err := tx.scan(c, r, func(i Item) bool {
			left = !yield(i, nil)
			return !left
		})
		if err != nil && !left {
			yield(Item{}, fmt.Errorf("scan: %w", public(err)))
		}
	}
}

func (tx *Tx) scan(c *Collection, r Range, yield func(Item) bool) error {
	if err := tx.owns(c); err != nil {
		return err
	}
	within, err := c.interval(r)
	if err != nil {
		return tx.tx.Fail(err)
	}
	var broken error
	err = tx.tx.Scan(within, func(x txn.Item) bool {
		key, err := c.path.Key(x.Name)
		if err != nil {
			broken = tx.tx.Fail(err)
			return false
		}
		item := Item{Key: key}
		if !r.KeysOnly {
			item = newItem(key, own(x.Value), x.About)
		}
		item.State = c.state(x.Name, x.Fixed)
		return yield(item)
	})
	if err == nil {
		err = broken
	}
	return err
}

// owns makes the transaction fail if the collection is not of its handle.
func (tx *Tx) owns(c *Collection) error {
	if err := tx.mine(c); err != nil {
		return tx.tx.Fail(err)
	}
	return nil
}

// mine tells what is wrong with a collection that is not of the transaction's handle.
func (tx *Tx) mine(c *Collection) error {
	switch {
	case c == nil:
		return fmt.Errorf("nil collection: %w", ErrInvalid)
	case c.db != tx.db:
		return fmt.Errorf("collection of another handle: %w", ErrInvalid)
	}
	return nil
}

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
		ctx, work := c.db.st.Observer().Work(ctx, observe.Items)
		err = w.items(ctx, c, r, yield)
		work.Done(ctx, w.Done, err)
		if err != nil {
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
	state := c.state(found.Name, found.Fixed())
	if err != nil || keyOnly {
		return Item{Key: key, State: state}, err
	}
	data := found.Data
	if data == nil {
		data = found.Value().Data
	}
	value := own(data)
	item := newItem(key, value, txn.About{Writer: found.Writer(), Expires: found.Expires()})
	item.State = state
	return item, nil
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
