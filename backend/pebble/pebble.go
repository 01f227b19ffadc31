// Package pebble is a backend in a directory of a local disk that belongs to one process: the
// embedded key-value engine of CockroachDB, Pebble. It is far faster, and takes far less
// space for small records, than package folder, which several processes may share.
//
// A write is on the disk when it is acknowledged, and when its object can be read (NoSync
// waives both): the syncs of those who write at the same time are one. A process that dies at
// any moment, a power cut, and a torn end of the log leave each object as it was before the
// write or after it. What is in the store has checksums.
//
// Large objects are files of their own, written once. All others are written to the log, and
// later to tables. A Get and a List take no locks; writes of one object follow each other.
//
// On a full disk Put is backend.ErrUnavailable, until there is room again; Delete works. Any
// other failure to write the log, or the list of tables, ends the process by a panic, at the
// latest with the next write: Pebble can't go on after that.
//
// The store's clock is the machine's wall clock. The file system must be local.
package pebble

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/strictkv/strictkv/backend"
)

const (
	// nameMax is the length of the longest name, in bytes.
	nameMax = 1024

	// locks is the number of locks that names share. Who holds one does not wait for the disk.
	locks = 1024

	// stampMax is by how much the time in an object may be before its write's effect. Who is
	// held up for longer writes it once more: an object that looked older than it is could
	// count as garbage.
	stampMax = 10 * time.Second
)

// Backend is an open directory of objects. Make one with Open. A call whose context ends
// before it has had any effect is ErrUnavailable, and matches the context's error too; a write
// that has begun is not cut short, but ends when the disk has it.
type Backend struct {
	db     *pebble.DB
	lock   *pebble.Lock
	now    func() time.Time
	files  *files
	flight flights

	ballast ballast

	seed   maphash.Seed
	locks  [locks]sync.Mutex // by the hashes of names
	recent recent            // an object's entry is written by who has its lock

	// A version is what this Open drew, and a number that no two states have.
	drawn  [8]byte
	number atomic.Uint64

	broken atomic.Pointer[error] // why the log can't be synced
	open   sync.RWMutex          // held by calls; Close waits for them
	closed bool                  // guarded by open
}

var _ backend.Backend = (*Backend)(nil)

// Option changes what Open opens.
type Option func(*settings)

type settings struct {
	noSync bool
	cache  int64  // bytes
	buffer int64  // bytes
	disk   vfs.FS // another one for tests
}

// NoSync makes writes return before the disk has them: much faster, but the death of the
// process, or a power cut, takes back the latest of them. What is left is the state of some
// moment shortly before, except that after a power cut large objects of the last minutes may
// be ErrCorrupt.
func NoSync() Option { return func(s *settings) { s.noSync = true } }

// CacheSize is how much memory blocks of tables may take that were read, in bytes; by default
// 64 MiB. A size that is not positive leaves the default.
func CacheSize(bytes int64) Option {
	return func(s *settings) {
		if bytes > 0 {
			s.cache = bytes
		}
	}
}

// WriteBuffer is how much is written to memory, and to a log, before it goes to a table on the
// disk, in bytes; by default 4 MiB. What is replaced before that never gets to a table: who writes
// the same objects again and again, or objects of some kilobytes and more, saves much work with
// a larger one. Up to two of them are in memory, and up to five, as logs, on the disk; what is in
// the logs is read when the store is opened after a crash. Sizes below 1 MiB count as that, above
// 1 GiB as that; one that is not positive leaves the default.
func WriteBuffer(bytes int64) Option {
	return func(s *settings) {
		if bytes > 0 {
			s.buffer = min(max(bytes, bufferMin), bufferMax)
		}
	}
}

// ErrInUse reports a directory that another process has open, or another Backend of this one.
// Nothing was changed; try again when it is closed. Each such error matches
// backend.ErrUnavailable, too.
var ErrInUse = errors.New("directory in use: a pebble store belongs to one process at a time")

// Open opens the store in the directory, which it makes if it does not exist, together with
// those above it. Close the backend when it is not needed any more. Names of objects are 1 to
// 1024 bytes, any bytes.
//
// Errors: ErrInUse; an empty dir is backend.ErrInvalid, one that is a file
// backend.ErrBucketNotFound, one that may not be written backend.ErrDenied, one whose contents
// are damaged, or of a newer version of Pebble, backend.ErrCorrupt.
func Open(dir string, options ...Option) (*Backend, error) {
	s := settings{cache: cacheDefault, buffer: bufferDefault, disk: vfs.Default}
	for _, o := range options {
		o(&s)
	}
	path, err := makeDir(dir)
	if err != nil {
		return nil, failure("open", dir, err)
	}
	b, err := open(path, s)
	return b, failure("open", dir, err)
}

// makeDir makes the directory, and returns its only name: the lock of a file does not keep out
// who has come another way, in one process.
func makeDir(dir string) (string, error) {
	if dir == "" {
		return "", fmt.Errorf("%w: no directory", backend.ErrInvalid)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	var parents []string // of what is missing
	for d := dir; d != filepath.Dir(d); d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		parents = append(parents, filepath.Dir(d))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for _, d := range parents {
		if err := syncDir(vfs.Default, d); err != nil {
			return "", err
		}
	}
	return filepath.EvalSymlinks(dir)
}

// open opens a directory, which is there.
func open(dir string, s settings) (_ *Backend, err error) {
	b := &Backend{
		seed: maphash.MakeSeed(),
		// The monotonic clock of this process is no other's, and stands still in sleep.
		now: func() time.Time { return time.Now().Round(0) },
	}
	// It never fails. The operating system's generator, unlike one of this process, does not
	// go back to an old state with a copy of the directory.
	_, _ = rand.Read(b.drawn[:])
	if b.lock, err = lockDirectory(dir, s.disk); err != nil {
		return nil, err
	}
	if err = b.fill(dir, s); err != nil {
		return nil, errors.Join(err, b.release())
	}
	return b, nil
}

func (b *Backend) fill(dir string, s settings) (err error) {
	b.ballast.disk, b.ballast.path = s.disk, s.disk.PathJoin(dir, ballastFile)
	b.ballast.gone.Store(true)
	_ = b.ballast.room() // Whoever writes is told.
	if b.db, err = b.openEngine(dir, s); err != nil {
		return unreadable(err)
	}
	if b.files, err = openFiles(s.disk, dir, !s.noSync); err != nil {
		return err
	}
	return b.removeOrphans()
}

// begin lets a call in, which must say end, unless it is malformed, or too late.
func (b *Backend) begin(ctx context.Context, valid bool) error {
	if !valid {
		return backend.ErrInvalid
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.open.RLock()
	if b.closed {
		b.open.RUnlock()
		return errClosed
	}
	if cause := b.broken.Load(); cause != nil {
		b.open.RUnlock()
		return fmt.Errorf("%w: %w", errBroken, *cause)
	}
	return nil
}

func (b *Backend) end() { b.open.RUnlock() }

func validName(name string) bool { return name != "" && len(name) <= nameMax }

// next is a version that nothing has had.
func (b *Backend) next() (v version) {
	copy(v[:], b.drawn[:])
	binary.BigEndian.PutUint64(v[8:], b.number.Add(1))
	return v
}

func (b *Backend) hash(name string) uint64 { return maphash.String(b.seed, name) }

// Close makes all writes durable, also those of a store that is open with NoSync, and lets
// another process have the directory. It waits for calls under way; those that follow are
// backend.ErrUnavailable. A second Close does nothing.
func (b *Backend) Close() error {
	b.open.Lock()
	defer b.open.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	var err error
	if b.broken.Load() == nil && !b.files.sync {
		err = b.emptyTrash()
	}
	if err = errors.Join(err, b.release()); err != nil {
		return &callError{"close", "", verdict(err, backend.ErrUnavailable)}
	}
	return nil
}

// release gives back what the backend holds.
func (b *Backend) release() (err error) {
	if b.db != nil {
		err = b.db.Close()
	}
	return errors.Join(err, b.lock.Close())
}

// Capabilities implements backend.Backend: there is no network.
func (*Backend) Capabilities() backend.Capabilities {
	return backend.Capabilities{ConditionalDelete: true, SendsOnce: true, Near: true}
}
