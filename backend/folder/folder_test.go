package folder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/backendtest"
	"github.com/strictkv/strictkv/backend/folder"
)

// TestConformance runs the suite in a directory of its own, and without syncs in one
// so deep that no path in it can be given to the operating system as a whole.
func TestConformance(t *testing.T) {
	t.Run("sync", func(t *testing.T) { testConformance(t, "") })
	deep := strings.Repeat("/"+strings.Repeat("d", 199), 5)
	t.Run("no sync, deep", func(t *testing.T) { testConformance(t, deep, folder.NoSync()) })
}

func testConformance(t *testing.T, below string, options ...folder.Option) {
	x80 := strings.Repeat("x", 80)
	backendtest.Run(t, func(t *testing.T) backendtest.Harness {
		dir := t.TempDir() + below
		return backendtest.Harness{
			Backend:      folder.New(dir, options...),
			SecondClient: func() backend.Backend { return folder.New(dir, options...) },
			NoBucket:     folder.New(newFile(t) + below),
			HostileNames: []string{
				".", "..", "./", "../", "../..", ".strictkv", ".strictkv/lock/00",
				".strictkv/temp", "@a", "+a", "_a", "+a/@b", "\x00", "\xff", "\xc3", "a\x00b",
				"\n", strings.Repeat("\xff", 1024), strings.Repeat("/", 1024), x80, x80 + "/",
				x80 + "!", x80 + "0",
			},
		}
	})
}

func newFile(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("no directory"), 0o600))
	return path
}

func create(t *testing.T, b backend.Backend, name, data string) backend.Version {
	t.Helper()
	v, err := b.Put(t.Context(), name, []byte(data), backend.IfAbsent())
	require.NoError(t, err, "create %q", name)
	return v.Version
}

func read(t *testing.T, b backend.Backend, name string) string {
	t.Helper()
	o, err := b.Get(t.Context(), name, "")
	require.NoError(t, err, "get %q", name)
	return string(o.Data)
}

func list(t *testing.T, b backend.Backend, o backend.ListOptions) []string {
	t.Helper()
	page, err := b.List(t.Context(), o)
	require.NoError(t, err, "list %+v", o)
	names := []string{}
	for _, o := range page.Objects {
		names = append(names, o.Name)
	}
	return names
}

// TestMissingDirectory: a store that nobody has written to is empty, and reading it
// makes nothing.
func TestMissingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	b := folder.New(dir)
	_, err := b.Get(t.Context(), "name", "")
	require.ErrorIs(t, err, backend.ErrNotFound)
	require.ErrorIs(t, b.Delete(t.Context(), "name", "v"), backend.ErrPrecondition)
	require.Empty(t, list(t, b, backend.ListOptions{}))
	require.NoDirExists(t, filepath.Dir(dir), "reads must make no directory")

	create(t, b, "name", "data")
	assert.Equal(t, "data", read(t, b, "name"))
}

func TestEmptyPathOfDirectory(t *testing.T) {
	b := folder.New("")
	_, err := b.Put(t.Context(), "name", nil, backend.IfAbsent())
	require.ErrorIs(t, err, backend.ErrInvalid, "the current directory is no default")
}

func TestRelativeDirectoryStays(t *testing.T) {
	t.Chdir(t.TempDir())
	b := folder.New("data")
	create(t, b, "name", "data")
	t.Chdir(t.TempDir())
	assert.Equal(t, "data", read(t, b, "name"), "after a change of the current directory")
}

func TestNameTooLong(t *testing.T) {
	b := folder.New(t.TempDir())
	_, err := b.Put(t.Context(), strings.Repeat("x", 1025), nil, backend.IfAbsent())
	require.ErrorIs(t, err, backend.ErrInvalid)
}

func TestNoPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may do everything: run the tests as another user")
	}
	dir := t.TempDir()
	b := folder.New(dir)
	v := create(t, b, "name", "data")
	for _, d := range []string{filepath.Join(dir, ".strictkv", "temp"), dir} {
		require.NoError(t, os.Chmod(d, 0o500))
		defer func() { _ = os.Chmod(d, 0o700) }()
	}
	_, err := b.Put(t.Context(), "name", nil, backend.IfVersion(v))
	assert.ErrorIs(t, err, backend.ErrDenied)
	assert.ErrorIs(t, b.Delete(t.Context(), "name", v), backend.ErrDenied)
	assert.Equal(t, "data", read(t, b, "name"))
	assert.Equal(t, []string{"name"}, list(t, b, backend.ListOptions{}))
}

// TestOwnDirectoryRemoved: a copy of the objects alone is a store.
func TestOwnDirectoryRemoved(t *testing.T) {
	dir := t.TempDir()
	b := folder.New(dir)
	v := create(t, b, "a/b", "data")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, ".strictkv")))
	assert.Equal(t, []string{"a/b"}, list(t, b, backend.ListOptions{}))
	require.NoError(t, b.Delete(t.Context(), "a/b", v))

	require.NoError(t, os.RemoveAll(dir))
	create(t, b, "a/b", "again")
	assert.Equal(t, "again", read(t, b, "a/b"))
}

func TestForeignFilesAreIgnored(t *testing.T) {
	dir := t.TempDir()
	b := folder.New(dir)
	create(t, b, "a/b", "data")
	for _, name := range []string{
		"README", ".DS_Store", "lost+found", "@A", "@%41%", "@%4A", "@%61", "@%2f", "+%2e%2",
		"_short", "@" + strings.Repeat("x", 81), "+a/.keep", "+a/@B",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	for _, delimiter := range []string{"", "/"} {
		page, err := b.List(t.Context(), backend.ListOptions{Delimiter: delimiter})
		require.NoError(t, err)
		assert.Equal(t, 1, len(page.Objects)+len(page.Prefixes), "%+v", page)
	}
}

// TestEmptyFoldersAreNoPrefixes: a crash may leave a folder without objects.
func TestEmptyFoldersAreNoPrefixes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "+a", "+b"), 0o700))
	b := folder.New(dir)
	o := backend.ListOptions{Delimiter: "/"}
	page, err := b.List(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, backend.Page{}, page)

	create(t, b, "a/b/c", "data")
	page, err = b.List(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, []string{"a/"}, page.Prefixes)
}

func TestDeleteRemovesFolders(t *testing.T) {
	dir := t.TempDir()
	b := folder.New(dir)
	create(t, b, "a/x", "stays")
	v := create(t, b, "a/b/c", "goes")
	require.DirExists(t, filepath.Join(dir, "+a", "+b"))
	require.NoError(t, b.Delete(t.Context(), "a/b/c", v))
	assert.NoDirExists(t, filepath.Join(dir, "+a", "+b"))
	assert.Equal(t, "stays", read(t, b, "a/x"))
}

// TestLeftovers: what killed writers leave goes with the first write of a later
// process, and what others are writing stays.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	temp := filepath.Join(dir, ".strictkv", "temp")
	require.NoError(t, os.MkdirAll(temp, 0o700))
	young, old := filepath.Join(temp, "young"), filepath.Join(temp, "old")
	for _, path := range []string{young, old} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	past := time.Now().Add(-61 * time.Minute)
	require.NoError(t, os.Chtimes(old, past, past))

	create(t, folder.New(dir), "name", "data")
	entries, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Len(t, entries, 1, "temporary files that are left")
	require.Equal(t, "young", entries[0].Name())
}
