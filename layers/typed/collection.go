package typed

import (
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
)

// Collection is a collection of values of type V by keys of type K. It is safe for concurrent
// use, once its indexes are declared.
//
// With indexes, a change of a value reads it, and then changes the entries of what it has read. So
// within one transaction no two calls may change the same key at once, and the function of an
// Update must not change its key by another call: entries would stay behind, or be missing.
// Transactions may do so at once, as ever.
type Collection[K, V any] struct {
	raw     *strictkv.Collection
	keys    KeyCodec[K]
	values  Codec[V]
	indexes []indexer[K, V]
	err     error // of the declaration; every call fails with it
}

// Item is a key with its value.
type Item[K, V any] struct {
	Key   K
	Value V
}

// New is a collection as one of typed keys and values. It sends no request. If an argument is
// nil, every use of the collection fails with strictkv.ErrInvalid.
func New[K, V any](
	c *strictkv.Collection, keys KeyCodec[K], values Codec[V],
) *Collection[K, V] {
	t := &Collection[K, V]{raw: c, keys: keys, values: values}
	if c == nil || keys == nil || values == nil {
		t.err = fmt.Errorf("typed collection: nil collection or codec: %w", strictkv.ErrInvalid)
	}
	return t
}

// Raw is the collection without types. What writes to it does not keep the indexes.
func (c *Collection[K, V]) Raw() *strictkv.Collection { return c.raw }

// Get returns the value of a key; ok reports whether it has one. Errors: ErrEncode, ErrDecode,
// and those of strictkv.Tx.Read.
func (c *Collection[K, V]) Get(tx *strictkv.Tx, k K) (v V, ok bool, err error) {
	key, err := c.key(k)
	if err != nil {
		return v, false, err
	}
	return c.read(tx, key)
}

// Found is what ReadMulti finds of one key.
type Found[V any] struct {
	Value V
	OK    bool
}

// ReadMulti returns the values of keys, in their order, read in parallel: one round trip instead
// of one for each. The first error ends it; errors are those of Get.
func (c *Collection[K, V]) ReadMulti(tx *strictkv.Tx, ks ...K) ([]Found[V], error) {
	keys := make([][]byte, len(ks))
	for i, k := range ks {
		var err error
		if keys[i], err = c.key(k); err != nil {
			return nil, err
		}
	}
	return c.readMulti(tx, keys)
}

// Set sets the value of a key. With indexes it reads the value that was there, unless the
// transaction has done so. Errors: ErrEncode, ErrNotUnique, ErrDecode of the value that was
// there, and those of strictkv.Tx.Write.
//
// The value stays, unless strictkv.ExpireAt is given. A collection with indexes takes no options,
// and fails with strictkv.ErrInvalid: entries do not expire.
func (c *Collection[K, V]) Set(
	tx *strictkv.Tx, k K, v V, opts ...strictkv.WriteOption,
) error {
	key, err := c.writable(k, opts)
	if err != nil {
		return err
	}
	m := change[K, V]{c: c, tx: tx, k: k, key: key}
	if err := m.begin(); err != nil {
		return err
	}
	return m.set(v, opts...)
}

// Insert sets the value of a key that has none, as strictkv.Tx.Insert does: without a read, and
// with strictkv.ErrExists for one that has, which does not fail the transaction. Options are
// as for Set. Other errors: ErrEncode, ErrNotUnique, and those of strictkv.Tx.Insert.
func (c *Collection[K, V]) Insert(
	tx *strictkv.Tx, k K, v V, opts ...strictkv.WriteOption,
) error {
	key, err := c.writable(k, opts)
	if err != nil {
		return err
	}
	m := change[K, V]{c: c, tx: tx, k: k, key: key, insert: true}
	return m.set(v, opts...)
}

// Delete removes a key; it is nil if there is none. With indexes it reads the value that was
// there. Errors: ErrEncode, ErrDecode of the value that was there, and those of
// strictkv.Tx.Delete.
func (c *Collection[K, V]) Delete(tx *strictkv.Tx, k K) error {
	key, err := c.key(k)
	if err != nil {
		return err
	}
	m := change[K, V]{c: c, tx: tx, k: k, key: key}
	if err := m.begin(); err != nil {
		return err
	}
	return m.delete()
}

// Update replaces the value of a key by what fn makes of it; ok reports whether there was one.
// If fn returns strictkv.Remove, the key is deleted; with any other error nothing happens, and
// Update returns that. A value expires when the one that it replaces would have. Other errors:
// ErrEncode, ErrDecode, ErrNotUnique, and those of strictkv.Tx.Read and Write.
func (c *Collection[K, V]) Update(
	tx *strictkv.Tx, k K, fn func(old V, ok bool) (V, error),
) error {
	if fn == nil {
		return fmt.Errorf("update: nil function: %w", strictkv.ErrInvalid)
	}
	key, err := c.key(k)
	if err != nil {
		return err
	}
	old, ok, err := c.read(tx, key)
	if err != nil {
		return err
	}
	m := change[K, V]{c: c, tx: tx, k: k, key: key}
	m.from(old, ok)
	var end time.Time
	if ok {
		was, err := tx.ReadItem(c.raw, key) // it has been read: this costs nothing
		if err != nil {
			return err
		}
		end = was.Expires
	}
	v, err := fn(old, ok)
	switch {
	case errors.Is(err, strictkv.Remove):
		if !ok {
			return nil
		}
		return m.delete()
	case err != nil:
		return err
	}
	return m.set(v, strictkv.ExpireAt(end))
}

// writable encodes a key whose value is to be written with options.
func (c *Collection[K, V]) writable(k K, opts []strictkv.WriteOption) ([]byte, error) {
	if c.err == nil && len(opts) > 0 && len(c.indexes) > 0 {
		return nil, fmt.Errorf("set: a collection with indexes takes no options, "+
			"as entries do not expire: %w", strictkv.ErrInvalid)
	}
	return c.key(k)
}

// key encodes a key.
func (c *Collection[K, V]) key(k K) ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	key, err := c.keys.Append(nil, k)
	if err != nil {
		return nil, &EncodeError{What: "key", Codec: c.keys.Name(), Err: err}
	}
	return key, nil
}

// read reads the value of an encoded key.
func (c *Collection[K, V]) read(tx *strictkv.Tx, key []byte) (v V, ok bool, err error) {
	b, err := tx.Read(c.raw, key)
	if errors.Is(err, strictkv.ErrNotFound) {
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	v, err = c.decode(key, b)
	return v, err == nil, err
}

func (c *Collection[K, V]) readMulti(tx *strictkv.Tx, keys [][]byte) ([]Found[V], error) {
	found := make([]Found[V], len(keys))
	for i, r := range tx.ReadMulti(keysOf(c.raw, keys)...) {
		if errors.Is(r.Err, strictkv.ErrNotFound) {
			continue
		}
		if r.Err != nil {
			return nil, r.Err
		}
		v, err := c.decode(keys[i], r.Value)
		if err != nil {
			return nil, err
		}
		found[i] = Found[V]{Value: v, OK: true}
	}
	return found, nil
}

func keysOf(c *strictkv.Collection, keys [][]byte) []strictkv.Key {
	all := make([]strictkv.Key, len(keys))
	for i, key := range keys {
		all[i] = c.Key(key)
	}
	return all
}

func (c *Collection[K, V]) decode(key, b []byte) (v V, err error) {
	if v, err = c.values.Decode(b); err != nil {
		return v, &DecodeError{Key: key, What: "value", Codec: c.values.Name(), Err: err}
	}
	return v, nil
}
