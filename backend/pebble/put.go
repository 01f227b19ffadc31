package pebble

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

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

// change is what is to become of one object.
type change struct {
	name   string
	hash   uint64
	record *record  // nil removes it
	old    *content // the file that goes; nil if it has none
}

// effect puts changes into force, for others to see, at one instant, and tells one after it. If it
// is held up in the very moment, so that an object looks older than it is, they are written once
// more. The names are locked.
func (b *Backend) effect(all []change) (*write, time.Time, error) {
	for {
		at := b.now()
		w := &write{b: b, all: all, batch: b.db.NewBatch()}
		for i := range all {
			if r := all[i].record; r != nil {
				r.version, r.modified = b.next(), at
			}
			w.fill(&all[i])
		}
		w.apply()
		ended := b.now()
		if removes(all) || ended.Sub(at).Abs() <= stampMax {
			return w, ended, nil
		}
		if err := w.wait(); err != nil {
			return nil, ended, err
		}
	}
}

// removes reports whether no object is there afterwards that could look old.
func removes(all []change) bool { return len(all) == 1 && all[0].record == nil }

// write is a batch for the engine on its way to the disk.
type write struct {
	b      *Backend
	all    []change
	batch  *pebble.Batch
	flight *flight // nil: nobody waits for the disk
	err    error   // of apply
}

// fill notes what is to become of an object, and of files.
func (w *write) fill(c *change) {
	if c.old != nil {
		_ = w.batch.Delete(fileKey(c.old.id), nil)
	}
	r := c.record
	if r == nil {
		_ = w.batch.Delete(objectKey(c.name), nil)
		return
	}
	op := w.batch.SetDeferred(1+len(c.name), r.length())
	op.Key[0] = keyObject
	copy(op.Key[1:], c.name)
	r.put(op.Value)
	_ = op.Finish() // Batches in memory do not fail.
	if r.kind == kindFile {
		_ = w.batch.Set(fileKey(r.file.id), nil, nil)
	}
}

// names are those of what is written.
func (w *write) names(room []string) []string {
	for i := range w.all {
		room = append(room, w.all[i].name)
	}
	return room
}

// apply lets the write take effect. Who has called it must call wait.
func (w *write) apply() {
	if w.b.files.sync {
		var room [2]string
		w.flight = w.b.flight.start(w.names(room[:0])...)
		w.err = w.b.db.ApplyNoSyncWait(w.batch, pebble.Sync)
		return
	}
	w.err = w.b.db.Apply(w.batch, pebble.NoSync)
}

// wait waits until the disk has the write, if it is to.
func (w *write) wait() error {
	err := w.err
	if w.flight != nil {
		if err == nil {
			err = w.batch.SyncWait()
		}
		var room [2]string
		w.b.flight.land(w.flight, err, w.names(room[:0])...)
	}
	if err != nil {
		w.b.broken.CompareAndSwap(nil, &err)
		return err // The engine may have the batch still.
	}
	return w.batch.Close()
}
