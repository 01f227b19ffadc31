package pebble

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// FileMin is the size of the smallest object that is a file of its own.
const FileMin = fileMin

// OpenIn opens a directory of another file system, which must be there.
func OpenIn(disk vfs.FS, dir string, options ...Option) (*Backend, error) {
	s := settings{cache: cacheDefault, disk: disk}
	for _, o := range options {
		o(&s)
	}
	return open(dir, s)
}

// SetClock makes now the store's clock.
func (b *Backend) SetClock(now func() time.Time) { b.now = now }

// SetValue makes a value of the engine an object's.
func (b *Backend) SetValue(name string, value []byte) error {
	return b.db.Set(objectKey(name), value, pebble.Sync)
}

// Flush writes what is in memory to tables.
func (b *Backend) Flush() error { return b.db.Flush() }
