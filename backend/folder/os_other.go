//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package folder

import (
	"io/fs"
	"os"
	"time"
)

const (
	pathMax     = 1000
	foldersSync = false
	foldersLock = false

	mkdirTakesBits = false

	// No flags are needed: a file is looked at before it is opened.
	noWait, noFollow = 0, 0
)

// changed is the time of the last modification, which a new name does not move: false.
func changed(info fs.FileInfo) (time.Time, bool) { return info.ModTime(), false }

// fileID is 0: files are told apart by their times and sizes alone.
func fileID(fs.FileInfo) uint64 { return 0 }

// openPlain is not called: there is no noFollow.
func openPlain(path string) (file, error) { return os.Open(path) }
