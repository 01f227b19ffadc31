package folder

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/strictkv/strictkv/backend"
)

// pageSize is the largest number of entries of a listing that sets no limit.
const pageSize = 1000

// List implements backend.Backend. It reads the entries of those directories that
// the prefix and the page concern, each as a whole, and the headers of the objects
// that it returns: damage to data does not show.
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
	entries, err := w.b.entries(w.ctx, dir, base, w.concerns)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, compare)
	for _, e := range entries {
		if err := w.visit(dir, e); err != nil {
			return err
		}
	}
	return nil
}

// concerns tells whether e is, or may hold, what the listing asks for.
func (w *walk) concerns(e entry) bool {
	if e.kind == objectKind {
		return strings.HasPrefix(e.key, w.o.Prefix) && e.key > w.o.After
	}
	return (strings.HasPrefix(e.key, w.o.Prefix) || strings.HasPrefix(w.o.Prefix, e.key)) &&
		(strings.HasPrefix(w.o.After, e.key) || e.key > w.o.After)
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
	return backend.Info{
		Name: e.key, Version: o.version(), Size: o.size, Modified: o.info.ModTime(),
	}, nil
}

// holdsObject tells whether e, at the path, is an object or holds one: folders may be
// empty, for a moment or after a crash.
func (b *Backend) holdsObject(ctx context.Context, path string, e entry) (bool, error) {
	if e.kind == objectKind {
		return true, nil
	}
	entries, err := b.entries(ctx, path, e.key, func(entry) bool { return true })
	if err != nil {
		return false, err
	}
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

// entries returns the entries of a folder that match, in no order. A folder that does
// not exist has none.
func (b *Backend) entries(
	ctx context.Context, dir, base string, match func(entry) bool,
) ([]entry, error) {
	files, err := b.files(ctx, dir)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, file := range files {
		kind, chunk, ok := parseEntry(base, file)
		if e := (entry{kind, base + chunk, file}); ok && match(e) {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// files returns all that is in a folder at one instant: while it is being read, an
// entry that is replaced could be skipped. Whoever may only read takes no lock, and
// neither does who finds none: nobody has written yet.
func (b *Backend) files(ctx context.Context, dir string) ([]string, error) {
	h, err := b.lock(ctx, dir)
	switch {
	case err == nil:
		defer h.release()
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) &&
		!errors.Is(err, syscall.EROFS):
		return nil, err
	}
	names, err := b.disk.names(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}
