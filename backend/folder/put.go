package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/strictkv/strictkv/backend"
)

// publishTries bounds how often a writer makes a folder that others, emptying it, remove.
const publishTries = 20

// Put implements backend.Backend. It keeps no data. A failure after the write took
// effect, to make it durable, is ErrOutcomeUnknown.
func (b *Backend) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	at, err := b.put(ctx, name, data, c)
	return at, failure("put", name, err)
}

func (b *Backend) put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	if err := b.check(ctx, validName(name) && c.Valid()); err != nil {
		return backend.Stamp{}, err
	}
	if len(data) > backend.ObjectMax {
		return backend.Stamp{}, fmt.Errorf("%w: %d bytes, at most %d",
			backend.ErrInvalid, len(data), backend.ObjectMax)
	}
	dir, file, _ := place(name)
	w := write{b: b, name: name, data: data, dir: dir, path: join(dir, file), c: c}
	if b.fsync != nil { // A sync costs so much more than a look.
		if err := w.holds(); err != nil {
			return backend.Stamp{}, err
		}
	}
	if err := w.stage(); err != nil {
		return backend.Stamp{}, err
	}
	defer func() { b.discard(w.staged) }()
	if err := w.publish(ctx); err != nil {
		return backend.Stamp{}, err
	}
	if err := b.settle(w.staged.file, dir); err != nil {
		return backend.Stamp{}, fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, err)
	}
	return backend.Stamp{Version: w.staged.version(), Time: w.effect}, nil
}

// write is a Put under way.
type write struct {
	b      *Backend
	name   string
	data   []byte
	c      backend.Condition
	dir    string
	path   string
	staged *staged
	effect time.Time // or a moment later
	lost   bool      // the journal in which it was noted is not the one any more
}

func (w *write) stage() (err error) {
	w.staged, err = w.b.stage(w.data)
	return err
}

// holds returns ErrPrecondition unless the condition holds for the object.
func (w *write) holds() error {
	o, err := w.b.disk.openObject(w.path, w.name, false)
	absent := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !absent:
		return err
	case !absent:
		defer o.close()
		if o.damage != nil {
			return o.damage
		}
		if !w.c.Absent() && o.version() == w.c.Version() {
			return nil
		}
	case w.c.Absent():
		return nil
	}
	return backend.ErrPrecondition
}

var errVanished = errors.New("the folder or the temporary file was removed")

// publish puts the staged file into force, in a folder that it makes if need be.
func (w *write) publish(ctx context.Context) error {
	for range publishTries {
		err := w.b.locked(ctx, w.dir, func(h *held) error { return w.replace(ctx, h) })
		if err == nil && w.lost {
			return w.noteAgain(ctx)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		err = w.b.mkdirs(ctx, w.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("%d times: %w", publishTries, errVanished)
}

// replace puts the staged file into force if the condition holds. If this is held up in
// the very moment, so that the object looks older than it is, it is replaced once more: it
// counts as written now.
func (w *write) replace(ctx context.Context, h *held) error {
	absent := h.claim(ctx, w.dir)
	if absent != nil && !errors.Is(absent, fs.ErrNotExist) &&
		!errors.Is(absent, syscall.ENOTDIR) {
		return absent
	}
	if err := w.holds(); err != nil {
		return err
	}
	if absent != nil {
		return absent
	}
	if now := w.b.now(); w.staged.late(now) {
		if err := w.b.restamp(w.staged, now); err != nil {
			return err
		}
	}
	if err := w.rename(h); err != nil {
		return err
	}
	for range publishTries {
		w.effect = w.b.now()
		if !w.staged.late(w.effect) {
			return nil
		}
		w.b.discard(w.staged)
		err := w.stage()
		if err == nil {
			err = w.rename(h)
		}
		if err != nil {
			// The cause must not count: the write has taken effect.
			return fmt.Errorf("%w: replace what was held up: %s",
				backend.ErrOutcomeUnknown, err.Error())
		}
	}
	return fmt.Errorf("%w: held up %d times", backend.ErrOutcomeUnknown, publishTries)
}

func (w *write) rename(h *held) error {
	if err := h.note(w.path); err != nil {
		return err
	}
	if err := w.b.disk.rename(w.staged.path, w.path); err != nil {
		return unlessRefused(err)
	}
	w.staged.path = ""
	w.lost = w.lost || h.check() != nil
	return nil
}

// noteAgain notes what has taken effect for whoever has read the folder just before, and
// looks into the new journal only. If that is gone, too, they know that they must read anew.
func (w *write) noteAgain(ctx context.Context) error {
	err := w.b.locked(ctx, w.dir, func(h *held) error { return h.note(w.path) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errMoved) {
		return fmt.Errorf("%w: note it again: %w", backend.ErrOutcomeUnknown, err)
	}
	return nil
}

// mkdirs makes a folder and those above it, as far as they are missing.
func (b *Backend) mkdirs(ctx context.Context, dir string) error {
	if dir == root {
		return nil // Its lock is in it.
	}
	mkdir := func() error {
		return b.locked(ctx, parent(dir), func(h *held) error {
			if err := h.note(dir); err != nil {
				return err
			}
			return b.disk.mkdir(dir)
		})
	}
	err := mkdir()
	if errors.Is(err, fs.ErrNotExist) {
		if err := b.mkdirs(ctx, parent(dir)); err != nil {
			return err
		}
		err = mkdir()
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
