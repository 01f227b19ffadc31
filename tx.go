package strictkv

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/txn"
)

// Tx is one run of a transaction's function. It may be used from several goroutines
// until the function returns; then its methods return ErrTxDone. Values handed out may
// be kept and changed, values handed in may be reused after the call.
//
// Errors of its methods other than ErrNotFound and ErrExists stick: the transaction
// fails even if the function ignores them.
type Tx struct {
	db      *DB
	tx      *txn.Tx
	attempt int
}

// RetryCause is why a transaction's function is run once more.
type RetryCause uint8

// The causes. There may be more with time.
const (
	// FirstRun: it is not run once more.
	FirstRun = RetryCause(txn.NoRetry)
	// StaleRead: others had changed something that the run before has read, or that the cache
	// held.
	StaleRead = RetryCause(txn.StaleRead)
	// WriteConflict: others had changed a key of the transaction between its reads and its
	// writes, or have killed the attempt, whose patience had ended.
	WriteConflict = RetryCause(txn.Conflict)
	// LocksLost: others took this client for dead, and its locks away.
	LocksLost = RetryCause(txn.LocksLost)
	// Grouped: other transactions of this handle want the same keys, and commit together with
	// this one, each on top of what those before have done.
	Grouped = RetryCause(txn.Regrouped)
)

// String names the cause, in words for a log.
func (c RetryCause) String() string {
	switch c {
	case FirstRun:
		return "first run"
	case StaleRead:
		return "stale read"
	case WriteConflict:
		return "write conflict"
	case LocksLost:
		return "locks lost"
	case Grouped:
		return "grouped"
	}
	return fmt.Sprintf("cause %d", uint8(c))
}

// Attempt is the number of this run of the function: 1 for the first.
func (tx *Tx) Attempt() int { return tx.attempt }

// RetryCause is why the function is run once more; FirstRun if it is not.
func (tx *Tx) RetryCause() RetryCause { return RetryCause(tx.tx.Retry()) }

// Context is the transaction's. The methods of a Tx take none of their own.
func (tx *Tx) Context() context.Context { return tx.tx.Context() }

// cell is the name of a key's cell; what is wrong with it makes the transaction fail.
func (tx *Tx) cell(c *Collection, key []byte) (string, error) {
	name, err := tx.name(c, key)
	if err != nil {
		return "", tx.tx.Fail(err)
	}
	return name, nil
}

// name is cell for a caller who makes the transaction fail.
func (tx *Tx) name(c *Collection, key []byte) (string, error) {
	if err := tx.mine(c); err != nil {
		return "", err
	}
	if c.err != nil {
		return "", c.err
	}
	var buf [keyspace.NameMax]byte
	name, err := c.path.AppendCell(buf[:0], c.db.name, key)
	if err != nil {
		return "", public(err)
	}
	return tx.tx.Name(name), nil
}

// Read returns the value of a key, or ErrNotFound. A value that the transaction itself
// has written is seen.
func (tx *Tx) Read(c *Collection, key []byte) ([]byte, error) {
	v, err := tx.ReadShared(c, key)
	if err != nil {
		return nil, err
	}
	return own(v), nil
}

// ReadShared is Read that makes no copy of the value: nobody may ever change the bytes, as those of
// Collection.ReadShared.
func (tx *Tx) ReadShared(c *Collection, key []byte) ([]byte, error) {
	name, err := tx.cell(c, key)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", key, err)
	}
	v, err := tx.tx.Read(name)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", key, public(err))
	}
	return slices.Clip(v), nil // so that to append to it changes nothing
}

// ReadItem is Read that tells also which version the value has, and when it expires.
func (tx *Tx) ReadItem(c *Collection, key []byte) (Item, error) {
	name, err := tx.cell(c, key)
	if err != nil {
		return Item{}, fmt.Errorf("read %q: %w", key, err)
	}
	a, err := tx.tx.About(name)
	if err != nil {
		return Item{}, fmt.Errorf("read %q: %w", key, public(err))
	}
	v, err := tx.tx.Read(name)
	if err != nil {
		return Item{}, fmt.Errorf("read %q: %w", key, public(err))
	}
	return newItem(bytes.Clone(key), own(v), a), nil
}

// expires is when the value of a key that was read is due.
func (tx *Tx) expires(c *Collection, key []byte) time.Time {
	name, err := tx.name(c, key)
	if err != nil {
		return time.Time{}
	}
	return instant(tx.tx.Expires(name))
}

// ReadVersion returns the version of a key's value, and fetches no value that is an object of
// its own. It is the zero Version if the key has no value, and if the transaction itself has
// written it. Errors are those of Read, but ErrNotFound.
func (tx *Tx) ReadVersion(c *Collection, key []byte) (Version, error) {
	name, err := tx.cell(c, key)
	if err != nil {
		return Version{}, fmt.Errorf("read version of %q: %w", key, err)
	}
	a, err := tx.tx.About(name)
	if err != nil {
		return Version{}, fmt.Errorf("read version of %q: %w", key, public(err))
	}
	return Version{a.Writer}, nil
}

// Require makes the transaction commit only if a key has a version: that of a value which was
// read before, by whatever process. The zero Version requires that the key has no value. What
// the transaction itself has written there, before or later, is of no matter.
//
// If the key has another version, Require returns a VersionError, and the transaction fails
// with that. As everything that is read, this is validated: it does not fail for a version that
// was in the cache alone, but in a view that may be old. Other errors are those of Read.
func (tx *Tx) Require(c *Collection, key []byte, v Version) error {
	name, err := tx.cell(c, key)
	if err != nil {
		return fmt.Errorf("require %q: %w", key, err)
	}
	if err := tx.tx.Require(name, v.writer); err != nil {
		return fmt.Errorf("require %q: %w", key, public(err))
	}
	return nil
}

// Result is the value of one key of ReadMulti, or the error that Read would return.
type Result struct {
	Value []byte
	Err   error
}

// ReadMulti reads keys in parallel. The results have the order of the keys. An error of one
// key is in its own result alone; unless it is ErrNotFound, the transaction fails with it.
func (tx *Tx) ReadMulti(keys ...Key) []Result { return tx.readMulti(nil, keys) }

// ReadMultiMax is ReadMulti of values that come to so many bytes at most, so that memory stays
// bounded where values may be large. Once one was too much it asks for no more of them. What it
// has left out has ErrNoRoom as its result, which does not fail the transaction: call it again,
// or Read.
func (tx *Tx) ReadMultiMax(bytes int, keys ...Key) []Result {
	return tx.readMulti(txn.NewRoom(bytes), keys)
}

func (tx *Tx) readMulti(room *txn.Room, keys []Key) []Result {
	results := make([]Result, len(keys))
	names := make([]string, len(keys))
	values, errs := make([][]byte, len(keys)), make([]error, len(keys))
	for i, k := range keys {
		names[i], errs[i] = tx.name(k.Collection, k.Key)
	}
	tx.tx.ReadMulti(names, values, errs, room)
	for i := range results {
		if errs[i] != nil {
			results[i].Err = fmt.Errorf("read %q: %w", keys[i].Key, public(errs[i]))
		} else {
			results[i].Value = own(values[i])
		}
	}
	return results
}

// Write sets the value of a key, at the commit. A nil value is stored as an empty one. Until its
// end the transaction sees it, even if it is to expire before. Errors: ErrTooLarge,
// ErrInvalidKey, ErrInvalid of an option, ErrReadOnly.
func (tx *Tx) Write(c *Collection, key, value []byte, opts ...WriteOption) error {
	w, err := newWriting(opts)
	return tx.write("write", c, key, func(name string) error {
		if err != nil {
			return tx.tx.Fail(err)
		}
		return tx.tx.Write(name, value, w.expires)
	})
}

// WriteShared is Write that makes no copy of the value: nobody may ever change the bytes, not after
// the transaction either.
func (tx *Tx) WriteShared(c *Collection, key, value []byte, opts ...WriteOption) error {
	w, err := newWriting(opts)
	return tx.write("write", c, key, func(name string) error {
		if err != nil {
			return tx.tx.Fail(err)
		}
		return tx.tx.WriteShared(name, slices.Clip(value), w.expires)
	})
}

// Delete removes a key, at the commit. It is nil if there is none. Errors:
// ErrInvalidKey, ErrReadOnly.
func (tx *Tx) Delete(c *Collection, key []byte) error {
	return tx.write("delete", c, key, tx.tx.Delete)
}

// Insert sets the value of a key that has none. It costs no read: if at the commit the
// key turns out to have a value, the function is run again, and Insert returns
// ErrExists in it. After an own Delete of the key it succeeds, after an own Write it
// returns ErrExists. Other errors are those of Write.
func (tx *Tx) Insert(c *Collection, key, value []byte, opts ...WriteOption) error {
	w, err := newWriting(opts)
	return tx.write("insert", c, key, func(name string) error {
		if err != nil {
			return tx.tx.Fail(err)
		}
		return tx.tx.Insert(name, value, w.expires)
	})
}

func (tx *Tx) write(step string, c *Collection, key []byte, f func(name string) error) error {
	name, err := tx.cell(c, key)
	if err == nil {
		err = f(name)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", step, key, public(err))
	}
	return nil
}

// Lock reads keys, and takes care that nobody changes them between that and the commit.
// A transaction that locks what it only reads commits in one round instead of three, at
// the price of writing those cells as well. Keys that have no value can be locked too.
func (tx *Tx) Lock(c *Collection, keys ...[]byte) error {
	names := make([]string, len(keys))
	for i, key := range keys {
		var err error
		if names[i], err = tx.cell(c, key); err != nil {
			return fmt.Errorf("lock %q: %w", key, err)
		}
	}
	if err := tx.tx.Lock(names); err != nil {
		return fmt.Errorf("lock: %w", public(err))
	}
	return nil
}

// Abort makes the transaction end without effect: DB.Tx returns ErrAborted, even if the
// function then returns nil. To be used as `return tx.Abort()`.
func (tx *Tx) Abort() error { return tx.tx.Abort() }
