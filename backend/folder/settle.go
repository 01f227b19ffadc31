package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A rename can be seen before the disk has it. A reader that acts upon it, and a
// power cut then, would leave the act without its cause. So a file or folder is
// unsettled, which a mode bit tells, from before it can be seen until the folder above
// it has been synced; and whoever reads an unsettled object syncs first. The same bit
// tells all processes that a folder may not be durable: folders are removed with their
// last object, and made anew by any writer.
//
// The bits have no other effect on what is never executed, and on folders in which
// all files have one owner. Where a file system has no such bits, nothing is unsettled.
const (
	unsettledFile   fs.FileMode = 0o100
	unsettledFolder             = fs.ModeSticky

	fileMode   fs.FileMode = 0o666 // before umask, as folderMode
	folderMode fs.FileMode = 0o777
)

// settle makes a file of the folder durable that is in force already.
func (b *Backend) settle(f file, dir string) error {
	if b.fsync == nil {
		return nil
	}
	if err := b.syncFolder(dir); err != nil {
		return err
	}
	clearBit(f, unsettledFile)
	return nil
}

// clearBit clears a mode bit. If it can't, the next reader syncs again: slow, not
// wrong.
func clearBit(f file, bit fs.FileMode) {
	if info, err := f.Stat(); err == nil && info.Mode()&bit != 0 {
		_ = f.Chmod(info.Mode() &^ bit)
	}
}

// syncFolder makes durable what is in the folder, and the folder itself. If it is
// gone, so is what was in it, and the folder above must tell.
func (b *Backend) syncFolder(dir string) error {
	f, err := b.disk.openDir(dir)
	if dir != root && errors.Is(err, fs.ErrNotExist) {
		return b.syncFolder(parent(dir))
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := b.syncOpen(f); err != nil || dir == root {
		return err
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&unsettledFolder == 0 {
		return err
	}
	if err := b.syncFolder(parent(dir)); err != nil {
		return err
	}
	clearBit(f, unsettledFolder)
	return nil
}

// syncOpen syncs an open folder, if folders can be synced.
func (b *Backend) syncOpen(f *os.File) error {
	if !foldersSync {
		return nil
	}
	err := b.fsync(f)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// syncAbove makes the store's directory itself durable. Who made the directories
// above it, and when, is not known: each is synced that may be opened.
func (b *Backend) syncAbove() error {
	for p := b.disk.dir; p != filepath.Dir(p); {
		p = filepath.Dir(p)
		f, err := os.Open(p)
		if err == nil {
			err = b.syncOpen(f)
			_ = f.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			return err
		}
	}
	return nil
}
