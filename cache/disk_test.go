package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/cache"
)

// process opens a database with a cache in a directory, and returns what closes both.
func process(
	t *testing.T, b backend.Backend, dir string,
) (*strictkv.DB, *cache.Cache, func()) {
	t.Helper()
	c, err := cache.Open(dir, 32<<20)
	require.NoError(t, err)
	db, err := strictkv.Open(t.Context(), "db", b, strictkv.WithCache(c))
	require.NoError(t, err)
	return db, c, func() {
		t.Helper()
		require.NoError(t, db.Close(context.Background()))
		require.NoError(t, c.Close())
	}
}

func value(key []byte, round, size int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%s-%d ", key, round), size)[:size]
}

// write writes the values of a round.
func write(t *testing.T, db *strictkv.DB, keys [][]byte, round, size int) {
	t.Helper()
	for _, key := range keys {
		c := db.Collection([]byte("c"))
		require.NoError(t, c.Write(t.Context(), key, value(key, round, size)))
	}
}

// check reads the values of a round.
func check(t *testing.T, db *strictkv.DB, keys [][]byte, round, size int) {
	t.Helper()
	for _, key := range keys {
		got, err := db.Collection([]byte("c")).Read(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, value(key, round, size), got)
	}
}

func keys(n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = fmt.Appendf(nil, "key-%03d", i)
	}
	return all
}

// After a restart what has not changed is not moved again, and what has changed is.
func TestRestart(t *testing.T) {
	const n, small, large = 20, 10_000, strictkv.DefaultInlineMax + 1000
	for _, size := range []int{small, large} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			ctx, b, dir := t.Context(), memory.New(), t.TempDir()
			n := min(n, 20<<20/size)
			db, _, done := process(t, b, dir)
			write(t, db, keys(n), 1, size)
			done()

			other, err := strictkv.Open(ctx, "db", b)
			require.NoError(t, err)
			write(t, other, keys(1), 2, size)
			require.NoError(t, other.Close(ctx))

			db, c, done := process(t, b, dir)
			check(t, db, keys(n)[1:], 1, size)
			check(t, db, keys(1), 2, size)
			s := db.Stats()
			assert.Less(t, s.BytesRead, int64(size+5000))
			assert.GreaterOrEqual(t, s.DiskHits, int64(n-1))
			assert.GreaterOrEqual(t, s.NotModified, int64(n-1))
			assert.Zero(t, c.Disk().Damaged)
			done()
		})
	}
}

// After a restart a scan costs its listings.
func TestScanAfterRestart(t *testing.T) {
	const n, size = 50, 1000
	ctx, b, dir := t.Context(), memory.New(), t.TempDir()
	db, _, done := process(t, b, dir)
	write(t, db, keys(n), 1, size)
	done()
	other, err := strictkv.Open(ctx, "db", b)
	require.NoError(t, err)
	require.NoError(t, other.Collection([]byte("c")).Write(ctx, keys(n)[3], []byte("new")))
	require.NoError(t, other.Collection([]byte("c")).Delete(ctx, keys(n)[4]))
	require.NoError(t, other.Close(ctx))

	db, _, done = process(t, b, dir)
	before, got := db.Stats(), map[string]string{}
	err = db.View(ctx, func(tx *strictkv.Tx) error {
		clear(got)
		for item, err := range tx.Scan(db.Collection([]byte("c")), strictkv.Range{}) {
			if err != nil {
				return err
			}
			got[string(item.Key)] = string(item.Value)
		}
		return nil
	})
	require.NoError(t, err)
	for i, key := range keys(n) {
		switch i {
		case 3:
			assert.Equal(t, "new", got[string(key)])
		case 4:
			assert.NotContains(t, got, string(key))
		default:
			assert.Equal(t, string(value(key, 1, size)), got[string(key)])
		}
	}
	s := db.Stats().Sub(before)
	assert.EqualValues(t, 1, s.Gets)
	assert.EqualValues(t, n-2, s.DiskHits)
	done()
}

// What a restart finds is not known to be fresh.
func TestWeakReadAfterRestart(t *testing.T) {
	ctx, b, dir := t.Context(), memory.New(), t.TempDir()
	db, _, done := process(t, b, dir)
	c := []byte("c")
	require.NoError(t, db.Collection(c).Write(ctx, keys(1)[0], []byte("old")))
	done()
	other, err := strictkv.Open(ctx, "db", b)
	require.NoError(t, err)
	require.NoError(t, other.Collection(c).Write(ctx, keys(1)[0], []byte("new")))
	require.NoError(t, other.Close(ctx))

	db, _, done = process(t, b, dir)
	got, err := db.Collection(c).ReadWeak(ctx, keys(1)[0], 1<<62)
	require.NoError(t, err)
	assert.Equal(t, "new", string(got))
	done()
}

// A directory of another database, an old one, or a damaged one: reads are right.
func TestWrongDirectory(t *testing.T) {
	const n = 20
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"of another database": func(t *testing.T, dir string) {
			db, _, done := process(t, memory.New(), dir)
			write(t, db, keys(n), 9, 900)
			done()
		},
		"damaged": func(t *testing.T, dir string) {
			for _, file := range segments(t, dir) {
				b, err := os.ReadFile(file)
				require.NoError(t, err)
				for i := 100; i < len(b); i += 1000 {
					b[i]++
				}
				require.NoError(t, os.WriteFile(file, b, 0o600))
			}
		},
		"cut": func(t *testing.T, dir string) {
			for _, file := range segments(t, dir) {
				require.NoError(t, os.Truncate(file, 5000))
			}
		},
		"removed": func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(dir)) },
	} {
		t.Run(name, func(t *testing.T) {
			b, dir := memory.New(), filepath.Join(t.TempDir(), "new", "dir")
			for round := range 3 {
				db, _, done := process(t, b, dir)
				if round > 0 {
					check(t, db, keys(n), round-1, 900)
				}
				write(t, db, keys(n), round, 900)
				done()
				spoil(t, dir)
			}
		})
	}
}

// An old state of a directory is as good as none where things have changed.
func TestOldDirectory(t *testing.T) {
	b, dir := memory.New(), t.TempDir()
	for round := range 3 {
		old := filepath.Join(t.TempDir(), "old")
		if round > 0 {
			require.NoError(t, os.CopyFS(old, os.DirFS(dir)))
		}
		db, _, done := process(t, b, dir)
		write(t, db, keys(20), round, 900)
		done()
		if round == 0 {
			continue
		}
		db, _, done = process(t, b, old)
		check(t, db, keys(20), round, 900)
		done()
	}
}

func segments(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := cache.Open(dir, cache.DiskSizeMin-1)
	assert.ErrorIs(t, err, backend.ErrInvalid)
	assert.ErrorContains(t, err, "1048575 bytes, want 1048576 to 1099511627776")
	_, err = cache.Open(dir, cache.DiskSizeMax+1)
	assert.ErrorIs(t, err, backend.ErrInvalid)
	_, err = cache.Open(dir, cache.DiskSizeMin, nil)
	assert.ErrorIs(t, err, backend.ErrInvalid)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = cache.Open(file, cache.DiskSizeMin)
	assert.ErrorContains(t, err, file)

	c, err := cache.Open(dir, cache.DiskSizeMin)
	require.NoError(t, err)
	_, err = cache.Open(dir, cache.DiskSizeMin)
	assert.ErrorIs(t, err, cache.ErrInUse)
	assert.ErrorContains(t, err, dir)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	c, err = cache.Open(dir, cache.DiskSizeMin, cache.Synced(), cache.Memory(0))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, cache.New(0).Close())
	assert.Zero(t, cache.New(0).Disk())
}

// The files are nobody else's business, and don't show which keys they are of.
func TestFileModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	db, _, done := process(t, memory.New(), dir)
	require.NoError(t, db.Collection([]byte("c")).Write(t.Context(), []byte("k"), []byte("v")))
	done()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		assert.Zero(t, strings.Compare("-rw-------", info.Mode().String()), e.Name())
	}
}

// foreign refuses versions: they are of another store's form.
type foreign struct{ backend.Backend }

func (f foreign) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	if known != "" {
		return backend.Object{}, backend.ErrInvalid
	}
	return f.Backend.Get(ctx, name, known)
}

// The objects of a database were copied to a store of another kind: its id is the same.
func TestVersionsOfAnotherStore(t *testing.T) {
	b, dir := memory.New(), t.TempDir()
	db, _, done := process(t, b, dir)
	write(t, db, keys(3), 1, 900)
	done()
	db, _, done = process(t, foreign{b}, dir)
	check(t, db, keys(3), 1, 900)
	assert.Zero(t, db.Stats().DiskHits)
	done()
}

// Files that somebody has removed are no reason to stop.
func TestRemovedUnderneath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files can't be removed: run it on another system")
	}
	b, dir := memory.New(), t.TempDir()
	c, err := cache.Open(dir, cache.DiskSizeMin)
	require.NoError(t, err)
	db, err := strictkv.Open(t.Context(), "db", b, strictkv.WithCache(c))
	require.NoError(t, err)
	write(t, db, keys(100), 1, 5000)
	require.NoError(t, db.Close(t.Context()))
	require.NoError(t, c.Close())
	c, err = cache.Open(dir, cache.DiskSizeMin, cache.Memory(0))
	require.NoError(t, err)
	db, err = strictkv.Open(t.Context(), "db", b, strictkv.WithCache(c))
	require.NoError(t, err)
	for _, file := range segments(t, dir) {
		require.NoError(t, os.Remove(file))
	}
	for round := range 5 {
		write(t, db, keys(100), round, 5000)
		check(t, db, keys(100), round, 5000)
	}
	require.NoError(t, db.Close(t.Context()))
	require.NoError(t, c.Close())
	assert.Zero(t, c.Disk().Dropped+c.Disk().Discarded)
	db, _, done := process(t, b, dir)
	check(t, db, keys(100), 4, 5000)
	assert.Positive(t, db.Stats().DiskHits)
	done()
}

// After a restart a follower that begins anew costs its listing.
func TestFollowAfterRestart(t *testing.T) {
	const n = 50
	b, dir := memory.New(), t.TempDir()
	db, _, done := process(t, b, dir)
	write(t, db, keys(n), 1, 900)
	done()
	other, err := strictkv.Open(t.Context(), "db", b)
	require.NoError(t, err)
	write(t, other, keys(1), 2, 900)
	require.NoError(t, other.Close(t.Context()))

	db, _, done = process(t, b, dir)
	before, got := db.Stats(), map[string][]byte{}
	all := db.Collection([]byte("c")).Follow(
		t.Context(), strictkv.Position{}, strictkv.FollowOnce())
	for change, err := range all {
		require.NoError(t, err)
		if change.Pass == nil {
			got[string(change.Key)] = change.Value
		}
	}
	require.Len(t, got, n)
	for i, key := range keys(n) {
		require.Equal(t, value(key, 1+max(1-i, 0), 900), got[string(key)])
	}
	s := db.Stats().Sub(before)
	assert.EqualValues(t, 1, s.Gets)
	assert.EqualValues(t, n-1, s.DiskHits)
	done()
}
