package typed

import (
	"context"
	"errors"
	"iter"

	"github.com/strictkv/strictkv"
)

// Auto has the calls of a Collection as transactions of their own, which are run again on
// conflicts until the context ends. Errors are those of the calls, and of strictkv.DB.Tx.
type Auto[K, V any] struct{ c *Collection[K, V] }

// Auto is the collection for calls outside of transactions.
func (c *Collection[K, V]) Auto() Auto[K, V] { return Auto[K, V]{c} }

// Get returns the current value of a key, in one request; ok reports whether it has one.
func (a Auto[K, V]) Get(ctx context.Context, k K) (v V, ok bool, err error) {
	key, err := a.c.key(k)
	if err != nil {
		return v, false, err
	}
	b, err := a.c.raw.Read(ctx, key)
	if errors.Is(err, strictkv.ErrNotFound) {
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	v, err = a.c.decode(key, b)
	return v, err == nil, err
}

// Set sets the value of a key.
func (a Auto[K, V]) Set(
	ctx context.Context, k K, v V, opts ...strictkv.WriteOption,
) error {
	return a.tx(ctx, func(tx *strictkv.Tx) error { return a.c.Set(tx, k, v, opts...) })
}

// Insert sets the value of a key that has none, else it fails with strictkv.ErrExists.
func (a Auto[K, V]) Insert(
	ctx context.Context, k K, v V, opts ...strictkv.WriteOption,
) error {
	return a.tx(ctx, func(tx *strictkv.Tx) error { return a.c.Insert(tx, k, v, opts...) })
}

// Delete removes a key; it is nil if there is none.
func (a Auto[K, V]) Delete(ctx context.Context, k K) error {
	return a.tx(ctx, func(tx *strictkv.Tx) error { return a.c.Delete(tx, k) })
}

// Update replaces the value of a key by what fn makes of it, which may be run several times.
func (a Auto[K, V]) Update(ctx context.Context, k K, fn func(old V, ok bool) (V, error)) error {
	return a.tx(ctx, func(tx *strictkv.Tx) error { return a.c.Update(tx, k, fn) })
}

// Items yields the items of a range, in the order of their keys. It is strictkv.Collection.Items
// and not a transaction: for exports, and for walking millions of keys.
func (a Auto[K, V]) Items(
	ctx context.Context, r Range[K], opts ...strictkv.WalkOption,
) iter.Seq2[Item[K, V], error] {
	return a.c.items(r, func(r strictkv.Range) iter.Seq2[strictkv.Item, error] {
		return a.c.raw.Items(ctx, r, opts...)
	})
}

func (a Auto[K, V]) tx(ctx context.Context, fn func(*strictkv.Tx) error) error {
	if a.c.err != nil {
		return a.c.err
	}
	return a.c.raw.DB().Tx(ctx, fn)
}
