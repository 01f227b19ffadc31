package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"

	"github.com/strictkv/strictkv/backend"
)

// readTries bounds how often an object is read anew whose file has just been replaced.
const readTries = 20

// Get implements backend.Backend.
func (b *Backend) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	o, err := b.get(ctx, name, known)
	o.Time = b.now()
	return o, failure("get", name, err)
}

func (b *Backend) get(
	ctx context.Context, name string, known backend.Version,
) (o backend.Object, err error) {
	if err := b.begin(ctx, validName(name)); err != nil {
		return backend.Object{}, err
	}
	defer b.end()
	if known != "" && b.unchanged(name, known) {
		return backend.Object{}, b.answered(ctx, name, backend.ErrNotModified)
	}
	for range readTries {
		o, err = b.readOnce(name, known)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = corrupt(name, fmt.Errorf("its file is missing: %s", err.Error()))
	}
	if err := b.flight.wait(ctx, name); err != nil {
		return backend.Object{}, err
	}
	return o, err
}

// unchanged reports whether the object is at a version that somebody knows. Unless it is being
// written, it notes the version for the next who asks.
func (b *Backend) unchanged(name string, known backend.Version) bool {
	hash := b.hash(name)
	if s, ok := b.recent.find(hash, name); ok {
		return s.version.is(known)
	}
	lock := &b.locks[hash%locks]
	if !lock.TryLock() {
		return false
	}
	defer lock.Unlock()
	s, err := b.state(hash, name)
	return err == nil && s.version.is(known) // What the error is the caller finds out.
}

// state returns what an object is at, and remembers it. The name is locked.
func (b *Backend) state(hash uint64, name string) (state, error) {
	if s, ok := b.recent.find(hash, name); ok {
		return s, nil
	}
	var r record
	held, err := b.load(name, &r)
	if err != nil {
		return state{}, err
	}
	if err := held.Close(); err != nil {
		return state{}, err
	}
	b.recent.keep(hash, name, r.state())
	return r.state(), nil
}

// readOnce returns an error that is fs.ErrNotExist if the object's file is gone: then the
// object was replaced, or the file is missing.
func (b *Backend) readOnce(name string, known backend.Version) (backend.Object, error) {
	var r record
	held, err := b.load(name, &r)
	if err != nil {
		return backend.Object{}, err
	}
	o := backend.Object{}
	switch {
	case r.version.is(known):
		err = backend.ErrNotModified
	case r.kind == kindInline:
		o = backend.Object{
			Data: bytes.Clone(r.data), Version: r.version.text(), Modified: r.modified,
		}
	}
	if closeErr := held.Close(); err == nil {
		err = closeErr
	}
	if err != nil || r.kind == kindInline {
		return o, err
	}
	o.Data, err = b.files.read(r.file)
	if errors.Is(err, fs.ErrNotExist) {
		return backend.Object{}, err
	}
	o.Version, o.Modified = r.version.text(), r.modified
	if errors.Is(err, errDamaged) {
		err = corrupt(name, err)
	}
	return o, err
}

// load reads the record of an object, whose data are good until what it returns is closed. An
// object that is absent is backend.ErrNotFound.
func (b *Backend) load(name string, r *record) (io.Closer, error) {
	value, held, err := b.db.Get(objectKey(name))
	if err != nil {
		return nil, engineError(name, err)
	}
	if err := r.parse(value); err != nil {
		_ = held.Close() // The record counts.
		return nil, corrupt(name, err)
	}
	return held, nil
}

// engineError is what an error of a read means.
func engineError(name string, err error) error {
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return backend.ErrNotFound
	case pebble.IsCorruptionError(err):
		return corrupt(name, err)
	}
	return err
}
