package strictkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv/internal/keyspace"
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
	return v, err
}

// ReadItem is Read that tells also which version the value has, and when it expires.
func (c *Collection) ReadItem(ctx context.Context, key []byte) (Item, error) {
	v, a, err := c.read(ctx, key, 0)
	if err != nil {
		return Item{}, err
	}
	return newItem(bytes.Clone(key), v, a), nil
}

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
