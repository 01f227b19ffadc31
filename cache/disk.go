package cache

import (
	"fmt"
	"log/slog"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/recordlog"
	"github.com/strictkv/strictkv/internal/seam"
)

// DiskSizeMin and DiskSizeMax are the smallest and the largest size of a cache's disk, in bytes.
const (
	DiskSizeMin = recordlog.SizeMin
	DiskSizeMax = recordlog.SizeMax
)

// ErrInUse: another process has the directory open, or this one has opened it twice. Handles of
// one process share one Cache. Don't retry before it is closed.
var ErrInUse = recordlog.ErrInUse

type settings struct {
	memory int64
	log    recordlog.Options
}

// Option configures a cache with a disk.
type Option func(*settings)

// Memory sets the size of what is kept in memory, in bytes as for New; the default is DefaultSize.
func Memory(size int64) Option { return func(s *settings) { s.memory = size } }

// Synced makes what is written be synced to the disk: more of it is there after the machine has
// lost power. Without it some may be missing, or found to be damaged, and is then read from the
// bucket.
func Synced() Option { return func(s *settings) { s.log.Sync = true } }

// WithLogger sets who is warned, at level Warn, of damage in the directory, and of a disk that
// can't be written. The default discards all.
func WithLogger(l *slog.Logger) Option { return func(s *settings) { s.log.Logger = l } }

// Open returns a cache that keeps cells and external values on disk as well, for the next start:
// in files of the directory, which is made if it is not there, of at most size bytes together,
// from DiskSizeMin to DiskSizeMax. What is larger than an eighth of that is not kept. Files of
// other names in the directory are left alone; what is damaged of its own is begun anew.
//
// A strong read of what memory does not have, and the disk does, costs a request that asks
// whether it has changed, and a read of the disk; an external value, which never changes, costs
// no request, nor does a scan for what its listing shows to be unchanged. Weak reads get from the
// disk what such a request, or a listing, has proven. What is written to the disk is written in
// the background: nothing waits for that, and where the disk is too slow, too full or broken it
// is not kept.
//
// Memory holds some 50 bytes for each cell on disk beside its own size, and what waits to be
// written: 64 MiB at most, or two values where they are larger than half of that.
//
// The files hold values in clear, readable by the user who runs the process. One process at a
// time uses a directory, and the error matches ErrInUse for others. It matches backend.ErrInvalid
// for a size that is not allowed. Close gives the directory back.
func Open(dir string, size int64, opts ...Option) (*Cache, error) {
	s := settings{
		memory: DefaultSize(), log: recordlog.Options{Runtime: seam.Real(), Size: size},
	}
	for _, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("open cache %q: nil option: %w", dir, backend.ErrInvalid)
		}
		opt(&s)
	}
	if size < DiskSizeMin || size > DiskSizeMax {
		return nil, fmt.Errorf("open cache %q: %d bytes, want %d to %d: %w",
			dir, size, int64(DiskSizeMin), int64(DiskSizeMax), backend.ErrInvalid)
	}
	d, err := recordlog.OpenDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	l, err := recordlog.Open(d, s.log)
	if err != nil {
		return nil, fmt.Errorf("open cache %q: %w", dir, err)
	}
	c := cache.New(s.memory)
	c.Onto(l)
	return (*Cache)(c), nil
}

// log is the cache's disk, nil if it has none.
func (c *Cache) log() *recordlog.Log {
	l, _ := (*cache.Cache)(c).Disk().(*recordlog.Log)
	return l
}

// Close writes what waits for the disk, and gives the directory back. Close the handles before;
// one that still uses the cache has what is in memory. Closing twice is fine, and so is closing a
// cache without a disk. An error says that a file could not be closed.
func (c *Cache) Close() error {
	if l := c.log(); l != nil {
		if err := l.Close(); err != nil {
			return fmt.Errorf("close cache: %w", err)
		}
	}
	return nil
}

// DiskStats are what a cache's disk holds, and what it has done since it was opened.
type DiskStats struct {
	// Records are the cells and values that can be read, and Bytes what the files take.
	Records, Bytes int64
	// Hits and Misses count reads of the disk, by all handles. A hit need not be current.
	Hits, Misses int64
	// Written counts records that were written, or copied out of a file that was given up;
	// Dropped those that were not written: too large, too many at once, or after a failure.
	Written, Dropped int64
	// Damaged counts records that could not be read back, Cut the bytes behind the last good
	// record of files, and Discarded files that were thrown away whole, when the directory was
	// opened or when a write had failed.
	Damaged, Cut, Discarded int64
}

// Disk returns the counters of the cache's disk, all zero if it has none.
func (c *Cache) Disk() DiskStats {
	if l := c.log(); l != nil {
		return DiskStats(l.Stats())
	}
	return DiskStats{}
}
