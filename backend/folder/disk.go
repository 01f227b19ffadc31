package folder

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// disk is the directory that holds the store. Its calls take paths relative to it,
// with slashes. What is longer than the operating system takes in one path goes
// through an os.Root, which walks folder by folder.
type disk struct{ dir string }

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

func (d disk) rename(from, to string) error {
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

// names returns the names of a folder's entries, in no order. A folder that is removed
// meanwhile does not exist.
func (d disk) names(dir string) ([]string, error) {
	f, err := d.open(dir, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
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

// mkdir makes an unsettled folder.
func (d disk) mkdir(rel string) error {
	if p, ok := d.path(rel); ok {
		return os.Mkdir(p, folderMode|unsettledFolder)
	}
	r, err := d.root()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.Mkdir(rel, folderMode); err != nil {
		return err
	}
	info, err := r.Stat(rel)
	if err != nil {
		return err
	}
	return r.Chmod(rel, info.Mode()|unsettledFolder)
}

// mkdirs makes a folder and those above it, as far as they are missing.
func (d disk) mkdirs(dir string) error {
	if dir == root {
		return os.MkdirAll(d.dir, folderMode)
	}
	err := d.mkdir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.mkdirs(parent(dir)); err != nil {
			return err
		}
		err = d.mkdir(dir)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// prune removes a folder if it is empty, and then those above it. It returns the
// first that is left.
func (d disk) prune(dir string) string {
	for dir != root && d.remove(dir) == nil {
		dir = parent(dir)
	}
	return dir
}
