package backend

import (
	"errors"
	"fmt"
)

// The errors that adapters return, wrapped with the call and the object's name.
// "Not applied" below means that the call had no effect and never will.
var (
	// ErrNotFound: Get of an object that does not exist. Final.
	ErrNotFound = errors.New("not found")
	// ErrNotModified: Get of an object that is still at the known version.
	ErrNotModified = errors.New("not modified")
	// ErrPrecondition: the condition of a Put or Delete did not hold. This copy
	// of the request was not applied; another copy of it may have been.
	ErrPrecondition = errors.New("precondition failed")
	// ErrBucketNotFound: the bucket, container or folder does not exist. Not
	// applied; never matches ErrNotFound. Final.
	ErrBucketNotFound = errors.New("bucket not found")
	// ErrDenied: missing or insufficient credentials. Not applied. Final.
	ErrDenied = errors.New("access denied")
	// ErrThrottled: the store refused the call for its rate. Not applied; try
	// later.
	ErrThrottled = errors.New("throttled")
	// ErrUnavailable: the store could not be reached, or refused to serve. Not
	// applied; try later.
	ErrUnavailable = errors.New("store unavailable")
	// ErrOutcomeUnknown: a write that may have been applied, may still be
	// applied, or never will be.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrCorrupt: the object's bytes are damaged. A write of it was not applied. See
	// CorruptError. Final.
	ErrCorrupt = errors.New("corrupt object")
	// ErrInvalid: the call itself is malformed (an empty name, an invalid
	// Condition). Not applied. Final.
	ErrInvalid = errors.New("invalid call")
)

// CorruptError reports an object whose bytes are damaged or foreign. It matches
// ErrCorrupt.
type CorruptError struct {
	// Object is the full name of the object.
	Object string
	// Err says what is wrong with it.
	Err error
}

// Error names the object and what is wrong with it.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v %q: %v", ErrCorrupt, e.Object, e.Err)
}

// Is makes the error match ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns Err.
func (e *CorruptError) Unwrap() error { return e.Err }
