package pebble_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/backendtest"
	"github.com/strictkv/strictkv/backend/pebble"
)

func open(t testing.TB, dir string, options ...pebble.Option) *pebble.Backend {
	t.Helper()
	b, err := pebble.Open(dir, options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func create(t testing.TB, b backend.Backend, name string, data []byte) backend.Version {
	t.Helper()
	at, err := b.Put(t.Context(), name, data, backend.IfAbsent())
	require.NoError(t, err, "create %q", name)
	return at.Version
}

func read(t testing.TB, b backend.Backend, name string) []byte {
	t.Helper()
	o, err := b.Get(t.Context(), name, "")
	require.NoError(t, err, "get %q", name)
	return o.Data
}

func TestConformance(t *testing.T) {
	t.Run("sync", func(t *testing.T) { testConformance(t) })
	t.Run("no sync", func(t *testing.T) { testConformance(t, pebble.NoSync()) })
}

func testConformance(t *testing.T, options ...pebble.Option) {
	backendtest.Run(t, func(t *testing.T) backendtest.Harness {
		return backendtest.Harness{
			Backend: open(t, t.TempDir(), options...), Clock: time.Now,
			HostileNames: []string{
				".", "..", "\x00", "\xff", "\xc3", "a\x00b", "\n", strings.Repeat("\xff", 1024),
				strings.Repeat("/", 1024), "f", "o",
			},
		}
	})
}

// TestVersionsNeverRecur: not after a deletion, nor in a later process.
func TestVersionsNeverRecur(t *testing.T) {
	dir := t.TempDir()
	seen := map[backend.Version]bool{}
	for range 3 {
		b, err := pebble.Open(dir)
		require.NoError(t, err)
		for range 3 {
			v := create(t, b, "name", []byte("same"))
			require.False(t, seen[v], "version %q came back", v)
			seen[v] = true
			require.NoError(t, b.Delete(t.Context(), "name", v))
		}
		require.NoError(t, b.Close())
	}
}

func TestOpenErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	damaged := t.TempDir()
	require.NoError(t, open(t, damaged).Close())
	manifests, err := filepath.Glob(filepath.Join(damaged, "MANIFEST-*"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(manifests[0], make([]byte, 1000), 0o600))
	for dir, want := range map[string]error{
		"": backend.ErrInvalid, file: backend.ErrBucketNotFound,
		filepath.Join(file, "below"): backend.ErrBucketNotFound, damaged: backend.ErrCorrupt,
	} {
		b, err := pebble.Open(dir)
		require.ErrorIs(t, err, want, dir)
		assert.Nil(t, b)
	}
}

// TestInUse: a directory belongs to one Backend, whatever it is called.
func TestInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	b := open(t, dir)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	t.Chdir(filepath.Dir(dir))
	for _, name := range []string{dir, link, "b", "./b/"} {
		_, err := pebble.Open(name)
		require.ErrorIs(t, err, pebble.ErrInUse, name)
		require.ErrorIs(t, err, backend.ErrUnavailable, name)
	}
	create(t, b, "name", nil)
	require.NoError(t, b.Close())
	assert.Empty(t, read(t, open(t, link), "name"))
}

func TestClose(t *testing.T) {
	b := open(t, t.TempDir())
	v := create(t, b, "name", nil)
	require.NoError(t, b.Close())
	require.NoError(t, b.Close(), "a second time")
	_, err := b.Get(t.Context(), "name", v)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	_, err = b.Put(t.Context(), "name", nil, backend.IfVersion(v))
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.ErrorIs(t, b.Delete(t.Context(), "name", v), backend.ErrUnavailable)
	_, err = b.List(t.Context(), backend.ListOptions{})
	require.ErrorIs(t, err, backend.ErrUnavailable)
}

func TestLimits(t *testing.T) {
	b := open(t, t.TempDir())
	_, err := b.Put(t.Context(), strings.Repeat("x", 1025), nil, backend.IfAbsent())
	require.ErrorIs(t, err, backend.ErrInvalid)
	_, err = b.Put(t.Context(), "x", make([]byte, backend.ObjectMax+1), backend.IfAbsent())
	require.ErrorIs(t, err, backend.ErrInvalid)
	_, err = b.List(t.Context(), backend.ListOptions{Limit: -1})
	require.ErrorIs(t, err, backend.ErrInvalid)
}

// TestSizes: an object that grows and shrinks is one at any time, in the log, in tables and
// after opening.
func TestSizes(t *testing.T) {
	for _, options := range [][]pebble.Option{
		nil, {pebble.NoSync(), pebble.CacheSize(1 << 20), pebble.WriteBuffer(64 << 20)},
		{pebble.WriteBuffer(1)},
	} {
		dir := t.TempDir()
		b := open(t, dir, options...)
		c := backend.IfAbsent()
		for i, size := range []int{
			0, 1, 5000, pebble.FileMin - 1, pebble.FileMin, 3 * pebble.FileMin, 7, 9 << 20, 0,
			pebble.FileMin,
		} {
			data := bytes.Repeat([]byte{byte(i)}, size)
			at, err := b.Put(t.Context(), "name", data, c)
			require.NoError(t, err)
			c = backend.IfVersion(at.Version)
			for _, change := range []func(){
				func() {}, func() { require.NoError(t, b.Flush()) },
				func() {
					require.NoError(t, b.Close())
					b = open(t, dir, options...)
				},
			} {
				change()
				require.True(t, bytes.Equal(data, read(t, b, "name")), "%d bytes", size)
				_, err := b.Get(t.Context(), "name", at.Version)
				require.ErrorIs(t, err, backend.ErrNotModified)
				page, err := b.List(t.Context(), backend.ListOptions{})
				require.NoError(t, err)
				require.Len(t, page.Objects, 1)
				require.EqualValues(t, size, page.Objects[0].Size)
				require.Equal(t, at.Version, page.Objects[0].Version)
			}
		}
		require.NoError(t, b.Close())
		assert.Len(t, filesIn(t, dir), 1, "files of states that are gone")
	}
}

// filesIn are the names of large objects' files.
func filesIn(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(filepath.Join(dir, "objects"))
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestRefusedLarge: a large object that is refused leaves nothing.
func TestRefusedLarge(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	large := make([]byte, pebble.FileMin)
	create(t, b, "name", large)
	var racing sync.WaitGroup
	for range 8 {
		racing.Go(func() {
			_, err := b.Put(t.Context(), "another", large, backend.IfAbsent())
			if err != nil {
				assert.ErrorIs(t, err, backend.ErrPrecondition)
			}
		})
	}
	racing.Wait()
	assert.Len(t, filesIn(t, dir), 2)
}

// TestReplacedWhileRead: who reads a large object that others replace gets one of its states.
func TestReplacedWhileRead(t *testing.T) {
	b := open(t, t.TempDir(), pebble.NoSync())
	v := create(t, b, "name", make([]byte, pebble.FileMin))
	var reading sync.WaitGroup
	over := make(chan struct{})
	for range 2 {
		reading.Go(func() {
			for {
				o, err := b.Get(t.Context(), "name", "")
				if !assert.NoError(t, err) ||
					!assert.Equal(t, len(o.Data), bytes.Count(o.Data, o.Data[:1])) {
					return
				}
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	for i := range 200 {
		data := bytes.Repeat([]byte{byte(i)}, pebble.FileMin)
		at, err := b.Put(t.Context(), "name", data, backend.IfVersion(v))
		require.NoError(t, err)
		v = at.Version
	}
	close(over)
	reading.Wait()
}

// TestHeldUp: a write that was held up is as old as its effect.
func TestHeldUp(t *testing.T) {
	b := open(t, t.TempDir())
	now, step := time.Now(), time.Minute
	b.SetClock(func() time.Time {
		now = now.Add(step)
		step /= 2
		return now
	})
	at, err := b.Put(t.Context(), "name", nil, backend.IfAbsent())
	require.NoError(t, err)
	o, err := b.Get(t.Context(), "name", "")
	require.NoError(t, err)
	assert.Equal(t, at.Version, o.Version)
	assert.LessOrEqual(t, at.Time.Sub(o.Modified), 10*time.Second)
}
