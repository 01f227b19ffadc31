package folder

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/strictkv/strictkv/internal/filelock"
)

const (
	shards = 256

	pollMin = 50 * time.Microsecond
	pollMax = 5 * time.Millisecond

	// lockTries bounds how often a lock is taken anew whose file was removed meanwhile.
	lockTries = 20
)

// held is the lock of one folder, of which several may share a lock. It excludes all
// other writers to the folder: in this Backend by a gate, and in other processes (and
// other Backends of this one) by the operating system's lock on a file, which ends
// with its process. A writer claims the folder, too.
type held struct {
	disk   disk
	path   string
	gate   chan struct{}
	file   *os.File
	size   int64    // of the file, which is a journal
	folder *os.File // that is claimed, or nil
}

// lock waits for the lock of a folder. A file is opened for each call, since a lock
// belongs to the open file. The gate lets only one goroutine at a time poll for it.
func (b *Backend) lock(ctx context.Context, dir string) (*held, error) {
	i := crc32.Checksum([]byte(dir), castagnoli) % shards
	h := &held{disk: b.disk, path: fmt.Sprintf("%s/%02x", lockDir, i), gate: b.gates[i]}
	select {
	case h.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	err := errMoved
	for tries := 0; errors.Is(err, errMoved) && tries < lockTries; tries++ {
		err = h.acquire(ctx)
	}
	if err != nil {
		<-h.gate
		return nil, err
	}
	return h, nil
}

func (h *held) acquire(ctx context.Context) (err error) {
	if h.file, err = h.disk.open(h.path, os.O_RDWR|os.O_CREATE|noFollow, ownFileMode); err != nil {
		return err
	}
	if err = h.disk.try("lock", h.path); err != nil {
		_ = h.file.Close()
		return err
	}
	if err = waitLock(ctx, h.file); err == nil {
		if err = h.check(); err == nil {
			return nil
		}
		filelock.Unlock(h.file)
	}
	_ = h.file.Close()
	return err
}

// waitLock locks a file.
func waitLock(ctx context.Context, f *os.File) error {
	for wait := pollMin; ; wait = min(2*wait, pollMax) {
		err := filelock.TryLock(f)
		if !errors.Is(err, filelock.ErrLocked) {
			return err
		}
		if err := pause(ctx, wait/2+rand.N(wait)); err != nil {
			return err
		}
	}
}

// claim locks the folder itself, if the system can, until the release. Of a lock's file,
// there may be two at once if somebody removes the store's own directory; what is in the
// folder would have to go with the folder. It returns fs.ErrNotExist if there is none, and
// errMoved if it has just been removed.
func (h *held) claim(ctx context.Context, dir string) error {
	if !foldersLock {
		return nil
	}
	f, err := h.disk.openDir(dir)
	if err != nil {
		return err
	}
	if err := waitLock(ctx, f); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EBADF) || errors.Is(err, syscall.EINVAL) ||
			errors.Is(err, errors.ErrUnsupported) {
			return nil // This file system locks files alone.
		}
		return err
	}
	h.folder = f // the release unlocks it
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	now, err := h.disk.stat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(mine, now) {
		return errMoved
	}
	return err
}

// check returns errMoved unless the locked file is still the one at its path. If it was
// removed, others lock another.
func (h *held) check() error {
	mine, err := h.file.Stat()
	if err != nil {
		return err
	}
	h.size = mine.Size()
	now, err := h.disk.lstat(h.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(mine, now) {
		return errMoved
	}
	return err
}

// release gives the lock back, explicitly: a child process that is being started may
// hold a copy of the file for a moment after the Close.
func (h *held) release() {
	if h.folder != nil {
		filelock.Unlock(h.folder)
		_ = h.folder.Close()
	}
	filelock.Unlock(h.file)
	_ = h.file.Close()
	<-h.gate
}

// errMoved says that what was locked was removed, or replaced.
var errMoved = errors.New("what was locked was removed")

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
