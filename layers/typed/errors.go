package typed

import (
	"errors"
	"fmt"
)

var (
	// ErrDecode: bytes in the database that the codec can't decode; see DecodeError. Don't retry.
	ErrDecode = errors.New("can't be decoded")
	// ErrEncode: a key or a value that its codec can't encode; see EncodeError. Nothing was
	// changed. Don't retry.
	ErrEncode = errors.New("can't be encoded")
	// ErrNotUnique: a value with a key of a unique index that another value has; see
	// UniqueError. It does not match strictkv.ErrExists. The transaction fails, also if the
	// function ignores it (with strictkv.ErrAborted then). Don't retry.
	ErrNotUnique = errors.New("not unique")
	// ErrIndex: an index that is not in step with its collection; see IndexError. Rebuild it.
	ErrIndex = errors.New("index is not in step")
)

// DecodeError tells what can't be decoded. It matches ErrDecode, and what Err matches. Another
// try finds the same bytes; the collection's own calls, without types, can still read, replace
// and delete them.
type DecodeError struct {
	// Key is that of the item in its collection, as stored.
	Key []byte
	// What can't be decoded: "key", "value", or "entry of index ...".
	What string
	// Codec is the codec's name.
	Codec string
	Err   error
}

// Error names the key, the codec and the cause.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("decode %s of %q by %s: %v", e.What, e.Key, e.Codec, e.Err)
}

// Is makes the error match ErrDecode.
func (e *DecodeError) Is(target error) bool { return target == ErrDecode }

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// EncodeError tells what can't be encoded. It matches ErrEncode, and what Err matches.
type EncodeError struct {
	// What can't be encoded: "key", "value", or "key of index ...".
	What string
	// Codec is the codec's name.
	Codec string
	Err   error
}

// Error names the codec and the cause.
func (e *EncodeError) Error() string {
	return fmt.Sprintf("encode %s by %s: %v", e.What, e.Codec, e.Err)
}

// Is makes the error match ErrEncode.
func (e *EncodeError) Is(target error) bool { return target == ErrEncode }

// Unwrap returns Err.
func (e *EncodeError) Unwrap() error { return e.Err }

// UniqueError tells which index key another value has. It matches ErrNotUnique.
type UniqueError struct {
	Index string
	// Entry is the index key, as a packed tuple, and Holder the key of the value that has it,
	// as stored.
	Entry, Holder []byte
}

// Error names the index, its key, and who has it.
func (e *UniqueError) Error() string {
	return fmt.Sprintf("index %q: key %q is that of the value of %q", e.Index, e.Entry, e.Holder)
}

// Is makes the error match ErrNotUnique.
func (e *UniqueError) Is(target error) bool { return target == ErrNotUnique }

// IndexError tells of an entry that no value explains: somebody has written the collection
// without the index, or with another function. It matches ErrIndex.
type IndexError struct {
	Index string
	// Entry is the entry's key in the index, a packed tuple, and Key that of the value, as
	// stored.
	Entry, Key []byte
}

// Error names the index and the entry.
func (e *IndexError) Error() string {
	return fmt.Sprintf("index %q: the value of %q does not have the entry %q: rebuild the index",
		e.Index, e.Key, e.Entry)
}

// Is makes the error match ErrIndex.
func (e *IndexError) Is(target error) bool { return target == ErrIndex }
