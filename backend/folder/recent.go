package folder

import (
	"context"
	"hash/crc32"
	"slices"
	"sort"
	"sync"
	"time"
)

const (
	// recentMax is how many folders' entries are kept, and recentMin the number of
	// entries below which it is cheaper to read them again.
	recentMax = 4
	recentMin = 1000

	// quietMin is for how long a folder must have been left alone when it is read, or
	// the next change could leave it with the time of the last: file systems' clocks
	// tick in up to 2 s.
	quietMin = 3 * time.Second

	// recentAge is for how long entries are used while others write to the folder. What is
	// put there by hand is noted nowhere.
	recentAge = 10 * time.Second
)

// contents are the entries of a folder at one instant, and maybe some that are gone.
type contents struct {
	entries []entry // in order
	read    time.Time
	changed time.Time // zero: the next change may leave it
	mark    mark      // of what the entries hold
}

// from is the index of the first entry that reaches: if one does, so do those after it.
func (c contents) from(reaches func(entry) bool) int {
	return sort.Search(len(c.entries), func(i int) bool { return reaches(c.entries[i]) })
}

// recent holds the contents of large folders that a page of a listing has ended in. The
// next page would have to read all of the folder again, and the pages of a folder would
// take the square of its size.
//
// Contents are as good as read anew if the folder has not changed since. That shows in
// its time of change, which every creation and removal moves, whichever process makes
// it, and which nobody can set back. If it has changed, the journal tells what is new.
type recent struct {
	min   int
	quiet time.Duration

	mu   sync.Mutex // guards kept
	kept []kept     // the oldest first
}

type kept struct {
	dir string
	contents
}

func newRecent() *recent { return &recent{min: recentMin, quiet: quietMin} }

// keep notes the contents of a folder, unless they are few, or nothing tells of the next
// change.
func (r *recent) keep(dir string, c contents) {
	if len(c.entries) < r.min || c.changed.IsZero() && c.mark == (mark{}) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(dir)
	if len(r.kept) == recentMax {
		r.kept = slices.Delete(r.kept, 0, 1)
	}
	r.kept = append(r.kept, kept{dir, c})
}

// forget drops a folder, of which no further page will be asked for.
func (r *recent) forget(dir string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(dir)
}

func (r *recent) drop(dir string) {
	r.kept = slices.DeleteFunc(r.kept, func(k kept) bool { return k.dir == dir })
}

// lookup returns what is kept of a folder.
func (r *recent) lookup(dir string) (contents, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.kept {
		if k.dir == dir {
			return k.contents, true
		}
	}
	return contents{}, false
}

// contents returns the entries of a folder that match, and maybe others. Pages that are listed at
// once read it one after another: the second finds what the first one has kept. Else each would
// have all of a large folder in memory, and all of them take the square of its size.
func (b *Backend) contents(
	ctx context.Context, dir, base string, match func(entry) bool,
) (contents, error) {
	gate := b.readers[crc32.Checksum([]byte(dir), castagnoli)%shards]
	select {
	case gate <- struct{}{}:
		defer func() { <-gate }()
	case <-ctx.Done():
		return contents{}, ctx.Err()
	}
	if c, ok := b.recent.lookup(dir); ok {
		now, err := b.disk.changed(dir)
		if err == nil && !c.changed.IsZero() && now.Equal(c.changed) {
			return c, nil
		}
		if c, ok := b.renew(ctx, dir, base, c); ok {
			b.recent.keep(dir, c)
			return c, nil
		}
		b.recent.forget(dir)
	}
	r, err := b.read(ctx, dir)
	if err != nil {
		return contents{}, err
	}
	if !r.changed.IsZero() || r.mark != (mark{}) {
		match = func(entry) bool { return true } // The next page may want others.
	}
	c := contents{parseEntries(base, r.files, match), r.began, r.changed, r.mark}
	slices.SortFunc(c.entries, compare)
	c.entries = slices.Compact(c.entries)
	b.recent.keep(dir, c)
	return c, nil
}

// renew adds to the contents of a folder what others have put there since.
func (b *Backend) renew(ctx context.Context, dir, base string, c contents) (contents, bool) {
	if age := b.now().Sub(c.read); age < 0 || age > recentAge {
		return contents{}, false
	}
	h, err := b.lock(ctx, dir)
	if err != nil {
		return contents{}, false
	}
	files, end, ok := h.since(dir, c.mark)
	h.release()
	if !ok {
		return contents{}, false
	}
	added := parseEntries(base, files, func(e entry) bool {
		_, known := slices.BinarySearchFunc(c.entries, e, compare)
		return !known
	})
	c.entries = merge(c.entries, added)
	c.changed, c.mark = time.Time{}, end
	return c, true
}

// merge returns entries that are in order together with others that are none of them. It
// leaves them as they are: somebody may be reading them.
func merge(entries, added []entry) []entry {
	if len(added) == 0 {
		return entries
	}
	slices.SortFunc(added, compare)
	all := make([]entry, 0, len(entries)+len(added))
	for _, e := range slices.Compact(added) {
		i, _ := slices.BinarySearchFunc(entries, e, compare)
		all = append(append(all, entries[:i]...), e)
		entries = entries[i:]
	}
	return append(all, entries...)
}
