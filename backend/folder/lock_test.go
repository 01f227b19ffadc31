package folder

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// TestLockExcludes: while another has the lock of a folder, nobody writes to it or
// reads its entries; a call that waits ends with its context, without effect.
func TestLockExcludes(t *testing.T) {
	dir := t.TempDir()
	b := New(dir, NoSync())
	v, err := b.Put(t.Context(), "a/b", nil, backend.IfAbsent())
	require.NoError(t, err)
	for name, other := range map[string]*Backend{"same": b, "another": New(dir)} {
		t.Run(name, func(t *testing.T) {
			h, err := other.lock(t.Context(), "+a")
			require.NoError(t, err)
			for call, f := range map[string]func(ctx context.Context) error{
				"list": func(ctx context.Context) error {
					_, err := b.List(ctx, backend.ListOptions{Prefix: "a/"})
					return err
				},
				"put": func(ctx context.Context) error {
					_, err := b.Put(ctx, "a/c", nil, backend.IfAbsent())
					return err
				},
				"delete": func(ctx context.Context) error {
					return b.Delete(ctx, "a/b", v.Version)
				},
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
				err := f(ctx)
				cancel()
				require.ErrorIs(t, err, context.DeadlineExceeded, call)
				require.ErrorIs(t, err, backend.ErrUnavailable, call)
			}
			_, err = b.Get(t.Context(), "a/b", "")
			require.NoError(t, err, "a Get takes no lock")
			h.release()

			page, err := b.List(t.Context(), backend.ListOptions{})
			require.NoError(t, err)
			require.Len(t, page.Objects, 1, "objects after calls that only waited")
		})
	}
}

// TestLockWhoseFileIsRemoved: who waited for a file that is not at its path any more, or has
// locked it, has no lock: others lock another file.
func TestLockWhoseFileIsRemoved(t *testing.T) {
	b := New(t.TempDir(), NoSync())
	_, err := b.Put(t.Context(), "a/b", nil, backend.IfAbsent())
	require.NoError(t, err)
	remove := 0 // how often the file goes between its opening and its locking
	b.disk.fault = func(op, rel string) error {
		if op == "lock" && remove > 0 {
			remove--
			return os.Remove(b.disk.dir + "/" + rel)
		}
		return nil
	}

	remove = 2
	h, err := b.lock(t.Context(), "+a")
	require.NoError(t, err)
	mine, err := h.file.Stat()
	require.NoError(t, err)
	now, err := os.Stat(b.disk.dir + "/" + h.path)
	require.NoError(t, err, "the locked file is at its path")
	require.True(t, os.SameFile(mine, now))
	require.NoError(t, h.check())
	require.NoError(t, os.Remove(b.disk.dir+"/"+h.path))
	require.ErrorIs(t, h.check(), errMoved, "the lock is lost")
	h.release()

	remove = lockTries
	_, err = b.Put(t.Context(), "a/c", nil, backend.IfAbsent())
	require.ErrorIs(t, err, errMoved)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.Zero(t, remove)
}
