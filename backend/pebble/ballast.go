package pebble

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/strictkv/strictkv/backend"
)

const (
	ballastFile = "ballast"

	// ballastSize is more than it takes to write what is in memory to tables, in bytes.
	ballastSize = 8 << 20
)

// ballast is a file that is removed when the disk is full: the engine can't go on without its
// log and its tables. Until the file is there again no object is written.
type ballast struct {
	disk vfs.FS
	path string
	gone atomic.Bool
	mu   sync.Mutex // held by who makes the file
}

var errFull = fmt.Errorf("%w: the disk is full", backend.ErrUnavailable)

// drop removes the file.
func (b *ballast) drop() {
	b.gone.Store(true)
	_ = b.disk.Remove(b.path) // If that fails, there is no room.
}

// room returns errFull if the file is gone and can't be made.
func (b *ballast) room() error {
	if !b.gone.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.gone.Load() {
		return nil
	}
	if err := b.make(); err != nil {
		_ = b.disk.Remove(b.path) // It is made anew.
		return fmt.Errorf("%w: %w", errFull, err)
	}
	b.gone.Store(false)
	return nil
}

// make makes the file, if it is not there.
func (b *ballast) make() error {
	if info, err := b.disk.Stat(b.path); err == nil && info.Size() == ballastSize {
		return nil
	}
	file, err := b.disk.Create(b.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, ballastSize))
	return errors.Join(err, file.Close())
}
