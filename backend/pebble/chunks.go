package pebble

import (
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// chunkedFS has tables, and files of values, written by large parts: Pebble writes each value, and
// each block, by a call of the system or two, of which most are not aligned to pages. Nobody reads
// such a file before it was synced.
type chunkedFS struct{ vfs.FS }

// Unwrap implements vfs.FS.
func (fs chunkedFS) Unwrap() vfs.FS { return fs.FS }

// Create implements vfs.FS.
func (fs chunkedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := fs.FS.Create(name, category)
	if err == nil && (strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")) {
		file = &chunkedFile{File: file}
	}
	return file, err
}

// chunkedFile is a file that is written from its beginning to its end. Not safe for concurrent use.
type chunkedFile struct {
	vfs.File
	chunk   *[chunkSize]byte // nil before the first write
	have    int              // how much of the chunk is not written yet
	written int64            // bytes before that
	err     error            // of a write: the file is of no use
}

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// Write implements vfs.File.
func (f *chunkedFile) Write(p []byte) (n int, err error) {
	if f.chunk == nil {
		f.chunk = chunks.Get().(*[chunkSize]byte)
	}
	for n < len(p) {
		k := copy(f.chunk[f.have:], p[n:])
		f.have += k
		n += k
		if f.have == chunkSize {
			if err := f.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// flush writes what the chunk has.
func (f *chunkedFile) flush() error {
	if f.have == 0 || f.err != nil {
		return f.err
	}
	var n int
	n, f.err = f.File.Write(f.chunk[:f.have])
	f.written += int64(n)
	f.have = 0
	return f.err
}

// Sync implements vfs.File.
func (f *chunkedFile) Sync() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Sync()
}

// SyncData implements vfs.File.
func (f *chunkedFile) SyncData() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.SyncData()
}

// SyncTo implements vfs.File.
func (f *chunkedFile) SyncTo(length int64) (fullSync bool, err error) {
	if length > f.written {
		if err := f.flush(); err != nil {
			return false, err
		}
	}
	return f.File.SyncTo(length)
}

// Stat implements vfs.File.
func (f *chunkedFile) Stat() (vfs.FileInfo, error) {
	if err := f.flush(); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

// Close implements vfs.File.
func (f *chunkedFile) Close() error {
	err := f.flush()
	if f.chunk != nil {
		chunks.Put(f.chunk)
		f.chunk = nil
	}
	if closeErr := f.File.Close(); err == nil {
		err = closeErr
	}
	return err
}
