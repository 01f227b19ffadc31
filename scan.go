package strictkv

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"iter"
	"time"

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
		if r.KeysOnly {
			return yield(Item{Key: key})
		}
		return yield(newItem(key, x.Value, x.About))
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
