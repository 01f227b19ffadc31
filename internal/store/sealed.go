package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv/backend"
)

// Errors of handles that may not do what they are asked to.
var (
	// ErrReadOnly: nothing may be written, by this transaction or handle.
	ErrReadOnly = errors.New("read only: nothing may be written")
	// ErrNoDatabase: there is no database, and none may be created.
	ErrNoDatabase = errors.New("no such database")
)

// ReadOnly tells whether nothing may be written.
func (s *Store) ReadOnly() bool { return s.readOnly }

// sealed is a backend that sends no write or delete, whoever asks for it: what is not meant to
// be written in the first place is stopped here.
type sealed struct{ backend.Backend }

// Put does not write, and says so.
func (sealed) Put(
	_ context.Context, name string, _ []byte, _ backend.Condition,
) (backend.Stamp, error) {
	return backend.Stamp{}, refuse("put", name)
}

// Delete does not remove, and says so.
func (sealed) Delete(_ context.Context, name string, _ backend.Version) error {
	return refuse("delete", name)
}

// refuse is the error of a write that was not sent, and must not be tried again.
func refuse(call, name string) error {
	return fmt.Errorf("%s %q: %w: %w", call, name, ErrReadOnly, backend.ErrDenied)
}
