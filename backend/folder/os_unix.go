//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package folder

import (
	"io/fs"
	"runtime"
	"syscall"
)

const (
	// pathMax is the longest path given to the operating system, in bytes. The
	// smallest limit is macOS's, 1024.
	pathMax = 1000

	foldersSync = true
	foldersLock = true

	// mkdirTakesBits says that a folder can be made with a sticky bit in one step.
	mkdirTakesBits = runtime.GOOS == "linux"

	noWait   = syscall.O_NONBLOCK
	noFollow = syscall.O_NOFOLLOW
)

// fileID tells a file from others of its file system.
func fileID(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}
