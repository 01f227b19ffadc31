package strictkv

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/strictkv/strictkv/internal/scan"
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
	// just written.
	KeysOnly bool
}

// Item is a key with its value. Both are the caller's.
type Item struct {
	// Key is never empty.
	Key []byte
	// Value is nil only if keys alone were wanted.
	Value []byte
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
	err = tx.tx.Scan(within, func(name string, value []byte) bool {
		key, err := c.path.Key(name)
		if err != nil {
			broken = tx.tx.Fail(err)
			return false
		}
		return yield(Item{Key: key, Value: value})
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
