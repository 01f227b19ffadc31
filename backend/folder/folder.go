// Package folder is a backend in a directory of a local disk, which any number of
// processes may share.
//
// Conditional writes and deletes are atomic across processes. A write is on the disk
// when it is acknowledged (NoSync waives this), and when its object can be read. A
// process that dies at any moment, and a power cut, leave each object as it was before
// the write or after it, and no lock held. Every object has a checksum; a file that is
// damaged, foreign, of a newer format, or no regular file is a backend.CorruptError to each
// Get and Put of it, and is listed as damaged. Files whose names are none of this package
// are ignored.
//
// A Get takes no locks. A List excludes a directory's writers while it reads the first
// thousand entries, not for the rest.
//
// The store's clock is the machine's wall clock. Each object says itself when it was
// written, so that copies of a store are as old as the store.
//
// The file system must be local, or at least have atomic renames and flock, and the
// processes be of one user. Deletes alone can be seen a moment before they are durable.
// Files that are put into the store by hand may be missing in listings for 10 s.
package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/strictkv/strictkv/backend"
)

// Backend is a directory of objects. Make one with New. It keeps no files open and no
// goroutines, and needs no closing; of listings that did not come to their end, it keeps the
// names of up to 4 large directories.
//
// A call whose context ends before it has had any effect is ErrUnavailable, and
// matches the context's error too.
type Backend struct {
	disk  disk
	fsync func(*os.File) error // nil: no sync
	now   func() time.Time     // by the wall clock alone
	gates [shards]chan struct{}
	// readers let one listing at a time read a folder: those that wait use what it has read.
	readers [shards]chan struct{}
	// recent spares the pages of a listing to read a large folder each.
	recent *recent

	mu    sync.Mutex // guards ready
	ready bool       // the store's own directories were there once
}

var _ backend.Backend = (*Backend)(nil)

// Option changes what New makes.
type Option func(*Backend)

// NoSync makes writes return before the disk has them: much faster, and safe against
// the death of processes, but after a power cut or a crash of the operating system
// recent writes may be lost, and their objects be ErrCorrupt.
func NoSync() Option { return func(b *Backend) { b.fsync = nil } }

// New returns the backend in the directory, which the first write makes if it does
// not exist; until then the store is empty. It never fails: a directory that is a
// file is an ErrBucketNotFound of each call. Names are 1 to 1024 bytes, any bytes.
func New(dir string, options ...Option) *Backend {
	b := &Backend{
		disk: disk{dir: dir}, fsync: (*os.File).Sync, recent: newRecent(),
		// The monotonic clock of this process is no other's, and stands still in sleep.
		now: func() time.Time { return time.Now().Round(0) },
	}
	if abs, err := filepath.Abs(dir); err == nil && dir != "" {
		b.disk.dir = abs // A later Chdir moves no store.
	}
	for i := range b.gates {
		b.gates[i], b.readers[i] = make(chan struct{}, 1), make(chan struct{}, 1)
	}
	for _, o := range options {
		o(b)
	}
	return b
}

// Get implements backend.Backend. If the object is still at known, its header is all
// that is read.
func (b *Backend) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	o, err := b.get(ctx, name, known)
	if errors.Is(err, fs.ErrNotExist) {
		err = backend.ErrNotFound
	}
	o.Time = b.now()
	return o, failure("get", name, err)
}

func (b *Backend) get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	if err := b.check(ctx, validName(name)); err != nil {
		return backend.Object{}, err
	}
	dir, file, _ := place(name)
	o, err := b.openSettled(dir, file, name, known == "")
	if err != nil {
		return backend.Object{}, err
	}
	defer o.close()
	if o.damage == nil && o.version() == known {
		return backend.Object{}, backend.ErrNotModified
	}
	return o.bytes()
}

// openSettled opens an object in a state that no power cut takes back.
func (b *Backend) openSettled(dir, file, name string, ahead bool) (*object, error) {
	o, err := b.disk.openObject(join(dir, file), name, ahead)
	if err != nil {
		return nil, err
	}
	if o.damage == nil && o.info.Mode()&unsettledFile != 0 {
		if err := b.settle(o.file, dir); err != nil {
			o.close()
			return nil, err
		}
	}
	return o, nil
}

// Delete implements backend.Backend. A failure after it took effect, to make it
// durable, is ErrOutcomeUnknown. It needs no space on the disk, unless the store's own
// directory is missing.
func (b *Backend) Delete(ctx context.Context, name string, v backend.Version) error {
	return failure("delete", name, b.delete(ctx, name, v))
}

func (b *Backend) delete(ctx context.Context, name string, v backend.Version) error {
	if err := b.check(ctx, validName(name) && v != ""); err != nil {
		return err
	}
	dir, file, _ := place(name)
	path := join(dir, file)
	if err := b.isAt(path, name, v); err != nil {
		return err
	}
	left := dir
	err := b.locked(ctx, dir, func(h *held) error {
		if err := h.claim(ctx, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := b.isAt(path, name, v); err != nil {
			return err
		}
		if err := b.disk.remove(path); err != nil {
			return unlessRefused(err)
		}
		left = b.disk.prune(dir)
		return nil
	})
	if err != nil || b.fsync == nil {
		return err
	}
	if err := b.syncFolder(left); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, err)
	}
	return nil
}

// isAt returns ErrPrecondition unless the object is at the version, which may be that of a
// damaged state.
func (b *Backend) isAt(path, name string, v backend.Version) error {
	o, err := b.disk.openObject(path, name, false)
	if errors.Is(err, fs.ErrNotExist) {
		return backend.ErrPrecondition
	}
	if err != nil {
		return err
	}
	defer o.close()
	switch {
	case o.version() == v:
		return nil
	case o.damage != nil:
		return o.damage
	}
	return backend.ErrPrecondition
}

// locked calls f while no other writer is in the folder. If that is removed before f has
// had any effect, which f says by errMoved, it is called again.
func (b *Backend) locked(ctx context.Context, dir string, f func(h *held) error) error {
	err := errMoved
	for tries := 0; errors.Is(err, errMoved) && tries < lockTries; tries++ {
		var h *held
		err = b.again(func() (err error) {
			h, err = b.lock(ctx, dir)
			return err
		})
		if err != nil {
			return err
		}
		err = f(h)
		h.release()
	}
	return err
}

// check returns the context's error, or ErrInvalid unless the call is valid.
func (b *Backend) check(ctx context.Context, valid bool) error {
	if !valid || b.disk.dir == "" {
		return backend.ErrInvalid
	}
	return ctx.Err()
}

func validName(name string) bool { return name != "" && len(name) <= nameMax }

// refusals are what a file system says when it has changed nothing.
var refusals = []error{
	fs.ErrNotExist, fs.ErrPermission, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT,
	syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG,
}

// unlessRefused makes the error of a rename or removal an unknown outcome, unless it
// is known that nothing was changed.
func unlessRefused(err error) error {
	for _, r := range refusals {
		if errors.Is(err, r) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, err)
}

// verdicts are what the file system's errors mean to a caller. All others are
// ErrUnavailable: what has changed something is an ErrOutcomeUnknown already.
var verdicts = []struct{ cause, verdict error }{
	{fs.ErrPermission, backend.ErrDenied},
	{syscall.EROFS, backend.ErrDenied},
	{syscall.ENOTDIR, backend.ErrBucketNotFound},
	{syscall.ENAMETOOLONG, backend.ErrInvalid},
	{errors.ErrUnsupported, backend.ErrInvalid},
}

var final = []error{
	backend.ErrNotFound, backend.ErrNotModified, backend.ErrPrecondition,
	backend.ErrOutcomeUnknown, backend.ErrCorrupt, backend.ErrInvalid,
}

// failure says which call failed, and makes the error match one of package backend's.
func failure(call, name string, err error) error {
	if err == nil {
		return nil
	}
	for _, f := range final {
		if errors.Is(err, f) {
			return fmt.Errorf("folder %s %q: %w", call, name, err)
		}
	}
	verdict := backend.ErrUnavailable
	for _, v := range verdicts {
		if errors.Is(err, v.cause) {
			verdict = v.verdict
			break
		}
	}
	return fmt.Errorf("folder %s %q: %w: %w", call, name, verdict, err)
}

// Capabilities implements backend.Backend: there is no network, and most often what is read is in
// the system's memory.
func (*Backend) Capabilities() backend.Capabilities {
	return backend.Capabilities{ConditionalDelete: true, SendsOnce: true, Near: true}
}
