package typed

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/strictkv/strictkv"
)

// EntriesMax is how many entries of one index a value can have. A transaction changes at most
// 1000 keys, of values and entries together.
const EntriesMax = 100

// keyMax is the length of the longest key of a collection, in bytes.
const keyMax = 512

// isKey reports whether a collection can have the key: else asking for it fails the transaction.
func isKey(key []byte) bool { return len(key) > 0 && len(key) <= keyMax }

// entry is one of an index, as stored: the index key as a part, and behind it, unless the index
// is unique, the key of the value as a part. A unique one has the key of the value as its value.
type entry struct{ key, value []byte }

// place is where an index is stored.
type place struct {
	name string
	raw  *strictkv.Collection
}

func (in place) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("index %q: %w", in.name, err)
}

// indexer is what a collection needs to know of its indexes.
type indexer[K, V any] interface {
	place() place
	// entries are those of a value, in order, each once. If one of them can't be stored, that is
	// an error, and the value has none.
	entries(k K, key []byte, v V) ([]entry, error)
}

// entries are those of a value, by index.
func (c *Collection[K, V]) entries(k K, key []byte, v V) ([][]entry, error) {
	if len(c.indexes) == 0 {
		return nil, nil
	}
	all := make([][]entry, len(c.indexes))
	for i, index := range c.indexes {
		var err error
		if all[i], err = index.entries(k, key, v); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// held are the entries by index that a stored value has: none in an index that it can't be in.
// That must not be in the way of replacing it.
func (c *Collection[K, V]) held(k K, key []byte, v V) [][]entry {
	all := make([][]entry, len(c.indexes))
	for i, index := range c.indexes {
		if own, err := index.entries(k, key, v); err == nil {
			all[i] = own
		}
	}
	return all
}

// without are the entries of a that are not in b. Both are in order.
func without(a, b []entry) []entry {
	return slices.DeleteFunc(slices.Clone(a), func(e entry) bool {
		_, found := slices.BinarySearchFunc(b, e, compareEntries)
		return found
	})
}

func compareEntries(a, b entry) int { return bytes.Compare(a.key, b.key) }

// index is what unique and other indexes share.
type index[IK, K, V any] struct {
	of     *Collection[K, V]
	in     place
	unique bool
	codec  KeyCodec[IK]
	fn     func(V) []IK
}

// Index finds values by index keys that any number of them may have.
type Index[IK, K, V any] struct{ ix *index[IK, K, V] }

// Unique finds values by index keys that only one of them can have.
type Unique[IK, K, V any] struct{ ix *index[IK, K, V] }

// NewIndex declares an index of a collection: fn tells under which index keys a value is to be
// found, none, one, or up to EntriesMax. It must depend on nothing but the value, and not change
// it. Entries are kept in the collection nested in c with the name of the index.
// A value with an index key that can't be stored is refused, with ErrEncode, strictkv.ErrTooLarge
// or strictkv.ErrInvalidKey; one that was there before the index is a Problem of a Rebuild, has no
// entries, and can be replaced and deleted.
//
// Declare all indexes before the collection is used, in every program that writes to it. An
// index of a collection that has values already, or whose function has changed, needs a Rebuild.
// If an argument is nil, or the name is that of another index, every use of the collection fails
// with strictkv.ErrInvalid.
func NewIndex[IK, K, V any](
	c *Collection[K, V], name string, codec KeyCodec[IK], fn func(V) []IK,
) *Index[IK, K, V] {
	return &Index[IK, K, V]{declare(c, name, false, codec, fn)}
}

// NewUnique declares a unique index of a collection; see NewIndex. A change that would give an
// index key to a second value fails with ErrNotUnique.
func NewUnique[IK, K, V any](
	c *Collection[K, V], name string, codec KeyCodec[IK], fn func(V) []IK,
) *Unique[IK, K, V] {
	return &Unique[IK, K, V]{declare(c, name, true, codec, fn)}
}

func declare[IK, K, V any](
	c *Collection[K, V], name string, unique bool, codec KeyCodec[IK], fn func(V) []IK,
) *index[IK, K, V] {
	if c == nil {
		c = New[K, V](nil, nil, nil)
	}
	x := &index[IK, K, V]{of: c, unique: unique, codec: codec, fn: fn}
	if c.err != nil {
		return x
	}
	taken := slices.ContainsFunc(c.indexes, func(other indexer[K, V]) bool {
		return other.place().name == name
	})
	switch {
	case codec == nil || fn == nil:
		c.err = fmt.Errorf("index %q: nil codec or function: %w", name, strictkv.ErrInvalid)
	case taken:
		c.err = fmt.Errorf("index %q: declared twice: %w", name, strictkv.ErrInvalid)
	}
	x.in = place{name, c.raw.Collection([]byte(name))}
	// Unique ones come last: while the holder of an entry is read, what is to be written of the
	// others is on its way.
	if unique {
		c.indexes = append(c.indexes, x)
	} else {
		c.indexes = slices.Insert(c.indexes, 0, indexer[K, V](x))
	}
	return x
}

func (x *index[IK, K, V]) place() place { return x.in }

// part encodes an index key.
func (x *index[IK, K, V]) part(ik IK) ([]byte, error) {
	if x.of.err != nil {
		return nil, x.of.err
	}
	b, err := x.codec.AppendPart(nil, ik)
	if err != nil {
		return nil, &EncodeError{
			What: fmt.Sprintf("key of index %q", x.in.name), Codec: x.codec.Name(), Err: err,
		}
	}
	return b, nil
}

// append appends the key of a value to an encoded index key.
func (x *index[IK, K, V]) append(part []byte, k K) ([]byte, error) {
	b, err := x.of.keys.AppendPart(part, k)
	if err != nil {
		return nil, &EncodeError{
			What:  fmt.Sprintf("key as part of index %q", x.in.name),
			Codec: x.of.keys.Name(), Err: err,
		}
	}
	return b, nil
}

func (x *index[IK, K, V]) entries(k K, key []byte, v V) ([]entry, error) {
	iks := x.fn(v)
	if len(iks) > EntriesMax {
		return nil, x.in.wrap(&strictkv.SizeError{
			What: "number of index keys of a value", Size: len(iks), Limit: EntriesMax,
		})
	}
	all := make([]entry, len(iks))
	for i, ik := range iks {
		b, err := x.part(ik)
		if err != nil {
			return nil, err
		}
		if all[i] = (entry{key: b, value: key}); !x.unique {
			if b, err = x.append(b, k); err != nil {
				return nil, err
			}
			all[i] = entry{key: b}
		}
		if !isKey(b) {
			return nil, x.in.wrap(&strictkv.KeyError{Len: len(b), Limit: keyMax, What: "entry"})
		}
	}
	if len(all) < 2 {
		return all, nil
	}
	slices.SortFunc(all, compareEntries)
	return slices.CompactFunc(all, func(a, b entry) bool { return compareEntries(a, b) == 0 }), nil
}

// decode decodes an entry, as far as keys are concerned; key is that of the value, as stored.
func (x *index[IK, K, V]) decode(e entry) (ik IK, k K, key []byte, err error) {
	bad := func(codec string, err error) (IK, K, []byte, error) {
		return ik, k, nil, &DecodeError{
			Key: e.key, What: fmt.Sprintf("entry of index %q", x.in.name), Codec: codec, Err: err,
		}
	}
	ik, rest, err := x.codec.DecodePart(e.key)
	if err != nil {
		return bad(x.codec.Name(), err)
	}
	if x.unique {
		k, err = x.of.keys.Decode(e.value)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("%d bytes behind it", len(rest))
		}
	} else if k, rest, err = x.of.keys.DecodePart(rest); err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes behind it", len(rest))
	}
	if err != nil {
		return bad(x.of.keys.Name(), err)
	}
	if key, err = x.of.key(k); err == nil && !isKey(key) {
		return bad(x.of.keys.Name(), fmt.Errorf("a key of %d bytes", len(key)))
	}
	return ik, k, key, err
}
