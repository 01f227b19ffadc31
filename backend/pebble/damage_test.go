package pebble_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/pebble"
)

// TestDamagedFile: a large object whose file is damaged spoils itself alone, and can be removed.
func TestDamagedFile(t *testing.T) {
	for what, damage := range map[string]func(path string) error{
		"changed": func(path string) error {
			return os.WriteFile(path, make([]byte, pebble.FileMin), 0o600)
		},
		"cut":     func(path string) error { return os.Truncate(path, 7) },
		"missing": os.Remove,
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			b := open(t, dir)
			create(t, b, "other", []byte("sound"))
			v := create(t, b, "name", bytes.Repeat([]byte("x"), pebble.FileMin))
			require.NoError(t, damage(filepath.Join(dir, "objects", filesIn(t, dir)[0])))
			o, err := b.Get(t.Context(), "name", "")
			require.ErrorIs(t, err, backend.ErrCorrupt)
			if what != "missing" {
				assert.Equal(t, v, o.Version, "at which Delete removes it")
			}
			assert.Equal(t, "sound", string(read(t, b, "other")))
			require.NoError(t, b.Delete(t.Context(), "name", v))
			create(t, b, "name", nil)
		})
	}
}

// TestUnknownKind: what a newer program has written is listed as damaged, and stays.
func TestUnknownKind(t *testing.T) {
	b := open(t, t.TempDir())
	for _, value := range []string{
		"", "short", strings.Repeat("\x09", 60), "\x02" + strings.Repeat("x", 40),
	} {
		require.NoError(t, b.SetValue("name", []byte(value)))
		_, err := b.Get(t.Context(), "name", "")
		require.ErrorIs(t, err, backend.ErrCorrupt)
		_, err = b.Put(t.Context(), "name", nil, backend.IfAbsent())
		require.ErrorIs(t, err, backend.ErrCorrupt)
		require.ErrorIs(t, b.Delete(t.Context(), "name", "v"), backend.ErrCorrupt)
		page, err := b.List(t.Context(), backend.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, []backend.Info{
			{Name: "name", Size: int64(len(value)), Damaged: true},
		}, page.Objects)
	}
}

// TestGolden: what was written once can be read, in every later version.
func TestGolden(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	value, err := hex.DecodeString("01" + "000102030405060708090a0b0c0d0e0f" +
		"16345785d8a00000" + hex.EncodeToString([]byte("data")))
	require.NoError(t, err)
	require.NoError(t, b.SetValue("name", value))
	o, err := b.Get(t.Context(), "name", "")
	require.NoError(t, err)
	assert.Equal(t, "data", string(o.Data))
	assert.EqualValues(t, "000102030405060708090a0b0c0d0e0f", o.Version)
	assert.EqualValues(t, 1_600_000_000_000_000_000, o.Modified.UnixNano())

	// A large object: its file, 300 000 bytes, their checksum.
	value, err = hex.DecodeString("02" + "000102030405060708090a0b0c0d0e0f" + "16345785d8a00000" +
		"101112131415161718191a1b1c1d1e1f" + "00000000000493e0" + "c1fb1058")
	require.NoError(t, err)
	require.NoError(t, b.SetValue("name", value))
	data := make([]byte, 300_000)
	file := filepath.Join(dir, "objects", "101112131415161718191a1b1c1d1e1f")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	assert.Equal(t, data, read(t, b, "name"))
}

// TestOrphans: what a crash has left without a record goes, what is not ours stays.
func TestOrphans(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	for _, name := range []string{"a", "b", "c"} {
		create(t, b, name, make([]byte, pebble.FileMin))
	}
	require.NoError(t, b.Close())
	for _, name := range []string{
		strings.Repeat("0", 32), strings.Repeat("f", 32), strings.Repeat("F", 32), "foreign",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "objects", name), nil, 0o600))
	}
	b = open(t, dir)
	assert.Len(t, filesIn(t, dir), 3+2)
	for _, name := range []string{"a", "b", "c"} {
		assert.Len(t, read(t, b, name), pebble.FileMin)
	}
}

// TestFailingSync: a write whose log can't be synced is in doubt, and those after it are
// refused, until the store is opened anew. What was acknowledged is there then.
func TestFailingSync(t *testing.T) {
	var failing atomic.Bool
	injector := errorfs.InjectorFunc(func(op errorfs.Op) error {
		sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData ||
			op.Kind == errorfs.OpFileSyncTo
		if failing.Load() && sync && strings.HasSuffix(op.Path, ".log") {
			return errors.New("the disk is gone")
		}
		return nil
	})
	dir := t.TempDir()
	b, err := pebble.OpenIn(errorfs.Wrap(vfs.Default, injector), dir)
	require.NoError(t, err)
	v := create(t, b, "name", []byte("acknowledged"))
	failing.Store(true)
	_, err = b.Put(t.Context(), "another", nil, backend.IfAbsent())
	require.ErrorIs(t, err, backend.ErrOutcomeUnknown)
	_, err = b.Put(t.Context(), "another", nil, backend.IfAbsent())
	require.ErrorIs(t, err, backend.ErrUnavailable)
	_, err = b.Get(t.Context(), "name", v)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	failing.Store(false)
	_ = b.Close() // It may say what has failed.
	assert.Equal(t, "acknowledged", string(read(t, open(t, dir), "name")))
}

// TestFullDisk: writes are refused without effect, deletions work, and all goes on when there
// is room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	ballast := filepath.Join(dir, "ballast")
	var full atomic.Bool
	injector := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !full.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite ||
			op.Kind == errorfs.OpRemove {
			return nil
		}
		if _, err := os.Stat(ballast); err == nil || op.Path == ballast {
			return syscall.ENOSPC
		}
		return nil // There is the ballast's room.
	})
	b, err := pebble.OpenIn(errorfs.Wrap(vfs.Default, injector), dir)
	require.NoError(t, err)
	v := create(t, b, "name", []byte("first"))
	full.Store(true)
	refused := 0
	for i := range 100 {
		_, err := b.Put(t.Context(), name(i), make([]byte, 100_000), backend.IfAbsent())
		if err != nil {
			require.ErrorIs(t, err, backend.ErrUnavailable)
			refused++
		}
	}
	require.Greater(t, refused, 90)
	require.NoError(t, b.Delete(t.Context(), "name", v))
	_, err = b.Put(t.Context(), "name", make([]byte, pebble.FileMin), backend.IfAbsent())
	require.ErrorIs(t, err, backend.ErrUnavailable)
	full.Store(false)
	create(t, b, "name", []byte("second"))
	require.NoError(t, b.Close())
	assert.Equal(t, "second", string(read(t, open(t, dir), "name")))
}
