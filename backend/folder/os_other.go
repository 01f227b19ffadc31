//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package folder

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

const (
	pathMax     = 1000
	foldersSync = false
)

// tryLock fails: without locks between processes there is no conditional write.
func tryLock(*os.File) error {
	return fmt.Errorf("lock a file on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func unlock(*os.File) {}
