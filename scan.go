package strictkv

import (
	"fmt"

	"github.com/strictkv/strictkv/internal/scan"
)

// Range says which keys of a collection are wanted, and how. The zero Range is all of
// them, in byte order.
type Range struct {
	// From is the first key that is wanted, if it is there, and To the first that is not
	// any more. An empty one leaves that end open. They have 512 bytes at most, as keys do.
	From, To []byte
	// Reverse goes from the last key to the first.
	Reverse bool
	// Limit is how many keys are wanted; 0 is all.
	Limit int
	// KeysOnly leaves the values out, which need not be read then.
	KeysOnly bool
}

// Prefix is the range of all keys that begin with p.
func Prefix(p []byte) Range {
	to := append([]byte{}, p...)
	for len(to) > 0 && to[len(to)-1] == 0xff {
		to = to[:len(to)-1]
	}
	if len(to) > 0 {
		to[len(to)-1]++
	}
	return Range{From: p, To: to}
}

// Item is a key with its value.
type Item struct {
	// Key and Value may be kept and changed. Value is nil if only keys were asked for, and
	// else never.
	Key, Value []byte
}

// interval turns a range of the user's into one of cells.
func (c *Collection) interval(r Range) (scan.Range, error) {
	if r.Limit < 0 {
		return scan.Range{}, fmt.Errorf("limit %d: %w", r.Limit, ErrInvalid)
	}
	i, err := c.path.Interval(r.From, r.To)
	return scan.Range{
		Interval: i, Reverse: r.Reverse, Limit: r.Limit, KeysOnly: r.KeysOnly,
	}, err
}
