package folder

import (
	"context"
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
)

// contents are the entries of a folder at one instant.
type contents struct {
	entries []entry // in order
	changed time.Time
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
// it, and which nobody can set back.
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

// keep notes the contents of a folder, unless they are few, or their time of change does
// not tell of the next one.
func (r *recent) keep(dir string, c contents) {
	if len(c.entries) < r.min || c.changed.IsZero() {
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

// contents returns the entries of a folder that match, and maybe others.
func (b *Backend) contents(
	ctx context.Context, dir, base string, match func(entry) bool,
) (contents, error) {
	if c, ok := b.recent.lookup(dir); ok {
		now, err := b.disk.changed(dir)
		if err == nil && now.Equal(c.changed) {
			return c, nil
		}
		b.recent.forget(dir)
	}
	files, changed, err := b.files(ctx, dir)
	if err != nil {
		return contents{}, err
	}
	if !changed.IsZero() {
		match = func(entry) bool { return true } // The next page may want others.
	}
	c := contents{parseEntries(base, files, match), changed}
	slices.SortFunc(c.entries, compare)
	return c, nil
}
