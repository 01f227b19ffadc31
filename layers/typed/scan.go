package typed

import (
	"bytes"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/strictkv/strictkv"
)

// Range is a part of a collection, or of an index, in the order of its keys, and how to go
// through it. The zero Range is all of it, forward.
type Range[K any] struct {
	// From is the least key, if it is there; To is beyond the last. None is the open end.
	From, To *K
	// Prefix is the parts that keys of several parts begin with: see PairCodec.Prefix. For
	// strings there is StringPrefix.
	Prefix []byte
	// After is a key behind which to begin, in the order of the walk: the last of the page
	// before. In an index it is an index key, and leaves out all entries that have it.
	After *K
	// Reverse goes from the last key to the first; strictkv.Range tells what that costs.
	Reverse bool
	// Limit is how many items are wanted; 0 is all.
	Limit int
	// KeysOnly leaves the values out, and does not read them.
	KeysOnly bool
}

// StringPrefix is the range of all strings that begin with p.
func StringPrefix[K ~string](p K) Range[K] {
	r := Range[K]{From: &p}
	for s := string(p); s != ""; {
		last, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
		switch {
		case last == utf8.RuneError && size == 1:
			if to := strictkv.Prefix([]byte(p)).To; to != nil { // it is not UTF-8
				r.To = new(K(to))
			}
			return r
		case last == 0xd7ff:
			last = 0xdfff // what comes next is no character
		case last == utf8.MaxRune:
			continue
		}
		to := K(s + string(last+1))
		r.To = &to
		break
	}
	return r
}

// bounds turns a range into one of stored keys, by a function that encodes a key.
func bounds[K any](
	r Range[K], encode func(K) ([]byte, error), whole bool,
) (strictkv.Range, error) {
	out := strictkv.Range{Reverse: r.Reverse, Limit: r.Limit, KeysOnly: r.KeysOnly}
	if len(r.Prefix) > 0 {
		out.From, out.To = r.Prefix, beyond(r.Prefix)
	}
	if r.From != nil {
		from, err := encode(*r.From)
		if err != nil {
			return out, err
		}
		if bytes.Compare(from, out.From) > 0 {
			out.From = from
		}
	}
	if r.To != nil {
		to, err := encode(*r.To)
		switch {
		case err != nil:
			return out, err
		case len(to) == 0: // nothing is before it; as a bound it would be the open end
			to, out.From = []byte{0}, []byte{0}
		}
		if len(out.To) == 0 || bytes.Compare(to, out.To) < 0 {
			out.To = to
		}
	}
	if r.After == nil {
		return out, nil
	}
	after, err := encode(*r.After)
	switch {
	case err != nil:
	case whole || r.Reverse:
		out = out.After(after)
	default:
		if next := beyond(after); bytes.Compare(next, out.From) > 0 {
			out.From = next
		}
	}
	return out, err
}

// beyond is behind all keys that begin with some parts. With escape behind them the bytes are those
// of other parts, in which a zero goes on.
func beyond(parts []byte) []byte { return append(slices.Clone(parts), escape) }

// escape begins no element of a tuple.
const escape = 0xff

// Scan yields the items of a range, in the order of their keys. It is strictkv.Tx.Scan, with
// its costs and promises. An error is yielded last, with no item: ErrDecode, which does not fail
// the transaction, ErrEncode for a bound, and those of strictkv.Tx.Scan.
func (c *Collection[K, V]) Scan(tx *strictkv.Tx, r Range[K]) iter.Seq2[Item[K, V], error] {
	return c.items(r, func(r strictkv.Range) iter.Seq2[strictkv.Item, error] {
		return tx.Scan(c.raw, r)
	})
}

// items decodes what a walk yields.
func (c *Collection[K, V]) items(
	r Range[K], walk func(strictkv.Range) iter.Seq2[strictkv.Item, error],
) iter.Seq2[Item[K, V], error] {
	return func(yield func(Item[K, V], error) bool) {
		within, err := bounds(r, c.key, true)
		if c.err != nil {
			err = c.err
		}
		if err != nil {
			yield(Item[K, V]{}, err)
			return
		}
		for raw, err := range walk(within) {
			var i Item[K, V]
			if err == nil {
				i, err = c.item(raw, r.KeysOnly)
			}
			if !yield(i, err) || err != nil {
				return
			}
		}
	}
}

func (c *Collection[K, V]) item(raw strictkv.Item, keyOnly bool) (i Item[K, V], err error) {
	k, err := c.keys.Decode(raw.Key)
	if err != nil {
		return i, &DecodeError{Key: raw.Key, What: "key", Codec: c.keys.Name(), Err: err}
	}
	if keyOnly {
		return Item[K, V]{Key: k}, nil
	}
	v, err := c.decode(raw.Key, raw.Value)
	if err != nil {
		return i, err
	}
	return Item[K, V]{k, v}, nil
}
