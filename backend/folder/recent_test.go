package folder

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv/backend"
)

// tick is more than the file systems' clocks of today's systems tick in.
const tick = 20 * time.Millisecond

// filled returns a store with n objects "c/000", "c/001", and so on, that keeps what a
// listing reads if the folder has been quiet for so long.
func filled(t *testing.T, n int, quiet time.Duration) *Backend {
	t.Helper()
	b := New(t.TempDir(), NoSync())
	b.recent.min, b.recent.quiet = n, quiet
	for i := range n {
		put(t, b, fmt.Sprintf("c/%03d", i))
	}
	return b
}

func put(t *testing.T, b *Backend, name string) backend.Version {
	t.Helper()
	v, err := b.Put(t.Context(), name, nil, backend.IfAbsent())
	require.NoError(t, err)
	return v.Version
}

func names(t *testing.T, b *Backend, o backend.ListOptions) []string {
	t.Helper()
	page, err := b.List(t.Context(), o)
	require.NoError(t, err)
	found := []string{}
	for _, o := range page.Objects {
		found = append(found, o.Name)
	}
	return found
}

// first is a page that ends within the folder.
var first = backend.ListOptions{Limit: 1}

// keeps lists a page that ends within the folder until its entries are kept.
func keeps(t *testing.T, b *Backend, o backend.ListOptions) {
	t.Helper()
	require.Eventually(t, func() bool {
		names(t, b, o)
		_, ok := b.recent.lookup("+c")
		return ok
	}, time.Minute, time.Millisecond, "the entries of a folder that is left alone are kept")
}

// TestPagesReadAFolderOnce: as long as it does not change, and not beyond the last page.
func TestPagesReadAFolderOnce(t *testing.T) {
	b := filled(t, 10, tick)
	keeps(t, b, first)
	// Nobody can change a folder without its time. This plants an entry into what is kept.
	b.recent.kept[0].entries[5] = entry{objectKind, "c/005 planted", "@planted"}
	require.Equal(t, []string{"c/003", "c/004", "c/006"},
		names(t, b, backend.ListOptions{After: "c/002", Limit: 3}), "names of a folder read once")
	require.Equal(t, []string{"c/008", "c/009"},
		names(t, b, backend.ListOptions{After: "c/007", Limit: 3}))
	require.Empty(t, b.recent.kept, "what is kept after the last page")
}

// TestKeptForAnyPage: what a page in the middle has read serves an earlier one too.
func TestKeptForAnyPage(t *testing.T) {
	b := filled(t, 10, tick)
	b.recent.min = 1
	keeps(t, b, backend.ListOptions{Prefix: "c/", After: "c/005", Limit: 1})
	require.Len(t, names(t, b, backend.ListOptions{}), 10)
}

// TestChangedFoldersAreReadAgain: what another process creates, replaces or deletes
// between two pages shows in the second.
func TestChangedFoldersAreReadAgain(t *testing.T) {
	b := filled(t, 10, tick)
	other := New(b.disk.dir, NoSync())
	rest := func() []string {
		return names(t, b, backend.ListOptions{Prefix: "c/", After: "c/006", Limit: 9})
	}
	keeps(t, b, first)
	v := put(t, other, "c/007 new")
	require.Equal(t, []string{"c/007", "c/007 new", "c/008", "c/009"}, rest())

	keeps(t, b, first)
	require.NoError(t, other.Delete(t.Context(), "c/007 new", v))
	require.Equal(t, []string{"c/007", "c/008", "c/009"}, rest())

	keeps(t, b, first)
	require.NoError(t, b.disk.rename("+c", "+d"))
	require.Empty(t, rest(), "names of a folder that was removed")
	put(t, other, "c/007")
	require.Equal(t, []string{"c/007"}, rest(), "names of a folder made anew")
}

// TestYoungTimesAreNotTrusted: within the tick of a change there may be another.
func TestYoungTimesAreNotTrusted(t *testing.T) {
	b := filled(t, 10, quietMin)
	names(t, b, backend.ListOptions{Limit: 1})
	require.Len(t, b.recent.kept, 1)
	require.Zero(t, b.recent.kept[0].changed)
	require.Greater(t, quietMin, 2*time.Second, "the tick of the coarsest file system, FAT")
}

// TestRecentIsBounded: small folders are not kept, and of large ones the latest.
func TestRecentIsBounded(t *testing.T) {
	r := newRecent()
	large := contents{entries: make([]entry, recentMin), changed: time.Unix(1, 0)}
	for i := range 3 * recentMax {
		r.keep(fmt.Sprint(i/2), large)
	}
	var dirs []string
	for _, k := range r.kept {
		dirs = append(dirs, k.dir)
	}
	require.Equal(t, []string{"2", "3", "4", "5"}, dirs)

	r = newRecent()
	r.keep("small", contents{entries: large.entries[1:], changed: large.changed})
	r.keep("no time", contents{entries: large.entries})
	require.Empty(t, r.kept)
}

// TestPagesBetweenWrites: whether the entries are kept, have just been, or are too young
// to be, a page shows all objects that were put before it.
func TestPagesBetweenWrites(t *testing.T) {
	b := filled(t, 10, tick)
	other := New(b.disk.dir, NoSync())
	for n := range 50 {
		if n%5 == 0 {
			keeps(t, b, first)
		}
		put(t, other, fmt.Sprintf("c/new%02d", n))
		require.Len(t, names(t, b, backend.ListOptions{After: "c/new"}), n+1)
		names(t, b, backend.ListOptions{Limit: 1})
	}
}

// TestPagesAtOnceReadAFolderOnce: else each of them, as of those that validate a scan, would have
// all of a large folder in memory.
func TestPagesAtOnceReadAFolderOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 40
		b := filled(t, n, time.Hour)
		b.recent.min = n / 2
		var reads atomic.Int32
		begun := make(chan struct{})
		b.disk.fault = func(op, _ string) error {
			if op == "readdir" {
				reads.Add(1)
				<-begun
			}
			return nil
		}
		var g errgroup.Group
		for i := range n - 1 { // and not the last page, which forgets what is kept
			g.Go(func() error {
				after := fmt.Sprintf("c/%03d", i)
				page, err := b.List(t.Context(), backend.ListOptions{After: after, Limit: 1})
				if err == nil {
					assert.Equal(t, fmt.Sprintf("c/%03d", i+1), page.Objects[0].Name)
				}
				return err
			})
		}
		synctest.Wait()
		close(begun)
		require.NoError(t, g.Wait())
		require.LessOrEqual(t, reads.Load(), int32(2))
	})
}
