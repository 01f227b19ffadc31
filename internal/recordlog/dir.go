package recordlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/strictkv/strictkv/internal/filelock"
)

// ErrInUse: another process, or another log of this one, has the directory open.
var ErrInUse = errors.New("in use by another process, or opened twice by this one")

// File is a segment's file. It is safe for concurrent use.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Truncate cuts it to that length in bytes.
	Truncate(size int64) error
	// Sync returns when what was written is on the disk.
	Sync() error
}

// Dir is where a log has its files, which nobody else uses until it is closed.
type Dir interface {
	// Names lists the files, in any order.
	Names() ([]string, error)
	// Open opens a file, and makes it if there is none. Its length is in bytes.
	Open(name string) (f File, size int64, err error)
	// Remove removes a file, which need not be closed, nor be there.
	Remove(name string) error
	// Close lets others use it.
	Close() error
}

const (
	lockName = "lock"
	dirMode  = 0o700 // the log has values in clear
	fileMode = 0o600
)

// directory is a Dir of the operating system.
type directory struct {
	root *os.Root
	lock *os.File
}

// OpenDir returns the directory with that path, and makes it if there is none. The error matches
// ErrInUse if somebody has it open.
func OpenDir(path string) (Dir, error) {
	if err := os.MkdirAll(path, dirMode); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	lock, err := root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, fileMode)
	if err == nil {
		if err = filelock.TryLock(lock); err == nil {
			return &directory{root, lock}, nil
		}
		_ = lock.Close()
	}
	_ = root.Close()
	if errors.Is(err, filelock.ErrLocked) {
		return nil, fmt.Errorf("directory %q: %w", path, ErrInUse)
	}
	return nil, err
}

func (d *directory) Names() ([]string, error) {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (d *directory) Open(name string) (File, int64, error) {
	f, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func (d *directory) Remove(name string) error {
	if err := d.root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil // somebody was faster
}

func (d *directory) Close() error {
	return errors.Join(d.lock.Close(), d.root.Close())
}
