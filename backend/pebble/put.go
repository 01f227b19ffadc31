package pebble

import (
	"context"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv/backend"
)

// fileMin is the size of the smallest object that is a file of its own, in bytes. It is written
// once, while others are written to the log and to a table; but it takes a sync of its own.
const fileMin = 256 << 10

// Put implements backend.Backend. It keeps no data.
func (b *Backend) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	at, err := b.put(ctx, name, data, c)
	return at, failure("put", name, err)
}

func (b *Backend) put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	if err := b.begin(ctx, validName(name) && c.Valid()); err != nil {
		return backend.Stamp{}, err
	}
	defer b.end()
	if len(data) > backend.ObjectMax {
		return backend.Stamp{}, fmt.Errorf("%w: %d bytes, at most %d",
			backend.ErrInvalid, len(data), backend.ObjectMax)
	}
	if err := b.ballast.room(); err != nil {
		return backend.Stamp{}, err
	}
	r := record{kind: kindInline, data: data}
	if len(data) >= fileMin {
		// So much is not written in vain, unless others write at the same time.
		err := b.allows(name, c)
		if err != nil {
			return backend.Stamp{}, b.answered(ctx, name, err)
		}
		r = record{kind: kindFile}
		if r.file, err = b.files.write(b.next(), data); err != nil {
			return backend.Stamp{}, err
		}
	}
	at, err := b.replace(ctx, name, &r, c)
	if r.kind == kindFile && err != nil && !errors.Is(err, backend.ErrOutcomeUnknown) {
		b.files.remove(r.file.id)
	}
	return at, err
}

// Delete implements backend.Backend.
func (b *Backend) Delete(ctx context.Context, name string, v backend.Version) error {
	return failure("delete", name, b.delete(ctx, name, v))
}

func (b *Backend) delete(ctx context.Context, name string, v backend.Version) error {
	if err := b.begin(ctx, validName(name) && v != ""); err != nil {
		return err
	}
	defer b.end()
	_, err := b.replace(ctx, name, nil, backend.IfVersion(v))
	return err
}

// replace makes r the record of an object, or removes that if r is nil, if the condition
// holds. It returns when the disk has it.
func (b *Backend) replace(
	ctx context.Context, name string, r *record, c backend.Condition,
) (at backend.Stamp, err error) {
	hash := b.hash(name)
	lock := &b.locks[hash%locks]
	lock.Lock()
	old, err := b.holds(hash, name, c)
	if err != nil {
		lock.Unlock()
		return at, b.answered(ctx, name, err)
	}
	b.recent.forget(hash, name)
	one := [1]change{{name: name, hash: hash, record: r, old: old}}
	w, ended, err := b.effect(one[:])
	at.Time = ended
	if err == nil && r != nil {
		at.Version = r.version.text()
		b.recent.keep(hash, name, r.state())
	}
	lock.Unlock()
	if err == nil {
		err = w.wait()
	}
	if err != nil {
		return backend.Stamp{}, fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, err)
	}
	if old != nil {
		b.discard(old.id)
	}
	return at, nil
}

// answered waits until the state is durable that an answer is about.
func (b *Backend) answered(ctx context.Context, name string, answer error) error {
	if err := b.flight.wait(ctx, name); err != nil {
		return err
	}
	return answer
}

// allows returns ErrPrecondition unless the condition holds at this moment.
func (b *Backend) allows(name string, c backend.Condition) error {
	hash := b.hash(name)
	lock := &b.locks[hash%locks]
	lock.Lock()
	defer lock.Unlock()
	_, err := b.holds(hash, name, c)
	return err
}

// holds returns the file of the object, nil if it has none; and ErrPrecondition unless the
// condition holds. The name is locked.
func (b *Backend) holds(hash uint64, name string, c backend.Condition) (*content, error) {
	s, err := b.state(hash, name)
	switch {
	case errors.Is(err, backend.ErrNotFound) && c.Absent():
		return nil, nil
	case errors.Is(err, backend.ErrNotFound):
		return nil, backend.ErrPrecondition
	case err != nil:
		return nil, err
	case c.Absent() || !s.version.is(c.Version()):
		return nil, backend.ErrPrecondition
	}
	return s.file, nil
}
