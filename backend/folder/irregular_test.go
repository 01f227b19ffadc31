//go:build unix

package folder_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
)

// irregular are what a file system can hold beside files and folders.
var irregular = map[string]func(t *testing.T, path string){
	"fifo": func(t *testing.T, path string) {
		require.NoError(t, syscall.Mkfifo(path, 0o600))
	},
	"socket": func(t *testing.T, path string) {
		l, err := net.Listen("unix", "./"+path) // "@" alone would make none in the folder.
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
	},
	"link to an object": func(t *testing.T, path string) {
		require.NoError(t, os.Symlink("@c", path))
	},
	"dangling link": func(t *testing.T, path string) {
		require.NoError(t, os.Symlink("nowhere", path))
	},
	"link to a device": func(t *testing.T, path string) {
		require.NoError(t, os.Symlink("/dev/zero", path))
	},
}

// TestIrregularFiles: what is no file is neither waited for nor followed, and stays.
func TestIrregularFiles(t *testing.T) {
	for _, below := range []string{"", strings.Repeat("/"+strings.Repeat("d", 199), 5)} {
		for what, mkIrregular := range irregular {
			t.Run(what, func(t *testing.T) {
				dir := t.TempDir() + below
				b := folder.New(dir)
				v := create(t, b, "a/b", "data")
				create(t, b, "a/c", "another")
				t.Chdir(filepath.Join(dir, "+a"))
				require.NoError(t, os.Remove("@b"))
				mkIrregular(t, "@b")
				require.Empty(t, expectDamaged(t, b, v).Version)
				_, err := os.Lstat("@b")
				require.NoError(t, err)
			})
		}
	}
}

// TestFIFOInPlaceOfFolder: a listing does not wait for who writes to it.
func TestFIFOInPlaceOfFolder(t *testing.T) {
	dir := t.TempDir()
	b := folder.New(dir)
	create(t, b, "b", "data")
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "+a"), 0o600))
	require.Equal(t, []string{"a/", "b"}, list(t, b, backend.ListOptions{}))
}

// TestNobodyElseCanLock: who may open the file of a lock can keep it for ever.
func TestNobodyElseCanLock(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir()
	own := filepath.Join(dir, ".strictkv")
	require.NoError(t, os.MkdirAll(filepath.Join(own, "lock"), 0o755))
	b := folder.New(dir, folder.NoSync())
	create(t, b, "a/b", "data")
	require.NoError(t, filepath.WalkDir(own, func(path string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s: %v", path, info.Mode())
		return nil
	}))
	info, err := os.Stat(filepath.Join(dir, "+a", "@b"))
	require.NoError(t, err)
	require.EqualValues(t, 0o666, info.Mode().Perm(), "objects are the umask's")
}
