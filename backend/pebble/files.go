package pebble

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/strictkv/strictkv/backend"
)

const (
	// filesDir is the directory of large objects, in that of the store.
	filesDir = "objects"

	// chunkSize is how much of a file is written at once, in bytes.
	chunkSize = 256 << 10

	// trashMax is how many files may wait to be removed for the log to be synced.
	trashMax = 16
)

// files keeps the contents of large objects. A file's name is its id, which is never used
// again. The record that refers to it is written after it, and removed before it: what a
// crash leaves is a file without a record, which the next Open removes.
type files struct {
	disk vfs.FS
	dir  string
	sync bool

	mu    sync.Mutex // guards trash
	trash []version  // files whose records are gone, but perhaps not from the disk's log
}

// openFiles makes the directory of files, in that of the store, if it is not there.
func openFiles(disk vfs.FS, store string, sync bool) (*files, error) {
	f := &files{disk: disk, dir: disk.PathJoin(store, filesDir), sync: sync}
	if err := disk.MkdirAll(f.dir, 0o700); err != nil {
		return nil, err
	}
	return f, syncDir(disk, store)
}

func (f *files) path(id version) string {
	return f.disk.PathJoin(f.dir, hex.EncodeToString(id[:]))
}

// write makes a new file, which is on the disk when it returns. If it fails there is none.
func (f *files) write(id version, data []byte) (content, error) {
	err := f.fill(id, data)
	if err == nil && f.sync {
		err = syncDir(f.disk, f.dir)
	}
	if err != nil {
		f.remove(id)
		return content{}, err
	}
	return content{id, int64(len(data)), crc32.Checksum(data, castagnoli)}, nil
}

func (f *files) fill(id version, data []byte) error {
	file, err := f.disk.Create(f.path(id), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	// A vfs.File may change what it is given to write, and the data are the caller's.
	buf := make([]byte, 0, chunkSize)
	for chunk := range slices.Chunk(data, chunkSize) {
		if _, err = file.Write(append(buf, chunk...)); err != nil {
			break
		}
	}
	if err == nil && f.sync {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// errDamaged says that a file is not what was written.
var errDamaged = errors.New("damaged file")

// read returns what is in a file, also if it is damaged.
func (f *files) read(c content) ([]byte, error) {
	file, err := f.disk.Open(f.path(c.id))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if size := info.Size(); size > backend.ObjectMax {
		return nil, fmt.Errorf("%w: %d bytes", errDamaged, size)
	}
	b := make([]byte, info.Size())
	if n, err := file.ReadAt(b, 0); n < len(b) {
		return nil, err
	}
	if int64(len(b)) != c.size || crc32.Checksum(b, castagnoli) != c.sum {
		return b, fmt.Errorf("%w: %d bytes of %d, or wrong checksum", errDamaged, len(b), c.size)
	}
	return b, nil
}

// remove removes a file that no record refers to. If that fails, the next Open does it.
func (f *files) remove(id version) { _ = f.disk.Remove(f.path(id)) }

func syncDir(disk vfs.FS, dir string) error {
	d, err := disk.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// discard removes a file whose record is gone. Without syncs a power cut could bring the record
// back: so the file waits until the log has been synced.
func (b *Backend) discard(id version) {
	if b.files.sync {
		b.files.remove(id)
		return
	}
	b.files.mu.Lock()
	b.files.trash = append(b.files.trash, id)
	full := len(b.files.trash) >= trashMax
	b.files.mu.Unlock()
	if full {
		_ = b.emptyTrash() // What is left goes when the store is opened.
	}
}

// emptyTrash syncs the log, and removes the files that wait for it.
func (b *Backend) emptyTrash() error {
	b.files.mu.Lock()
	trash := b.files.trash
	b.files.trash = nil
	b.files.mu.Unlock()
	if err := b.db.LogData(nil, pebble.Sync); err != nil {
		return err
	}
	for _, id := range trash {
		b.files.remove(id)
	}
	return nil
}

// removeOrphans removes the files that a crash has left without a record.
func (b *Backend) removeOrphans() (err error) {
	names, err := b.files.disk.List(b.files.dir)
	if err != nil {
		return err
	}
	slices.Sort(names) // as the records are
	i, err := b.db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{keyFile}, UpperBound: []byte{keyFile + 1},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	more := i.First()
	for _, name := range names {
		id, ok := parseID(name)
		if !ok {
			continue // Nobody here has made it.
		}
		key := string(fileKey(id))
		for more && string(i.Key()) < key {
			more = i.Next()
		}
		if err := i.Error(); err != nil {
			return err
		}
		if !more || string(i.Key()) != key {
			b.files.remove(id)
		}
	}
	return nil
}

func parseID(name string) (id version, ok bool) {
	if len(name) != hex.EncodedLen(len(id)) {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(name))
	return id, err == nil && hex.EncodeToString(id[:]) == name
}
