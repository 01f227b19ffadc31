package pebble

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/strictkv/strictkv/backend"
)

var (
	errClosed = fmt.Errorf("%w: the backend is closed", backend.ErrUnavailable)

	// errBroken says that the log can't be written. What is in memory may not be on the disk.
	errBroken = fmt.Errorf("%w: a write has failed, close the backend and open it anew",
		backend.ErrUnavailable)
)

// callError says which call failed. It formats itself only when asked: "not modified" and
// "precondition failed" are everyday answers, which must stay cheap.
type callError struct {
	call, name string
	err        error
}

func (e *callError) Error() string { return fmt.Sprintf("pebble %s %q: %v", e.call, e.name, e.err) }

func (e *callError) Unwrap() error { return e.err }

// final are the errors that say themselves what they mean.
var final = []error{
	backend.ErrNotFound, backend.ErrNotModified, backend.ErrPrecondition,
	backend.ErrOutcomeUnknown, backend.ErrCorrupt, backend.ErrInvalid, backend.ErrUnavailable,
}

// verdicts are what errors of the engine and of the file system mean to a caller.
var verdicts = []struct{ cause, verdict error }{
	{ErrInUse, backend.ErrUnavailable},
	{fs.ErrPermission, backend.ErrDenied},
	{syscall.EROFS, backend.ErrDenied},
	{syscall.ENOTDIR, backend.ErrBucketNotFound},
	{fs.ErrExist, backend.ErrBucketNotFound},
}

// verdict makes err match one of package backend's errors: otherwise, if nothing is known.
func verdict(err, otherwise error) error {
	for _, f := range final {
		if errors.Is(err, f) {
			return err
		}
	}
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("%w: %w", backend.ErrCorrupt, err)
	}
	for _, v := range verdicts {
		if errors.Is(err, v.cause) {
			return fmt.Errorf("%w: %w", v.verdict, err)
		}
	}
	return fmt.Errorf("%w: %w", otherwise, err)
}

// failure says which call failed, and makes the error match one of package backend's.
func failure(call, name string, err error) error {
	if err == nil {
		return nil
	}
	return &callError{call, name, verdict(err, backend.ErrUnavailable)}
}

func corrupt(name string, err error) error {
	return &backend.CorruptError{Object: name, Err: err}
}

// unreadable makes an error of opening the engine backend.ErrCorrupt, unless the file system
// has refused something.
func unreadable(err error) error {
	var (
		path  *fs.PathError
		errno syscall.Errno
	)
	if errors.As(err, &path) || errors.As(err, &errno) {
		return err
	}
	return fmt.Errorf("%w: %w", backend.ErrCorrupt, err)
}
