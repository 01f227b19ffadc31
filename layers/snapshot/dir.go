package snapshot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/strictkv/strictkv/layers/snapshot/internal/table"
)

// Dir returns the store in a directory of a local disk, which the first save makes. Each snapshot
// is a file, NAME.snap, which an open maps into memory; on Windows it is read block by block.
func Dir(path string) Store { return &dir{path} }

type dir struct{ path string }

const gcFile = "gc.lock"

func (d *dir) file(kind, id string) string { return filepath.Join(d.path, id+"."+kind) }

func (d *dir) open(_ context.Context, kind, id string) (*table.File, error) {
	f, err := table.OpenFile(d.file(kind, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	return f, err
}

func (d *dir) list(_ context.Context, kind string) (all []stored, err error) {
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), "."+kind)
		if !ok {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		all = append(all, stored{id: id, size: info.Size(), modified: info.ModTime()})
	}
	return all, err
}

func (d *dir) remove(_ context.Context, kind string, s stored) error {
	err := os.Remove(d.file(kind, s.id))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// exclude announces a GC by a file, and looks for saves only then; a save does it the other way
// round. So one of them sees the other.
func (d *dir) exclude(ctx context.Context) (now time.Time, done func() error, err error) {
	lock := filepath.Join(d.path, gcFile)
	if d.held(lock) {
		return now, nil, ErrBusy
	}
	if err := d.takeAway(lock); err != nil {
		return now, nil, err
	}
	if err := createEmpty(lock); errors.Is(err, fs.ErrExist) {
		return now, nil, ErrBusy
	} else if err != nil {
		return now, nil, err
	}
	done = func() error { return os.Remove(lock) }
	saves, err := d.list(ctx, kindSaving)
	if err == nil && fresh(saves) {
		err = ErrBusy
	}
	if err != nil {
		return now, nil, errors.Join(err, done())
	}
	return time.Now(), done, nil
}

// takeAway removes the lock of a dead GC, if there is one. Another GC may have done so, and have
// locked itself: that lock is put back.
func (d *dir) takeAway(lock string) error {
	aside := lock + "-" + rand.Text()
	if err := os.Rename(lock, aside); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if d.held(aside) {
		return errors.Join(ErrBusy, os.Rename(aside, lock))
	}
	return os.Remove(aside)
}

// held reports whether a GC is under way.
func (d *dir) held(lock string) bool {
	info, err := os.Stat(lock)
	return err == nil && time.Since(info.ModTime()) < staleAfter
}

func (d *dir) begin(context.Context) (session, error) {
	if err := makeDir(d.path); err != nil {
		return nil, err
	}
	s := &dirSession{dir: d, id: rand.Text()}
	if err := createEmpty(d.file(kindSaving, s.id)); err != nil {
		return nil, err
	}
	if d.held(filepath.Join(d.path, gcFile)) {
		return nil, errors.Join(ErrBusy, s.end())
	}
	return s, nil
}

// makeDir makes a directory, with those that it is in, so that it lasts.
func makeDir(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(path)
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

func createEmpty(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

type dirSession struct {
	*dir
	id     string
	drafts []*dirDraft
}

func (s *dirSession) scratch() string { return s.path }

func (s *dirSession) touch(kind, id string) error {
	now := time.Now()
	return os.Chtimes(s.file(kind, id), now, now)
}

func (s *dirSession) create() (draft, error) {
	path := s.file(kindSaving, fmt.Sprintf("%s-%d", s.id, len(s.drafts)))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	d := &dirDraft{dir: s.dir, f: f, path: path}
	s.drafts = append(s.drafts, d)
	return d, nil
}

func (s *dirSession) end() (err error) {
	for _, d := range s.drafts {
		err = errors.Join(err, d.discard())
	}
	return errors.Join(err, os.Remove(s.file(kindSaving, s.id)))
}

type dirDraft struct {
	*dir
	f    *os.File // nil once it is published
	path string
}

func (d *dirDraft) segment(data []byte, _ table.Sum) error {
	_, err := d.f.Write(data)
	return err
}

func (d *dirDraft) restart() error {
	if err := d.f.Truncate(0); err != nil {
		return err
	}
	_, err := d.f.Seek(0, 0)
	return err
}

func (d *dirDraft) reopen(tail []byte) (*table.File, error) {
	if _, err := d.f.Write(tail); err != nil {
		return nil, err
	}
	return table.OpenFile(d.path)
}

func (d *dirDraft) publish(kind, id string, tail []byte) error {
	_, err := d.f.Write(tail)
	if err == nil {
		err = d.f.Sync()
	}
	if err = errors.Join(err, d.f.Close()); err != nil {
		return err
	}
	d.f = nil
	if err := os.Rename(d.path, d.file(kind, id)); err != nil {
		return errors.Join(err, os.Remove(d.path))
	}
	return syncDir(d.dir.path)
}

func (d *dirDraft) discard() error {
	if d.f == nil {
		return nil
	}
	err := d.f.Close()
	d.f = nil
	return errors.Join(err, os.Remove(d.path))
}

// syncDir makes a rename last; where a directory can't be synced, that is the system's matter.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
