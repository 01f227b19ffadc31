package folder

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/strictkv/strictkv/backend"
)

// pageSize is the largest number of entries of a listing that sets no limit.
const pageSize = 1000

// List implements backend.Backend. It reads the entries of those directories that
// the prefix and the page concern, each as a whole, and the headers of the objects
// that it returns: damage to data does not show. Of a large directory, the entries of the
// last page are used again.
//
// Info.Modified is when the object was written, by the clock of its writer's machine, up to
// 10 s before the version could be read; a copy of the store is as old as the store. Of a
// folder whose place a file has taken, the listing has one damaged object, whose name ends
// with the slash.
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
	if errors.Is(err, syscall.ENOTDIR) && w.b.disk.exists() {
		return w.displaced(dir, base)
	}
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

// displaced lists a damaged object in a folder whose place something else has taken.
func (w *walk) displaced(dir, base string) error {
	name := base
	if path.Base(dir)[0] != slashKind {
		name += "/"
	}
	if name <= w.o.After || !strings.HasPrefix(name, w.o.Prefix) {
		return nil
	}
	damaged := backend.Info{Name: name, Damaged: true}
	return w.add(func() { w.page.Objects = append(w.page.Objects, damaged) })
}

// concerns reports whether e is, or may hold, what the listing asks for.
func (w *walk) concerns(e entry) bool {
	return w.reaches(e) && (strings.HasPrefix(e.key, w.o.Prefix) || w.leads(e, w.o.Prefix))
}

// reaches reports whether e is, or may hold, a name that is neither before the prefix nor
// before the page. If it does, so do all entries after it, since none but the last of
// those before a name is a folder that the name may be in.
func (w *walk) reaches(e entry) bool {
	return (e.key >= w.o.Prefix || w.leads(e, w.o.Prefix)) &&
		(e.key > w.o.After || w.leads(e, w.o.After))
}

// leads reports whether e is a folder in which a name would lie, or begin.
func (w *walk) leads(e entry, name string) bool {
	return e.kind != objectKind && strings.HasPrefix(name, e.key)
}

func (w *walk) visit(dir string, e entry) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	at := join(dir, e.file)
	if p, ok := w.rollUp(e.key); ok {
		if p <= w.o.After || w.hasPrefix(p) {
			return nil
		}
		found, err := w.b.holdsObject(w.ctx, at, e)
		if err != nil || !found {
			return err
		}
		return w.add(func() { w.page.Prefixes = append(w.page.Prefixes, p) })
	}
	if e.kind != objectKind {
		return w.folder(at, e.key)
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

// hasPrefix reports whether p has been found before; it would be the last.
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
	o, err := b.openSettled(dir, e.file, e.key, false)
	if err != nil {
		return backend.Info{}, err
	}
	defer o.close()
	info := backend.Info{
		Name: e.key, Version: o.version(), Size: o.size, Modified: o.modified(),
		Damaged: o.damage != nil,
	}
	if info.Damaged && o.info != nil {
		info.Size = o.info.Size()
	}
	return info, nil
}

// holdsObject reports whether e, which lies there, is an object or holds one: folders may be
// empty, for a moment or after a crash, and an entry may be gone.
func (b *Backend) holdsObject(ctx context.Context, at string, e entry) (bool, error) {
	if e.kind == objectKind {
		_, err := b.disk.lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
	r, err := b.read(ctx, at)
	if errors.Is(err, syscall.ENOTDIR) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	entries := parseEntries(e.key, r.files, func(entry) bool { return true })
	slices.SortFunc(entries, func(a, b entry) int { return -cmp.Compare(a.kind, b.kind) })
	for _, e := range entries {
		found, err := b.holdsObject(ctx, join(at, e.file), e)
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
