package table

import (
	"os"
	"syscall"
)

// What is told of memory: it is read here and there, or all of it will be.
const (
	readRandomly = syscall.MADV_RANDOM
	readSoon     = syscall.MADV_WILLNEED
)

// advise tells the system how a part of a mapped file will be read, so that a Find reads the pages
// that it needs alone, and a Cursor many at once. What comes of it is no matter.
func advise(mapped []byte, from, to int64, how int) {
	from -= from % int64(os.Getpagesize())
	_ = syscall.Madvise(mapped[from:to], how)
}
