package folder

import (
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

var update = flag.Bool("update", false, "write the golden files")

// clock is a store's clock that a test moves.
type clock struct{ time.Time }

func withClock(b *Backend) *clock {
	c := &clock{time.Unix(1_800_000_000, 123_456_789)}
	b.now = func() time.Time { return c.Time }
	return c
}

func only(t *testing.T, b *Backend) backend.Info {
	t.Helper()
	page, err := b.List(t.Context(), backend.ListOptions{})
	require.NoError(t, err)
	require.Len(t, page.Objects, 1)
	return page.Objects[0]
}

// TestTimes: all answers tell the time of one clock, and nothing of a monotonic one.
func TestTimes(t *testing.T) {
	b := New(t.TempDir())
	before := time.Now()
	at, err := b.Put(t.Context(), "name", nil, backend.IfAbsent())
	require.NoError(t, err)
	o, err := b.Get(t.Context(), "name", "")
	require.NoError(t, err)
	after := time.Now()
	times := []time.Time{before, only(t, b).Modified, at.Time, o.Time, after}
	for i, at := range times[1:] {
		require.False(t, at.Before(times[i].Round(0)), "in order: %v", times)
	}
	for _, at := range times[1:4] {
		require.Equal(t, at.Round(0), at, "a time that other machines can tell too")
	}
}

// TestAgeIsStored: what is done to a file, but for a write, makes the object neither older
// nor younger.
func TestAgeIsStored(t *testing.T) {
	b := New(t.TempDir())
	c := withClock(b)
	_, err := b.Put(t.Context(), "name", []byte("data"), backend.IfAbsent())
	require.NoError(t, err)
	path := filepath.Join(b.disk.dir, "@name")
	for what, touch := range map[string]func() error{
		"chmod": func() error { return os.Chmod(path, 0o600) },
		"touch": func() error { return os.Chtimes(path, time.Now(), time.Now()) },
		"copy": func() error {
			file, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.Remove(path))
			return os.WriteFile(path, file, 0o600)
		},
		"get": func() error {
			_, err := b.Get(t.Context(), "name", "")
			return err
		},
	} {
		c.Time = c.Add(time.Hour)
		require.NoError(t, touch())
		require.True(t, only(t, b).Modified.Equal(time.Unix(1_800_000_000, 123_456_789)), what)
	}
}

// TestModifiedIsNotBeforeTheEffect: a writer that is stopped for a day, at whatever moment
// before the effect, writes a young version, not one a day old.
func TestModifiedIsNotBeforeTheEffect(t *testing.T) {
	for _, op := range []string{"fill", "lock", "note", "rename"} {
		for _, held := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
			b := New(t.TempDir())
			c := withClock(b)
			at, err := b.Put(t.Context(), "name", []byte("old"), backend.IfAbsent())
			require.NoError(t, err)
			old := at.Version
			stopped := false
			b.disk.fault = func(step, rel string) error {
				if step == op && !stopped {
					stopped = true
					c.Time = c.Add(held)
				}
				return nil
			}
			at, err = b.Put(t.Context(), "name", []byte("new"), backend.IfVersion(old))
			require.NoError(t, err)
			require.True(t, stopped)
			info := only(t, b)
			require.Equal(t, c.Time, info.Modified.In(c.Location()), "stopped at %s", op)
			require.Equal(t, c.Time, at.Time)
			require.Equal(t, info.Version, at.Version)
			o, err := b.Get(t.Context(), "name", "")
			require.NoError(t, err)
			require.Equal(t, backend.Object{
				Data: []byte("new"), Version: at.Version, Time: c.Time,
			}, o)
			left, err := os.ReadDir(filepath.Join(b.disk.dir, tempDir))
			require.NoError(t, err)
			require.Empty(t, left)
		}
	}
}

// TestGolden reads the files of all formats, and writes that of the latest.
func TestGolden(t *testing.T) {
	written := time.Unix(1_800_000_000, 123_456_789)
	h := newHeader([]byte("data"), written)
	for i := range h.token {
		h.token[i] = byte(i)
	}
	token := backend.Version(hex.EncodeToString(h.token[:]))
	latest := filepath.Join("testdata", "format2")
	if *update {
		require.NoError(t, os.WriteFile(latest, append(h.append(nil), "data"...), 0o600))
	}
	file, err := os.ReadFile(latest)
	require.NoError(t, err)
	require.Equal(t, file, append(h.append(nil), "data"...))

	modified := time.Unix(1_700_000_000, 0)
	for name, want := range map[string]time.Time{"format1": modified, "format2": written} {
		file, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		b := New(t.TempDir())
		path := filepath.Join(b.disk.dir, "@name")
		require.NoError(t, os.WriteFile(path, file, 0o600))
		require.NoError(t, os.Chtimes(path, modified, modified))
		info := only(t, b)
		assert.True(t, want.Equal(info.Modified), "%s: %v", name, info.Modified)
		assert.Equal(t, backend.Info{
			Name: "name", Version: token, Size: 4, Modified: info.Modified,
		}, info)
		o, err := b.Get(t.Context(), "name", "")
		require.NoError(t, err)
		assert.Equal(t, "data", string(o.Data))
		_, err = b.Put(t.Context(), "name", nil, backend.IfVersion(token))
		require.NoError(t, err)
	}
}
