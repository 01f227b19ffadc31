package txn

import (
	"errors"
	"fmt"

	"github.com/strictkv/strictkv/internal/commit"
	"github.com/strictkv/strictkv/internal/store"
)

// The errors of transactions. The root package documents them.
var (
	ErrExists   = errors.New("key exists")
	ErrReadOnly = store.ErrReadOnly
	ErrAborted  = errors.New("transaction aborted")
	ErrTxDone   = errors.New("transaction has ended")
	ErrConflict = errors.New("conflict")
	ErrInDoubt  = commit.ErrInDoubt
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

// InDoubtError is ErrInDoubt with the attempt, the names of its cells, and the cause.
type InDoubtError = commit.InDoubtError
