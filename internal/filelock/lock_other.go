//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package filelock

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// TryLock fails: there are no locks between processes.
func TryLock(*os.File) error {
	return fmt.Errorf("lock a file on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Unlock ends the lock.
func Unlock(*os.File) {}
