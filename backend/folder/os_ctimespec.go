//go:build darwin || freebsd || netbsd

package folder

import (
	"io/fs"
	"syscall"
	"time"
)

// changed is the time of the last change of a file or folder, of which its name is a
// part, by the file system's clock. Unlike the time of modification nobody can set it.
// False: the system does not tell, and it is the time of modification.
func changed(info fs.FileInfo) (time.Time, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime(), false
	}
	return time.Unix(stat.Ctimespec.Unix()), true
}

// modified is the time of the last modification.
func modified(stat *syscall.Stat_t) time.Time { return time.Unix(stat.Mtimespec.Unix()) }
