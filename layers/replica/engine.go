package replica

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// copyDir is the directory of the copy, in that of the Replica. It is what is thrown away.
	copyDir = "copy"

	// memTable is the size of a table in memory, in bytes, and about that of a log.
	memTable = 8 << 20

	// blockSize is that of the blocks of a table, in bytes before compression: larger ones make
	// scans faster, and first reads of single keys dearer. indexSize is that of their index, which
	// is one block then, of a table of some 100 MiB.
	blockSize = 8 << 10
	indexSize = 256 << 10

	// bitsPerKey is what a filter takes for each key, so that nearly no absent one is looked for.
	bitsPerKey = 10

	// reserve is how many bytes of the disk must be free for a batch to be applied: the engine
	// ends the process if it can't write its log.
	reserve = 64 << 20
)

// engine is a copy on the disk.
type engine struct {
	db   *pebble.DB
	disk vfs.FS
	dir  string
}

// lockDirectory makes a directory, and keeps out others until the lock is closed. It returns the
// directory's only name: the lock of a file does not keep out who has come another way, in one
// process.
func lockDirectory(dir string, disk vfs.FS) (string, *pebble.Lock, error) {
	if err := disk.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	if disk == vfs.Default {
		path, err := filepath.Abs(dir)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return "", nil, err
		}
		dir = path
	}
	lock, err := pebble.LockDirectory(dir, disk)
	if path := (*fs.PathError)(nil); err != nil && !errors.As(err, &path) {
		return "", nil, fmt.Errorf("%w: %w", ErrInUse, err) // The file is there, the lock is not.
	}
	return dir, lock, err
}

// openEngine opens the copy in a directory that is locked. Damaged is told of damage that is
// found in the background.
func openEngine(dir string, o Options, damaged func(error)) (*engine, error) {
	e := &engine{disk: o.disk, dir: o.disk.PathJoin(dir, copyDir)}
	cache := pebble.NewCache(o.CacheSize)
	defer cache.Unref() // the database keeps it
	p := &pebble.Options{
		FS: o.disk, Logger: silent{}, Cache: cache, MemTableSize: memTable,
		FormatMajorVersion: pebble.FormatValueSeparation,
		EventListener: &pebble.EventListener{
			// Without this the engine ends the process.
			DataCorruption: func(i pebble.DataCorruptionInfo) {
				damaged(fmt.Errorf("%w: %w", errDamage, i.Details))
			},
			BackgroundError: func(err error) {
				if err = ofEngine(err); errors.Is(err, errDamage) {
					damaged(err)
				}
			},
		},
	}
	for i := range p.Levels {
		p.Levels[i].BlockSize, p.Levels[i].IndexBlockSize = blockSize, indexSize
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(bitsPerKey)
	}
	p.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
		return pebble.ValueSeparationPolicy{
			Enabled: true, MinimumSize: largeMin, MaxBlobReferenceDepth: 10,
			TargetGarbageRatio: 0.3,
		}
	}
	var err error
	e.db, err = opened(func() (*pebble.DB, error) { return pebble.Open(e.dir, p) })
	if err != nil {
		return nil, unreadable(err)
	}
	return e, nil
}

// opened turns a panic of the engine, which is how it ends on some files that are damaged, into
// an error.
func opened(open func() (*pebble.DB, error)) (db *pebble.DB, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("%w: %v", errDamage, why)
		}
	}()
	return open()
}

// throwAway removes the copy from a directory that is locked.
func throwAway(dir string, disk vfs.FS) error {
	return disk.RemoveAll(disk.PathJoin(dir, copyDir))
}

// unreadable makes an error of opening the engine one of damage, unless the system has refused
// something, which is another matter than what is stored.
func unreadable(err error) error {
	var errno syscall.Errno
	refused := errors.As(err, &errno) && !errors.Is(err, fs.ErrNotExist)
	if refused || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w: %w", errDamage, err)
}

// ofEngine makes an error of the engine one of damage, if it says so.
func ofEngine(err error) error {
	if err != nil && (pebble.IsCorruptionError(err) || errors.Is(err, fs.ErrNotExist)) {
		return fmt.Errorf("%w: %w", errDamage, err)
	}
	return err
}

func (e *engine) get(key []byte, use func([]byte) error) error {
	return got(e.db.Get(key))(use)
}

// got passes on what the engine has found.
func got(value []byte, closer io.Closer, err error) func(func([]byte) error) error {
	return func(use func([]byte) error) error {
		if errors.Is(err, pebble.ErrNotFound) {
			return errAbsent
		}
		if err != nil {
			return ofEngine(err)
		}
		return errors.Join(use(value), closer.Close())
	}
}

func (e *engine) cursor(from, to []byte) (cursor, error) {
	return newPosition(e.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to}))
}

func (e *engine) snapshot() (snapshot, error) { return frozen{e.db.NewSnapshot()}, nil }

// commit applies a batch, if there is room on the disk.
func (e *engine) commit(b *batch, durable bool) error {
	usage, err := e.disk.GetDiskUsage(e.dir)
	if err == nil && usage.AvailBytes < reserve+uint64(b.size) {
		return ErrDiskFull
	}
	p := e.db.NewBatchWithSize(b.size + b.size/8)
	defer p.Close()
	for _, o := range b.ops {
		var err error
		switch o.kind {
		case opSet:
			err = p.Set(o.key, o.value, nil)
		case opDelete:
			err = p.Delete(o.key, nil)
		case opDeleteRange:
			err = p.DeleteRange(o.key, o.value, nil)
		}
		if err != nil {
			return err
		}
	}
	sync := pebble.NoSync
	if durable {
		sync = pebble.Sync
	}
	return ofEngine(p.Commit(sync))
}

func (e *engine) close() error { return e.db.Close() }

// frozen is a snapshot of the engine's.
type frozen struct{ s *pebble.Snapshot }

func (f frozen) get(key []byte, use func([]byte) error) error { return got(f.s.Get(key))(use) }

func (f frozen) cursor(from, to []byte) (cursor, error) {
	return newPosition(f.s.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to}))
}

func (f frozen) close() error { return f.s.Close() }

// position is a cursor of the engine's.
type position struct{ i *pebble.Iterator }

func newPosition(i *pebble.Iterator, err error) (cursor, error) {
	if err != nil {
		return nil, ofEngine(err)
	}
	return position{i}, nil
}

func (p position) first() bool  { return p.i.First() }
func (p position) last() bool   { return p.i.Last() }
func (p position) next() bool   { return p.i.Next() }
func (p position) prev() bool   { return p.i.Prev() }
func (p position) key() []byte  { return p.i.Key() }
func (p position) close() error { return ofEngine(p.i.Close()) } // of the steps, too

func (p position) value() ([]byte, error) {
	b, err := p.i.ValueAndErr()
	return b, ofEngine(err)
}

// silent takes what the engine says: it tries again what it does in the background.
type silent struct{}

func (silent) Infof(string, ...any) {}

func (silent) Errorf(string, ...any) {}

// Fatalf ends the process, as the engine can't go on, and holds locks.
func (silent) Fatalf(format string, args ...any) { panic(fmt.Errorf(format, args...)) }
