package strictkv

import (
	"errors"
	"fmt"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txn"
)

// The errors of this package, to be matched by errors.Is. All but ErrInDoubt mean that
// the transaction had no effect.
var (
	// ErrNotFound: the key has no value. It does not fail the transaction. It is
	// backend.ErrNotFound.
	ErrNotFound = backend.ErrNotFound
	// ErrNoRoom: Tx.ReadMultiMax has left a value out. It does not fail the transaction.
	ErrNoRoom = txn.ErrNoRoom
	// ErrExists: Insert of a key that has a value. It does not fail the transaction.
	ErrExists = txn.ErrExists
	// ErrReadOnly: a write in a View, or by a handle that was opened ReadOnly. Don't retry.
	ErrReadOnly = txn.ErrReadOnly
	// ErrAborted: the function has called Tx.Abort.
	ErrAborted = txn.ErrAborted
	// ErrTxDone: a Tx was used after its function had returned. Don't retry.
	ErrTxDone = txn.ErrTxDone
	// ErrClosed: the handle is closed. Don't retry.
	ErrClosed = errors.New("strictkv: database is closed")
	// ErrNoDatabase: Open with MustExist, or ReadOnly, of a database that does not exist. It
	// does not match ErrNotFound. Don't retry.
	ErrNoDatabase = store.ErrNoDatabase
	// ErrConflict: conflicts have undone as many attempts as MaxAttempts allows.
	// Retrying is safe.
	ErrConflict = txn.ErrConflict
	// ErrInDoubt: the transaction may have committed, or may not; see InDoubtError.
	// Read before you retry, unless the transaction is idempotent.
	ErrInDoubt = txn.ErrInDoubt
	// ErrTooLarge: a value, or the number of keys written; see SizeError. Don't retry.
	ErrTooLarge = txn.ErrTooLarge
	// ErrVersion: Tx.Require of a version that the key does not have; see VersionError. Don't
	// retry before the key has been read again.
	ErrVersion = txn.ErrVersion
	// ErrInvalidKey: a key or the name of a collection; see KeyError. Don't retry.
	ErrInvalidKey = keyspace.ErrInvalidKey
	// ErrInvalid: some other argument is not allowed: the name of a database, a nil
	// function, backend or collection, a collection of another handle. Don't retry.
	ErrInvalid = backend.ErrInvalid
	// ErrCorrupt: an object is damaged, or is not of this library; see CorruptError.
	// Don't retry.
	ErrCorrupt = backend.ErrCorrupt
	// ErrFormat: an object was written by a newer version of this library. Don't retry.
	ErrFormat = store.ErrFormat
	// ErrUnsupported: Open has found that the store does not honour the conditions of
	// writes, or does not list names in order; the text tells which. It would lose updates.
	// Nothing but Open returns it. Don't retry.
	ErrUnsupported = store.ErrUnsupported
	// ErrUnavailable: the store could not be reached, or refused to serve, or was asked for
	// more than it allows (backend.ErrThrottled matches then, too), for longer than retries
	// went on. Nothing was written. Retrying is safe.
	ErrUnavailable = backend.ErrUnavailable
)

// KeyError tells the length of a key or name, and the limit, in bytes. It matches
// ErrInvalidKey.
type KeyError struct {
	// Len and Limit are in bytes.
	Len, Limit int
	// What names the offender: the key, the collection's name, a bound of a range, or the
	// full name of the key's object.
	What string
}

// Error names the offender, its length and the limit.
func (e *KeyError) Error() string { return (*keyspace.KeyError)(e).Error() }

// Is makes the error match ErrInvalidKey.
func (e *KeyError) Is(target error) bool { return target == ErrInvalidKey }

// SizeError tells what is too large, its size, and the limit. It matches ErrTooLarge.
type SizeError struct {
	// What is too large: a value, the number of keys written, or of keys scanned.
	What string
	// Size and Limit are in bytes for a value, else a number.
	Size, Limit int
}

// Error tells the size and the limit.
func (e *SizeError) Error() string { return (*txn.SizeError)(e).Error() }

// Is makes the error match ErrTooLarge.
func (e *SizeError) Is(target error) bool { return target == ErrTooLarge }

// VersionError tells which version Tx.Require has found, and which it was to find; the zero
// Version is that of a key without a value. It matches ErrVersion.
type VersionError struct{ Want, Found Version }

// Error tells both versions.
func (e *VersionError) Error() string {
	return (&txn.VersionError{Want: e.Want.writer, Found: e.Found.writer}).Error()
}

// Is makes the error match ErrVersion.
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// CorruptError tells the object that is damaged: Object is its full name in the bucket, Err
// what is wrong with it. It matches ErrCorrupt. Adapters return it as well.
type CorruptError = backend.CorruptError

// outward turns an error of a transaction into the user's.
func (db *DB) outward(err error) error {
	if err != nil && errors.Is(err, ErrInDoubt) {
		return db.inDoubt(err)
	}
	return public(err)
}

// public turns an error of the engine that has a type of its own into that of this package.
func public(err error) error {
	if err == nil {
		return nil
	}
	return retyped(err)
}

// retyped is apart, as what it looks for takes memory.
func retyped(err error) error {
	var key *keyspace.KeyError
	var size *txn.SizeError
	var version *txn.VersionError
	switch {
	case errors.As(err, &version):
		return &VersionError{Want: Version{version.Want}, Found: Version{version.Found}}
	case errors.As(err, &key):
		return (*KeyError)(key)
	case errors.As(err, &size):
		return (*SizeError)(size)
	}
	return err
}

// InDoubtError tells of a transaction that may have committed. It matches ErrInDoubt,
// and what Err matches: context.Canceled, for example, if the context was cancelled
// while writes were on their way. The handle settles the attempt in the background, so
// that no key stays locked.
type InDoubtError struct {
	// Attempt is the attempt's id; zero for a transaction that left while others of the handle were
	// committing for it.
	Attempt string
	// Keys are those that the attempt writes.
	Keys []Key
	// Err is why the outcome could not be learned.
	Err error
}

// Error tells the attempt and the cause.
func (e *InDoubtError) Error() string {
	return fmt.Sprintf("commit attempt %s on %d keys: %v: %v",
		e.Attempt, len(e.Keys), ErrInDoubt, e.Err)
}

// Is makes the error match ErrInDoubt.
func (e *InDoubtError) Is(target error) bool { return target == ErrInDoubt }

// Unwrap returns Err.
func (e *InDoubtError) Unwrap() error { return e.Err }

// inDoubt turns the engine's error, which knows names of cells, into the user's.
func (db *DB) inDoubt(err error) error {
	var d *txn.InDoubtError
	if !errors.As(err, &d) {
		return err
	}
	out := &InDoubtError{Attempt: d.Attempt.String(), Err: d.Err}
	for _, name := range d.Names {
		if key := db.keyOf(name); key.Collection != nil {
			out.Keys = append(out.Keys, key)
		}
	}
	return out
}
