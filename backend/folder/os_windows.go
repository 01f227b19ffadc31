package folder

import (
	"io/fs"
	"os"
	"syscall"
	"time"
	"unsafe"
)

const (
	// pathMax sends every call through an os.Root, whose opens and renames allow
	// that a file is replaced or removed while others have it open.
	pathMax = 0

	// Windows syncs and locks no directories. A file that is open can't be made anew.
	foldersSync = false
	foldersLock = false

	mkdirTakesBits = false

	// No flags are needed: a file is looked at before it is opened.
	noWait, noFollow = 0, 0
)

var (
	kernel32     = syscall.NewLazyDLL("kernel32.dll")
	lockFileEx   = kernel32.NewProc("LockFileEx")
	unlockFileEx = kernel32.NewProc("UnlockFileEx")
)

const (
	lockFailImmediately = 1
	lockExclusive       = 2

	errLockViolation = syscall.Errno(33)
)

// tryLock locks the first byte of f exclusively, or returns errLocked.
func tryLock(f *os.File) error {
	var at syscall.Overlapped
	ok, _, err := lockFileEx.Call(f.Fd(), lockFailImmediately|lockExclusive, 0, 1, 0,
		uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return nil
	case err == errLockViolation, err == syscall.ERROR_IO_PENDING:
		return errLocked
	}
	return &os.PathError{Op: "LockFileEx", Path: f.Name(), Err: err}
}

func unlock(f *os.File) {
	var at syscall.Overlapped
	_, _, _ = unlockFileEx.Call(f.Fd(), 0, 1, 0, uintptr(unsafe.Pointer(&at)))
}

// changed is the time of the last modification, which a new name does not move: false.
func changed(info fs.FileInfo) (time.Time, bool) { return info.ModTime(), false }

// fileID is 0: files are told apart by their times and sizes alone.
func fileID(fs.FileInfo) uint64 { return 0 }
