//go:build unix && !aix && !solaris && !illumos

package table

import (
	"math"
	"os"
	"syscall"
)

// mapFile maps a file into memory, to be read only.
func mapFile(f *os.File, size int64) (*mappedSource, bool) {
	if size <= 0 || size > math.MaxInt {
		return nil, false
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, false
	}
	advise(data, 0, size, readRandomly)
	return &mappedSource{data, syscall.Munmap}, true
}
