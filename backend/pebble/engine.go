package pebble

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// cacheDefault is how many bytes of blocks are kept in memory.
	cacheDefault = 64 << 20

	// bufferDefault is the size of a table in memory, in bytes, and about that of a log. There
	// are up to tablesInMemory of them, and as many old logs and one more, to be used again: what
	// they take on the disk is not the data's share, and what a crash leaves in them is read
	// when the store is opened. At bufferMax arenas of Pebble are far from their limit.
	bufferDefault  = 4 << 20
	bufferMin      = 1 << 20
	bufferMax      = 1 << 30
	tablesInMemory = 2

	// separateMin is the size of the smallest value that tables refer to, in bytes, so that a
	// compaction does not write it once more.
	separateMin = 4 << 10

	// rewriteAge is how old a file of such values is before what is left in it is written once
	// more, so that the file can go. Where the same objects are written again and again, nothing
	// is left by then; elsewhere the directory may have the garbage of that time, too.
	rewriteAge = time.Minute

	// tableMin and tableMax are the sizes of tables in the first level and in the last, in bytes,
	// with the values that they refer to: of these alone a small table would have a few only, and
	// each is a file to be made and synced.
	tableMin = 16 << 20
	tableMax = 128 << 20

	// bitsPerKey is what a filter takes in memory for each key, so that nearly no absent one
	// is looked for in a table.
	bitsPerKey = 10
)

// openEngine opens Pebble's database in a directory that is locked.
func (b *Backend) openEngine(dir string, s settings) (*pebble.DB, error) {
	cache := pebble.NewCache(s.cache)
	defer cache.Unref() // the database keeps it
	o := &pebble.Options{
		FS:   chunkedFS{vfs.OnDiskFull(s.disk, b.ballast.drop)},
		Lock: b.lock, Logger: logger{}, Cache: cache,
		MemTableSize: uint64(s.buffer), MemTableStopWritesThreshold: tablesInMemory,
		// What a newer version of Pebble may do with the directory is decided here.
		FormatMajorVersion: pebble.FormatValueSeparation,
		// Without this, damage ends the process. Whoever reads the damaged part is told.
		EventListener: &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(bitsPerKey)
		o.TargetFileSizes[i] = min(int64(tableMin)<<i, tableMax)
	}
	o.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
		return pebble.ValueSeparationPolicy{
			Enabled: true, MinimumSize: separateMin, MaxBlobReferenceDepth: 10,
			TargetGarbageRatio: 0.3, RewriteMinimumAge: rewriteAge,
		}
	}
	return pebble.Open(dir, o)
}

// lockDirectory keeps out other processes, and other Backends of this one.
func lockDirectory(dir string, disk vfs.FS) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, disk)
	if path := (*fs.PathError)(nil); err != nil && !errors.As(err, &path) {
		return nil, fmt.Errorf("%w: %w", ErrInUse, err) // The file is there, the lock is not.
	}
	return lock, err
}

// logger takes what Pebble says: it tries again what it does in the background.
type logger struct{}

func (logger) Infof(string, ...any) {}

func (logger) Errorf(string, ...any) {}

// Fatalf ends the process, as Pebble can't go on, and holds locks.
func (logger) Fatalf(format string, args ...any) { panic(fmt.Errorf(format, args...)) }
