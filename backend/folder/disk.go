package folder

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// disk is the directory that holds the store. Its calls take paths relative to it,
// with slashes. What is longer than the operating system takes in one path goes
// through an os.Root, which walks folder by folder.
type disk struct {
	dir string
	// fault, if not nil, is told of each step before it is done, and may make it fail: for
	// tests.
	fault func(op, rel string) error
}

// try is the point before a step at which a test makes it fail.
func (d disk) try(op, rel string) error {
	if d.fault == nil {
		return nil
	}
	return d.fault(op, rel)
}

// path returns the full path, and whether the operating system takes it.
func (d disk) path(rel string) (string, bool) {
	if len(d.dir)+1+len(rel) > pathMax {
		return "", false
	}
	return d.dir + "/" + rel, true
}

func (d disk) root() (*os.Root, error) {
	r, err := os.OpenRoot(d.dir)
	if err == nil {
		return r, nil
	}
	if info, e := os.Stat(d.dir); e == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: d.dir, Err: syscall.ENOTDIR}
	}
	return nil, err
}

func (d disk) open(rel string, flag int, perm fs.FileMode) (*os.File, error) {
	if err := d.try("open", rel); err != nil {
		return nil, err
	}
	if p, ok := d.path(rel); ok {
		return os.OpenFile(p, flag, perm)
	}
	r, err := d.root()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.OpenFile(rel, flag, perm)
}

// openDir opens a folder. It does not wait for who writes to a FIFO in its place.
func (d disk) openDir(rel string) (*os.File, error) {
	return d.open(rel, os.O_RDONLY|noWait, 0)
}

// openFile opens a regular file, and nothing else: not what a link points to, nor a FIFO,
// which would wait, nor a device, which may take being opened for a command. If something
// else is there, the error is errIrregular.
func (d disk) openFile(rel string) (file, error) {
	if p, fits := d.path(rel); fits && noFollow != 0 {
		if err := d.try("open", rel); err != nil {
			return nil, err
		}
		f, err := openPlain(p)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if info, e := d.lstat(rel); e == nil && !info.Mode().IsRegular() {
			return nil, errIrregular
		}
		return nil, err
	}
	before, err := d.lstat(rel)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, errIrregular
	}
	f, err := d.open(rel, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// file is what is used of an os.File that is read.
type file interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
	Chmod(fs.FileMode) error
	Close() error
}

var errIrregular = errors.New("not a regular file")

func (d disk) rename(from, to string) error {
	if err := d.try("rename", to); err != nil {
		return err
	}
	p, ok := d.path(to)
	if q, fits := d.path(from); ok && fits {
		return os.Rename(q, p)
	}
	r, err := d.root()
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Rename(from, to)
}

func (d disk) remove(rel string) error {
	if err := d.try("remove", rel); err != nil {
		return err
	}
	if p, ok := d.path(rel); ok {
		return os.Remove(p)
	}
	r, err := d.root()
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Remove(rel)
}

// changed is the time of a folder's last change, zero if the file system does not tell.
func (d disk) changed(dir string) (time.Time, error) {
	info, err := d.stat(dir)
	if err != nil {
		return time.Time{}, err
	}
	if at, ok := changed(info); ok {
		return at, nil
	}
	return time.Time{}, nil
}

func (d disk) stat(rel string) (fs.FileInfo, error) {
	if p, ok := d.path(rel); ok {
		return os.Stat(p)
	}
	r, err := d.root()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Stat(rel)
}

func (d disk) lstat(rel string) (fs.FileInfo, error) {
	if p, ok := d.path(rel); ok {
		return os.Lstat(p)
	}
	r, err := d.root()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Lstat(rel)
}

// mkdir makes an unsettled folder. It is never at its place without the bit that says so,
// or who finds it there, its maker having died, would take it for durable. So where one
// step can't do both, it is moved there. The caller has the lock of the folder above, so
// that none is replaced.
func (d disk) mkdir(rel string) error {
	if err := d.try("mkdir", rel); err != nil {
		return err
	}
	if p, fits := d.path(rel); fits && (mkdirTakesBits || !foldersSync) {
		return os.Mkdir(p, folderMode|unsettledFolder)
	}
	r, err := d.root()
	if err != nil {
		return err
	}
	defer r.Close()
	if !foldersSync {
		return r.Mkdir(rel, folderMode)
	}
	if _, err := d.lstat(rel); err == nil {
		return fs.ErrExist
	}
	temp := tempDir + "/" + rand.Text()
	if err := r.Mkdir(temp, folderMode); err != nil {
		return err
	}
	if err = d.unsettle(r, temp); err == nil {
		err = d.rename(temp, rel)
	}
	if err != nil {
		_ = d.remove(temp)
	}
	return err
}

func (d disk) unsettle(r *os.Root, rel string) error {
	if err := d.try("chmod", rel); err != nil {
		return err
	}
	info, err := r.Stat(rel)
	if err != nil {
		return err
	}
	return r.Chmod(rel, info.Mode()|unsettledFolder)
}

// prune removes a folder if it is empty, and then those above it. It returns the
// first that is left.
func (d disk) prune(dir string) string {
	for dir != root && d.remove(dir) == nil {
		dir = parent(dir)
	}
	return dir
}
