package folder

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/strictkv/strictkv/backend"
)

// pageSize is the largest number of entries of a listing that sets no limit.
const pageSize = 1000

// List implements backend.Backend. It reads the entries of those directories that
// the prefix and the page concern, each as a whole, and the headers of the objects
// that it returns: damage to data does not show. Of a directory that has not changed
// for some seconds, the entries of the last page are used again.
//
// Info.Modified is when the object's file last changed, its name included: not before
// the version could be read, whenever it was written. A copy of the store is as old as
// the copy. (On Windows it is when the file was written.)
func (b *Backend) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	w := walk{b: b, ctx: ctx, o: o}
	if w.o.Limit <= 0 {
		w.o.Limit = pageSize
	}
	err := b.check(ctx, true)
	if err == nil {
		dir, _, n := place(o.Prefix)
		err = w.folder(dir, o.Prefix[:n])
	}
	if err != nil && !errors.Is(err, errFull) {
		return backend.Page{}, failure("list", o.Prefix, err)
	}
	return w.page, nil
}

// walk goes through the store in the order of names and fills a page.
type walk struct {
	b    *Backend
	ctx  context.Context
	o    backend.ListOptions
	page backend.Page
}

// errFull ends a walk that has found one entry more than the page takes.
var errFull = errors.New("page full")

// entry is an object or a folder within a folder.
type entry struct {
	kind byte
	// key is the object's name, or what all names in the folder begin with.
	key  string
	file string
}

// compare orders the entries of a folder as the names in them. An object comes before
// the folder of the names that it begins.
func compare(a, b entry) int {
	return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.kind, b.kind))
}

// folder walks through a folder, in which all names begin with base.
func (w *walk) folder(dir, base string) error {
	c, err := w.b.contents(w.ctx, dir, base, w.concerns)
	if err != nil {
		return err
	}
	for _, e := range c.entries[c.from(w.reaches):] {
		if !w.concerns(e) {
			return nil // Behind the prefix, as are all that follow.
		}
		err := w.visit(dir, e)
		if errors.Is(err, errFull) {
			w.b.recent.keep(dir, c)
		}
		if err != nil {
			return err
		}
	}
	w.b.recent.forget(dir)
	return nil
}

// concerns tells whether e is, or may hold, what the listing asks for.
func (w *walk) concerns(e entry) bool {
	return w.reaches(e) && (strings.HasPrefix(e.key, w.o.Prefix) || w.leads(e, w.o.Prefix))
}

// reaches tells whether e is, or may hold, a name that is neither before the prefix nor
// before the page. If it does, so do all entries after it, since none but the last of
// those before a name is a folder that the name may be in.
func (w *walk) reaches(e entry) bool {
	return (e.key >= w.o.Prefix || w.leads(e, w.o.Prefix)) &&
		(e.key > w.o.After || w.leads(e, w.o.After))
}

// leads tells whether e is a folder in which a name would lie, or begin.
func (w *walk) leads(e entry, name string) bool {
	return e.kind != objectKind && strings.HasPrefix(name, e.key)
}

func (w *walk) visit(dir string, e entry) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	path := join(dir, e.file)
	if p, ok := w.rollUp(e.key); ok {
		if p <= w.o.After || w.hasPrefix(p) {
			return nil
		}
		found, err := w.b.holdsObject(w.ctx, path, e)
		if err != nil || !found {
			return err
		}
		return w.add(func() { w.page.Prefixes = append(w.page.Prefixes, p) })
	}
	if e.kind != objectKind {
		return w.folder(path, e.key)
	}
	info, err := w.b.info(dir, e)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // Deleted meanwhile.
	}
	if err != nil {
		return err
	}
	return w.add(func() { w.page.Objects = append(w.page.Objects, info) })
}

// rollUp returns the prefix into which the delimiter rolls up all names that begin
// with the key, if it does.
func (w *walk) rollUp(key string) (string, bool) {
	rest, ok := strings.CutPrefix(key, w.o.Prefix)
	if !ok || w.o.Delimiter == "" {
		return "", false
	}
	i := strings.Index(rest, w.o.Delimiter)
	if i < 0 {
		return "", false
	}
	return key[:len(w.o.Prefix)+i+len(w.o.Delimiter)], true
}

// hasPrefix tells whether p has been found before; it would be the last.
func (w *walk) hasPrefix(p string) bool {
	n := len(w.page.Prefixes)
	return n > 0 && w.page.Prefixes[n-1] == p
}

func (w *walk) add(f func()) error {
	if len(w.page.Objects)+len(w.page.Prefixes) == w.o.Limit {
		w.page.More = true
		return errFull
	}
	f()
	return nil
}

// info describes an object by its header.
func (b *Backend) info(dir string, e entry) (backend.Info, error) {
	o, err := b.openSettled(dir, e.file, e.key)
	if err != nil {
		return backend.Info{}, err
	}
	defer o.close()
	modified, _ := changed(o.info)
	return backend.Info{
		Name: e.key, Version: o.version(), Size: o.size, Modified: modified,
	}, nil
}

// holdsObject tells whether e, at the path, is an object or holds one: folders may be
// empty, for a moment or after a crash.
func (b *Backend) holdsObject(ctx context.Context, path string, e entry) (bool, error) {
	if e.kind == objectKind {
		return true, nil
	}
	files, _, err := b.files(ctx, path)
	if err != nil {
		return false, err
	}
	entries := parseEntries(e.key, files, func(entry) bool { return true })
	if slices.ContainsFunc(entries, func(e entry) bool { return e.kind == objectKind }) {
		return true, nil
	}
	for _, e := range entries {
		found, err := b.holdsObject(ctx, join(path, e.file), e)
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// parseEntries returns the entries that match, of a folder in which all names begin with
// base.
func parseEntries(base string, files []string, match func(entry) bool) []entry {
	var entries []entry
	for _, file := range files {
		kind, chunk, ok := parseEntry(base, file)
		if e := (entry{kind, base + chunk, file}); ok && match(e) {
			entries = append(entries, e)
		}
	}
	return entries
}

// files returns all that is in a folder at one instant: while it is being read, an
// entry that is replaced could be skipped. Whoever may only read takes no lock, and
// neither does who finds none: nobody has written yet. A folder that does not exist is
// empty.
//
// It also returns the folder's time of change, zero if the next change may not move it.
func (b *Backend) files(ctx context.Context, dir string) ([]string, time.Time, error) {
	h, err := b.lock(ctx, dir)
	switch {
	case err == nil:
		defer h.release()
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) &&
		!errors.Is(err, syscall.EROFS):
		return nil, time.Time{}, err
	}
	now := time.Now() // Before the time of change is read: no change after it is older.
	changed, err := b.disk.changed(dir)
	if now.Sub(changed) <= b.recent.quiet {
		changed = time.Time{}
	}
	var names []string
	if err == nil {
		names, err = b.disk.names(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, time.Time{}, nil
	}
	return names, changed, err
}
