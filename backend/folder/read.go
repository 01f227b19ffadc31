package folder

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// reading is a folder that is being read. In the end, files are all that is there at one
// instant, and maybe what is not any more.
type reading struct {
	dir   string
	f     *os.File
	files []string
	all   bool // there are no more files

	began   time.Time
	changed time.Time // of the folder; zero if the next change may leave it
	mark    mark      // what was noted before it is among the files; none: it is not known
}

// read reads a folder; one that does not exist is empty. While it is being read, an entry
// that is replaced could be skipped. So it is locked, if it is small; else what is noted
// meanwhile is added. Whoever may only read takes no lock, and neither does who finds none:
// nobody has written yet.
func (b *Backend) read(ctx context.Context, dir string) (reading, error) {
	h, err := b.lock(ctx, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) &&
		!errors.Is(err, syscall.EROFS) {
		return reading{}, err
	}
	r := reading{dir: dir}
	err = r.first(b)
	defer r.close()
	if h != nil {
		if err == nil && !r.all {
			r.mark = h.mark()
		}
		if err == nil && r.mark == (mark{}) {
			err = r.rest(b)
		}
		h.release()
	}
	if err == nil {
		err = r.rest(b)
	}
	if err == nil && r.mark != (mark{}) {
		err = r.complete(ctx, b)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return reading{}, nil
	}
	return r, err
}

// first opens the folder and reads as many entries as are cheap.
func (r *reading) first(b *Backend) error {
	// Before the time of change is read: no change after it is older.
	*r = reading{dir: r.dir, began: b.now()}
	changed, err := b.disk.changed(r.dir)
	if err != nil {
		return err
	}
	if r.began.Sub(changed) > b.recent.quiet {
		r.changed = changed
	}
	if r.f, err = b.disk.openDir(r.dir); err != nil {
		return err
	}
	n := max(b.recent.min, 1)
	r.files, err = r.f.Readdirnames(n)
	r.all = len(r.files) < n
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// rest reads the other entries.
func (r *reading) rest(b *Backend) error {
	if r.all {
		return nil
	}
	if err := b.disk.try("readdir", r.dir); err != nil {
		return err
	}
	files, err := r.f.Readdirnames(-1)
	r.files, r.all = append(r.files, files...), true
	return err
}

// complete adds what was noted since the mark. If that is too much to be known, it reads
// the folder anew and keeps it locked meanwhile.
func (r *reading) complete(ctx context.Context, b *Backend) error {
	var h *held
	err := b.again(func() (err error) {
		h, err = b.lock(ctx, r.dir)
		return err
	})
	if err != nil {
		return err
	}
	defer h.release()
	files, end, ok := h.since(r.dir, r.mark)
	if ok {
		r.files, r.mark = append(r.files, files...), end
		return nil
	}
	r.close()
	if err := r.first(b); err != nil {
		return err
	}
	r.mark = h.mark()
	return r.rest(b)
}

func (r *reading) close() {
	if r.f != nil {
		_ = r.f.Close()
	}
}
