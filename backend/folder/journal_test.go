package folder

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// busy returns a store with objects c/000 to c/009, of which a page has just been listed,
// another client of it, and the number of times that the folder is read.
func busy(t *testing.T) (b, other *Backend, reads *int) {
	t.Helper()
	b = filled(t, 10, time.Hour)
	reads = new(int)
	b.disk.fault = func(op, rel string) error {
		if op == "open" && rel == "+c" {
			*reads++
		}
		return nil
	}
	require.Equal(t, []string{"c/000"}, names(t, b, first))
	require.Equal(t, 1, *reads)
	return b, New(b.disk.dir, NoSync()), reads
}

// TestPagesBesideAWriter: a folder that others write to is read once, and yet each page
// shows what was created before it.
func TestPagesBesideAWriter(t *testing.T) {
	b, other, reads := busy(t)
	for i := range 9 {
		name := fmt.Sprintf("c/%03d", i)
		put(t, other, name+" new")
		elsewhere := put(t, other, "d/another folder")
		put(t, other, name+" below/object")
		o, err := b.Get(t.Context(), name, "")
		require.NoError(t, err)
		_, err = other.Put(t.Context(), name, nil, backend.IfVersion(o.Version))
		require.NoError(t, err)
		v := put(t, other, name+" passing")
		require.NoError(t, other.Delete(t.Context(), name+" passing", v))

		page := names(t, b, backend.ListOptions{Prefix: "c/", After: name, Limit: 2})
		require.Equal(t, []string{name + " below/object", name + " new"}, page)
		require.NoError(t, other.Delete(t.Context(), "d/another folder", elsewhere))
	}
	require.Equal(t, 1, *reads, "times that the folder was read")
}

// TestPrefixesOfWhatIsGone: an object that was deleted after its folder was read makes no
// prefix.
func TestPrefixesOfWhatIsGone(t *testing.T) {
	b, other, _ := busy(t)
	v := put(t, other, "c/below/object")
	require.Len(t, names(t, b, backend.ListOptions{Prefix: "c/", Limit: 10}), 10)
	require.NoError(t, other.Delete(t.Context(), "c/below/object", v))
	o, err := b.Get(t.Context(), "c/009", "")
	require.NoError(t, err)
	require.NoError(t, other.Delete(t.Context(), "c/009", o.Version))
	page, err := b.List(t.Context(), backend.ListOptions{Prefix: "c/", Delimiter: "9"})
	require.NoError(t, err)
	require.Empty(t, page.Prefixes)
	page, err = b.List(t.Context(), backend.ListOptions{Prefix: "c/", Delimiter: "/"})
	require.NoError(t, err)
	require.Empty(t, page.Prefixes)
}

// TestEntriesThatAreSkipped: POSIX lets a file system skip an entry that is being replaced
// while the folder is read. This one is away until it is.
func TestEntriesThatAreSkipped(t *testing.T) {
	b := filled(t, 10, time.Hour)
	b.recent.min = 3
	other := New(b.disk.dir, NoSync())
	path := b.disk.dir + "/+c/@005"
	o, err := b.Get(t.Context(), "c/005", "")
	require.NoError(t, err)
	require.NoError(t, os.Rename(path, path+".away"))
	locks, read := 0, false
	b.disk.fault = func(op, rel string) error {
		read = read || op == "readdir"
		if !read || op != "open" || !strings.HasPrefix(rel, lockDir) {
			return nil
		}
		if locks++; locks == 1 { // The folder has been read.
			require.NoError(t, os.Rename(path+".away", path))
			_, err := other.Put(t.Context(), "c/005", nil, backend.IfVersion(o.Version))
			require.NoError(t, err)
		}
		return nil
	}
	require.Len(t, names(t, b, backend.ListOptions{}), 10)
	require.Equal(t, 1, locks)
}

// TestLargeFoldersAreReadUnlocked: others write meanwhile.
func TestLargeFoldersAreReadUnlocked(t *testing.T) {
	b := filled(t, 10, time.Hour)
	other := New(b.disk.dir, NoSync())
	b.disk.fault = func(op, rel string) error {
		if op == "readdir" {
			put(t, other, "c/new")
		}
		return nil
	}
	require.Contains(t, names(t, b, backend.ListOptions{}), "c/new")
}

// TestJournalIsBounded: who is too far behind reads the folder anew.
func TestJournalIsBounded(t *testing.T) {
	b, other, reads := busy(t)
	h, err := other.lock(t.Context(), "+c")
	require.NoError(t, err)
	for range journalMax / 100 {
		require.NoError(t, h.note(strings.Repeat("x", 100)))
		require.LessOrEqual(t, h.size, int64(journalMax))
		require.NoError(t, h.check(), "the size is that of the file")
	}
	h.release()
	put(t, other, "c/000 new")
	require.Equal(t, []string{"c/000 new"},
		names(t, b, backend.ListOptions{Prefix: "c/", After: "c/000", Limit: 1}))
	require.Equal(t, 2, *reads)
}

// TestTooMuchIsNotedWhileReading: then the folder is read under its lock.
func TestTooMuchIsNotedWhileReading(t *testing.T) {
	b := filled(t, 10, time.Hour)
	other := New(b.disk.dir, NoSync())
	reads := 0
	b.disk.fault = func(op, rel string) error {
		if op != "readdir" {
			return nil
		}
		reads++
		h, err := other.lock(t.Context(), "+c")
		if reads == 2 {
			t.Error("not locked")
		}
		require.NoError(t, err)
		require.NoError(t, h.begin(""))
		h.release()
		put(t, other, "c/new")
		b.disk.fault = nil
		return nil
	}
	require.Len(t, names(t, b, backend.ListOptions{}), 11)
}

// TestJournalOfTheDead: half a line of a writer that died hides no other, and what a power
// cut has left is begun anew.
func TestJournalOfTheDead(t *testing.T) {
	b, other, reads := busy(t)
	h, err := other.lock(t.Context(), "+c")
	require.NoError(t, err)
	require.NoError(t, h.write("\n+c/@00"))
	path := b.disk.dir + "/" + h.path
	h.release()
	put(t, other, "c/000 new")
	next := backend.ListOptions{Prefix: "c/", After: "c/000", Limit: 1}
	require.Equal(t, []string{"c/000 new"}, names(t, b, next))
	require.Equal(t, 1, *reads)

	require.NoError(t, os.WriteFile(path, make([]byte, 1000), 0o600))
	put(t, other, "c/000 also")
	require.Equal(t, []string{"c/000 also"}, names(t, b, next))
	require.Equal(t, []string{"c/000 also"}, names(t, b, next))
	require.Equal(t, 2, *reads)

	require.NoError(t, os.Remove(path))
	put(t, other, "c/000 again")
	require.Equal(t, []string{"c/000 again"}, names(t, b, next))
	require.Equal(t, 3, *reads)
}

// TestPutThereByHand: it is listed after a while.
func TestPutThereByHand(t *testing.T) {
	b, _, reads := busy(t)
	c := withClock(b)
	b.recent.kept[0].read = c.Time
	file, err := os.ReadFile(b.disk.dir + "/+c/@000")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(b.disk.dir+"/+c/@000a", file, 0o600))
	c.Time = c.Add(recentAge + 1)
	require.Contains(t, names(t, b, backend.ListOptions{}), "c/000a")
	require.Equal(t, 2, *reads)
}

// TestFullDisk: nothing can be made or grow any more. Deletes work, and so do writes that
// still find space for their data.
func TestFullDisk(t *testing.T) {
	b := New(t.TempDir())
	versions := map[string]backend.Version{}
	for _, name := range []string{"a", "b/c", "d/e/f"} {
		versions[name] = put(t, b, name)
	}
	full := map[string]bool{"mkdir": true, "fill": true, "note": true}
	b.disk.fault = func(op, rel string) error {
		_, err := os.Lstat(b.disk.dir + "/" + rel)
		if full[op] || full["create"] && op == "open" && err != nil {
			return syscall.ENOSPC
		}
		return nil
	}
	for name, v := range versions {
		_, err := b.Put(t.Context(), name, nil, backend.IfVersion(v))
		require.ErrorIs(t, err, backend.ErrUnavailable)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.NotErrorIs(t, err, backend.ErrOutcomeUnknown)
	}
	delete(full, "fill")
	at, err := b.Put(t.Context(), "b/c", nil, backend.IfVersion(versions["b/c"]))
	require.NoError(t, err, "the journal has no space")
	versions["b/c"] = at.Version
	full["create"] = true
	require.Len(t, names(t, b, backend.ListOptions{}), 3)
	for name, v := range versions {
		require.NoError(t, b.Delete(t.Context(), name, v))
	}
	require.Empty(t, names(t, b, backend.ListOptions{}))
}
