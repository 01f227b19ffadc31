package folder

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/strictkv/strictkv/backend"
)

// Objects' entries begin with '+', '@' or '_'.
const (
	ownDir  = ".strictkv"
	lockDir = ownDir + "/lock"
	tempDir = ownDir + "/temp"

	// leftoverAge is the age from which a temporary file's writer counts as dead. If
	// it lives, it finds its file gone, and its write fails without effect.
	leftoverAge = time.Hour

	copyMax = 64 << 10 // bytes of data up to which a copy is cheaper than a second write
)

// staged is a complete file that is not in force yet.
type staged struct {
	file    *os.File
	path    string // empty once it has been renamed
	version backend.Version
}

// stage writes a temporary file with the data, and syncs it.
func (b *Backend) stage(data []byte) (*staged, error) {
	if err := b.prepare(); err != nil {
		return nil, err
	}
	h := newHeader(data)
	s := &staged{version: h.version()}
	path := tempDir + "/" + string(s.version)
	mode := fileMode
	if b.fsync != nil {
		mode |= unsettledFile
	}
	create := func() (err error) {
		s.file, err = b.disk.open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		return err
	}
	if err := b.again(create); err != nil {
		return nil, err
	}
	s.path = path
	if err := b.fill(s.file, h, data); err != nil {
		b.discard(s)
		return nil, err
	}
	return s, nil
}

func (b *Backend) fill(f *os.File, h header, data []byte) error {
	first, rest := data, []byte(nil)
	if len(data) > copyMax {
		first, rest = nil, data
	}
	buf := append(h.append(make([]byte, 0, headerSize+len(first))), first...)
	if _, err := f.Write(buf); err != nil {
		return err
	}
	if len(rest) > 0 {
		if _, err := f.Write(rest); err != nil {
			return err
		}
	}
	if b.fsync == nil {
		return nil
	}
	return b.fsync(f)
}

// discard closes a staged file, and removes it unless it is in force.
func (b *Backend) discard(s *staged) {
	_ = s.file.Close()
	if s.path != "" {
		_ = b.disk.remove(s.path)
	}
}

// prepare makes the store's directories, once.
func (b *Backend) prepare() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ready {
		return nil
	}
	for _, dir := range []string{root, lockDir, tempDir} {
		if err := os.MkdirAll(b.disk.dir+"/"+dir, folderMode); err != nil {
			return err
		}
	}
	if b.fsync != nil {
		if err := b.syncAbove(); err != nil {
			return err
		}
	}
	b.removeLeftovers()
	b.ready = true
	return nil
}

// again calls f, and once more if it misses the store's directories: they may have
// been removed, or the store is a copy without them.
func (b *Backend) again(f func() error) error {
	err := f()
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b.mu.Lock()
	b.ready = false
	b.mu.Unlock()
	if err := b.prepare(); err != nil {
		return err
	}
	return f()
}

// removeLeftovers removes the temporary files of writers that died. What fails is
// left to the next process.
func (b *Backend) removeLeftovers() {
	names, _ := b.disk.names(tempDir)
	for _, name := range names {
		path := tempDir + "/" + name
		info, err := os.Stat(b.disk.dir + "/" + path)
		if err == nil && time.Since(info.ModTime()) > leftoverAge {
			_ = b.disk.remove(path)
		}
	}
}
