package folder

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// Objects' entries begin with '+', '@' or '_'.
const (
	ownDir  = ".strictkv"
	lockDir = ownDir + "/lock"
	tempDir = ownDir + "/temp"

	// leftoverAge is the age from which a temporary file's writer counts as dead. If
	// it lives, it finds its file gone, and its write fails without effect.
	leftoverAge = time.Hour

	// stampMax is by how much the time in an object may be before its write's effect. Who is
	// held up for longer, before the lock or within, takes the time anew: an object that
	// looked older than it is could count as garbage.
	stampMax = 10 * time.Second

	// Nobody else may lock what is locked here.
	ownDirMode  fs.FileMode = 0o700
	ownFileMode fs.FileMode = 0o600

	copyMax = 64 << 10 // bytes of data up to which a copy is cheaper than a second write
)

// staged is a complete file that is not in force yet.
type staged struct {
	header
	file *os.File
	path string // empty once it has been renamed
}

// late reports whether the time in the file is not that of now.
func (s *staged) late(now time.Time) bool { return now.Sub(s.time).Abs() > stampMax }

// stage writes a temporary file with the data, and syncs it.
func (b *Backend) stage(data []byte) (*staged, error) {
	if err := b.prepare(); err != nil {
		return nil, err
	}
	s := &staged{header: newHeader(data, b.now())}
	path := tempDir + "/" + string(s.version())
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
	if err := b.fill(s, data); err != nil {
		b.discard(s)
		return nil, err
	}
	return s, nil
}

func (b *Backend) fill(s *staged, data []byte) error {
	if err := b.disk.try("fill", s.path); err != nil {
		return err
	}
	first, rest := data, []byte(nil)
	if len(data) > copyMax {
		first, rest = nil, data
	}
	buf := append(s.append(make([]byte, 0, headerSize+len(first))), first...)
	if _, err := s.file.Write(buf); err != nil {
		return err
	}
	if len(rest) > 0 {
		if _, err := s.file.Write(rest); err != nil {
			return err
		}
	}
	return b.syncFile(s.file)
}

// restamp makes now the time of a staged file's write.
func (b *Backend) restamp(s *staged, now time.Time) error {
	s.time = now
	if _, err := s.file.WriteAt(s.append(nil), 0); err != nil {
		return err
	}
	return b.syncFile(s.file)
}

func (b *Backend) syncFile(f *os.File) error {
	if b.fsync == nil {
		return nil
	}
	return b.fsync(f)
}

// discard closes a staged file, and removes it unless it is in force.
func (b *Backend) discard(s *staged) {
	if s == nil {
		return
	}
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
	if err := os.MkdirAll(b.disk.dir, folderMode); err != nil {
		return err
	}
	for _, dir := range []string{ownDir, lockDir, tempDir} {
		if err := makePrivate(b.disk.dir + "/" + dir); err != nil {
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

// makePrivate makes a directory that others can't enter, or sees to it that they can't.
func makePrivate(dir string) error {
	err := os.Mkdir(dir, ownDirMode)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&^ownDirMode == 0 {
		return err
	}
	if err := os.Chmod(dir, info.Mode().Perm()&ownDirMode); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil // It is another's.
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
	dir, err := b.disk.openDir(tempDir)
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		path := tempDir + "/" + name
		info, err := os.Stat(b.disk.dir + "/" + path)
		if err == nil && time.Since(info.ModTime()) > leftoverAge {
			_ = b.disk.remove(path)
		}
	}
}
