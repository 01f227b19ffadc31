package commit

import (
	"errors"
	"fmt"

	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// The errors of transactions. The root package documents them.
var (
	ErrExists   = errors.New("key exists")
	ErrReadOnly = store.ErrReadOnly
	ErrAborted  = errors.New("transaction aborted")
	ErrTxDone   = errors.New("transaction has ended")
	ErrConflict = errors.New("conflict")
	ErrInDoubt  = errors.New("outcome in doubt")
	ErrTooLarge = errors.New("too large")
)

// ConflictError is ErrConflict with the number of attempts made.
type ConflictError struct{ Attempts int }

// Error tells the number of attempts.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: gave up after %d attempts", ErrConflict, e.Attempts)
}

// Is makes the error match ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// SizeError is ErrTooLarge with the size and the limit.
type SizeError struct {
	// What is too large.
	What string
	// Size and Limit are in bytes for a value, else a number.
	Size, Limit int
}

// Error tells the size and the limit.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s %v: %d, limit %d", e.What, ErrTooLarge, e.Size, e.Limit)
}

// Is makes the error match ErrTooLarge.
func (e *SizeError) Is(target error) bool { return target == ErrTooLarge }

// doubtCause is a cause rendered as text, which matches only some errors.
type doubtCause struct {
	text string
	is   []error
}

// Error is the text.
func (e *doubtCause) Error() string { return e.text }

// Unwrap returns the errors that it matches.
func (e *doubtCause) Unwrap() []error { return e.is }

// InDoubtError is ErrInDoubt with the attempt (zero for who has left a group), the names of
// its cells, and the cause.
type InDoubtError struct {
	Attempt txid.ID
	Names   []string
	Err     error
}

// Error tells the attempt and the cause.
func (e *InDoubtError) Error() string {
	return fmt.Sprintf("attempt %v on %d keys: %v: %v", e.Attempt, len(e.Names), ErrInDoubt, e.Err)
}

// Is makes the error match ErrInDoubt.
func (e *InDoubtError) Is(target error) bool { return target == ErrInDoubt }

// Unwrap returns the cause.
func (e *InDoubtError) Unwrap() error { return e.Err }
