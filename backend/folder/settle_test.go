package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// recorder counts the syncs of a Backend by what was synced.
type recorder struct {
	dir    string
	synced map[string]int
	fail   string // makes the sync of what ends so fail
}

var errSync = errors.New("input/output error")

func record(b *Backend) *recorder {
	r := &recorder{dir: b.disk.dir, synced: map[string]int{}}
	b.fsync = func(f *os.File) error {
		rel, err := filepath.Rel(r.dir, f.Name())
		if err != nil {
			return err
		}
		if strings.HasPrefix(rel, tempDir) {
			rel = "file"
			if data, err := os.ReadFile(f.Name()); err != nil || len(data) < headerSize {
				rel = "incomplete file"
			}
		}
		if r.fail != "" && strings.HasSuffix(rel, r.fail) {
			return errSync
		}
		r.synced[rel]++
		return nil
	}
	return r
}

// reset returns what was synced since the last reset, without the directories above
// the store's.
func (r *recorder) reset() map[string]int {
	synced := r.synced
	r.synced = map[string]int{}
	for path := range synced {
		if strings.HasPrefix(path, "..") {
			delete(synced, path)
		}
	}
	return synced
}

func requireModes(t *testing.T, b *Backend, file, folder bool) {
	t.Helper()
	info, err := os.Stat(b.disk.dir + "/+a/@b")
	require.NoError(t, err)
	require.Equal(t, file, info.Mode()&unsettledFile != 0, "the file is unsettled")
	info, err = os.Stat(b.disk.dir + "/+a")
	require.NoError(t, err)
	require.Equal(t, folder, info.Mode()&unsettledFolder != 0, "the folder is unsettled")
}

// TestWritesAreSynced: the complete file before it can be seen, its folder after, and
// a new folder's folder.
func TestWritesAreSynced(t *testing.T) {
	ctx, b := t.Context(), New(t.TempDir()+"/new")
	r := record(b)
	v, err := b.Put(ctx, "a/b", []byte("data"), backend.IfAbsent())
	require.NoError(t, err)
	require.NotZero(t, r.synced[".."], "the folder above the store's directory")
	require.Equal(t, map[string]int{"file": 1, "+a": 1, ".": 1}, r.reset())
	requireModes(t, b, false, false)

	next, err := b.Put(ctx, "a/b", []byte("data"), backend.IfVersion(v.Version))
	require.NoError(t, err)
	require.Equal(t, map[string]int{"file": 1, "+a": 1}, r.reset(), "a write to a durable folder")

	_, err = b.Put(ctx, "a/b", nil, backend.IfVersion(v.Version))
	require.ErrorIs(t, err, backend.ErrPrecondition)
	_, err = b.Get(ctx, "a/b", "")
	require.NoError(t, err)
	_, err = b.List(ctx, backend.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, r.reset(), "a refused write, and reads of what is durable, need no sync")

	require.NoError(t, b.Delete(ctx, "a/b", next.Version))
	require.Equal(t, map[string]int{".": 1}, r.reset(), "the folder went with its last object")
}

// TestReadersSync: who reads what a writer has not synced yet does so first.
func TestReadersSync(t *testing.T) {
	for call, read := range map[string]func(b *Backend) error{
		"get": func(b *Backend) error {
			_, err := b.Get(t.Context(), "a/b", "")
			return err
		},
		"list": func(b *Backend) error {
			_, err := b.List(t.Context(), backend.ListOptions{})
			return err
		},
	} {
		t.Run(call, func(t *testing.T) {
			dir := t.TempDir()
			writer := New(dir)
			r := record(writer)
			r.fail = "+a"
			v, err := writer.Put(t.Context(), "a/b", []byte("data"), backend.IfAbsent())
			require.ErrorIs(t, err, backend.ErrOutcomeUnknown)
			require.Empty(t, v)
			requireModes(t, writer, true, true)

			require.NoError(t, read(New(dir, NoSync())))
			requireModes(t, writer, true, true)
			require.ErrorIs(t, read(writer), backend.ErrUnavailable, "what it reads may vanish")
			r.reset()
			r.fail = ""
			require.NoError(t, read(writer))
			require.Equal(t, map[string]int{"+a": 1, ".": 1}, r.reset())
			requireModes(t, writer, false, false)
			require.NoError(t, read(writer))
			require.Empty(t, r.reset(), "once is enough")
		})
	}
}

// TestFoldersOfNoSync: a folder that was made without a sync is durable once a synced
// write is in it.
func TestFoldersOfNoSync(t *testing.T) {
	dir := t.TempDir()
	v, err := New(dir, NoSync()).Put(t.Context(), "a/b", nil, backend.IfAbsent())
	require.NoError(t, err)
	b := New(dir)
	requireModes(t, b, false, true)
	r := record(b)
	_, err = b.Put(t.Context(), "a/b", nil, backend.IfVersion(v.Version))
	require.NoError(t, err)
	require.Equal(t, map[string]int{"file": 1, "+a": 1, ".": 1}, r.reset())
	requireModes(t, b, false, false)
}

// TestDeathWhileAFolderIsMade: at any step. What a later write acknowledges is durable, its
// folders too, also where the bit that tells of an unsettled folder takes a step of its own.
func TestDeathWhileAFolderIsMade(t *testing.T) {
	deep := strings.Repeat("/"+strings.Repeat("d", 199), 5)
	for _, below := range []string{"", deep} {
		for _, step := range []string{"mkdir", "chmod", "rename"} {
			b := New(t.TempDir() + below)
			require.NoError(t, b.prepare())
			died := errors.New("died")
			b.disk.fault = func(op, rel string) error {
				if op == step || op == "remove" {
					return died
				}
				return nil
			}
			_, err := b.Put(t.Context(), "a/b", nil, backend.IfAbsent())
			if err == nil {
				continue // One step did both.
			}
			require.ErrorIs(t, err, died, step)

			b = New(b.disk.dir)
			r := record(b)
			_, err = b.Put(t.Context(), "a/c", nil, backend.IfAbsent())
			require.NoError(t, err)
			require.NotZero(t, r.reset()["."], "syncs of the folder above, after %s", step)
		}
	}
}

func TestFailedSyncs(t *testing.T) {
	ctx, b := t.Context(), New(t.TempDir())
	r := record(b)
	v, err := b.Put(ctx, "a/b", []byte("old"), backend.IfAbsent())
	require.NoError(t, err)

	r.fail = "file"
	_, err = b.Put(ctx, "a/b", []byte("new"), backend.IfVersion(v.Version))
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.ErrorIs(t, err, errSync)
	o, err := b.Get(ctx, "a/b", "")
	require.NoError(t, err)
	require.Equal(t, v.Version, o.Version, "a write that could not be synced has no effect")
	leftovers, err := os.ReadDir(b.disk.dir + "/" + tempDir)
	require.NoError(t, err)
	require.Empty(t, leftovers)

	r.fail = "."
	require.ErrorIs(t, b.Delete(ctx, "a/b", v.Version), backend.ErrOutcomeUnknown)
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ cause, want error }{
		{syscall.EACCES, backend.ErrDenied},
		{syscall.EPERM, backend.ErrDenied},
		{syscall.EROFS, backend.ErrDenied},
		{syscall.ENOTDIR, backend.ErrBucketNotFound},
		{syscall.ENAMETOOLONG, backend.ErrInvalid},
		{syscall.ENOSPC, backend.ErrUnavailable},
		{syscall.EMFILE, backend.ErrUnavailable},
		{syscall.ENOLCK, backend.ErrUnavailable},
		{errors.ErrUnsupported, backend.ErrInvalid},
	} {
		err := failure("put", "name", &fs.PathError{Op: "open", Path: "p", Err: c.cause})
		assert.ErrorIs(t, err, c.want)
		assert.ErrorIs(t, err, c.cause)
	}
	assert.ErrorIs(t, unlessRefused(syscall.EIO), backend.ErrOutcomeUnknown)
	assert.NotErrorIs(t, unlessRefused(syscall.ENOSPC), backend.ErrOutcomeUnknown)
	assert.EqualError(t, failure("get", "a", backend.ErrNotFound), `folder get "a": not found`)
}
