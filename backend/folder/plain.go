//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package folder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// plainFile is an open file that is read, by the system's own calls. An os.File is made for what
// may have to be waited for, such as a pipe, and is closed if it is forgotten: for a small object
// that costs as much as reading it.
type plainFile struct {
	fd   int
	path string
}

// openPlain opens a file to read, without following a link, or waiting for who writes to a FIFO.
func openPlain(path string) (file, error) {
	f := &plainFile{path: path}
	err := uninterrupted(func() (err error) {
		f.fd, err = syscall.Open(path, os.O_RDONLY|noWait|noFollow|syscall.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

// uninterrupted makes a call again that a signal has interrupted.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// failed is the error of a step.
func (f *plainFile) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}

// ReadAt implements io.ReaderAt.
func (f *plainFile) ReadAt(b []byte, at int64) (n int, err error) {
	for n < len(b) {
		m := 0
		err := uninterrupted(func() (err error) {
			m, err = syscall.Pread(f.fd, b[n:], at+int64(n))
			return err
		})
		if err != nil {
			return n, f.failed("read", err)
		}
		if m == 0 {
			return n, io.EOF
		}
		n += m
	}
	return n, nil
}

// Stat tells of the file.
func (f *plainFile) Stat() (fs.FileInfo, error) {
	info := &plainInfo{path: f.path}
	err := uninterrupted(func() error { return syscall.Fstat(f.fd, &info.stat) })
	if err != nil {
		return nil, f.failed("stat", err)
	}
	return info, nil
}

// Chmod sets the bits of a mode that are permissions.
func (f *plainFile) Chmod(mode fs.FileMode) error {
	return f.failed("chmod", uninterrupted(func() error {
		return syscall.Fchmod(f.fd, uint32(mode.Perm()))
	}))
}

// Close closes the file. It must be called once.
func (f *plainFile) Close() error { return f.failed("close", syscall.Close(f.fd)) }

// plainInfo is what fstat tells of a file. Of its mode it knows the permissions, and whether it is
// a regular file.
type plainInfo struct {
	path string
	stat syscall.Stat_t
}

func (i *plainInfo) Name() string       { return i.path }
func (i *plainInfo) Size() int64        { return i.stat.Size }
func (i *plainInfo) ModTime() time.Time { return modified(&i.stat) }
func (i *plainInfo) IsDir() bool        { return i.stat.Mode&syscall.S_IFMT == syscall.S_IFDIR }
func (i *plainInfo) Sys() any           { return &i.stat }

func (i *plainInfo) Mode() fs.FileMode {
	mode := fs.FileMode(i.stat.Mode) & fs.ModePerm
	if i.stat.Mode&syscall.S_IFMT != syscall.S_IFREG {
		mode |= fs.ModeIrregular
	}
	return mode
}
