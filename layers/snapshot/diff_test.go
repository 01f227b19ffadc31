package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/snapshot/internal/table"
)

// TestUnknownStates: a key whose State is not told is read, also where the base knows none.
func TestUnknownStates(t *testing.T) {
	s := Dir(t.TempDir())
	name, err := Build(t.Context(), s, func(yield func(k, v []byte) bool) {
		yield([]byte("k"), []byte("old"))
	})
	require.NoError(t, err)
	require.NoError(t, saving(t.Context(), s, func(in session) error {
		from, err := openOrigins(t.Context(), s, name)
		require.NoError(t, err)
		d := &diff{ctx: t.Context(), from: from}
		d.save, err = newSave(in)
		require.NoError(t, err)
		require.NoError(t, d.run(func(yield func(strictkv.Item, error) bool) {
			yield(strictkv.Item{Key: []byte("k")}, nil)
		}, func([]byte) (strictkv.Item, error) {
			return strictkv.Item{Key: []byte("k"), Value: []byte("new")}, nil
		}))
		name, err = d.publish(table.Meta{Base: from.files[0].Name, Length: d.length})
		require.NoError(t, err)
		return from.close()
	}))
	snap, err := Open(t.Context(), s, name)
	require.NoError(t, err)
	v, err := snap.Get(t.Context(), []byte("k"))
	require.NoError(t, err)
	require.Equal(t, "new", string(v))
	require.NoError(t, snap.Close())
}

// TestWindow: many small changes are read at once, large ones one by one.
func TestWindow(t *testing.T) {
	for _, x := range []struct{ before, size, want int }{
		{0, 0, 1}, {1, 10, 2}, {32, 10, 64}, {64, changesBytes, changesMax},
		{64, changesBytes + 1, 32}, {2, changesBytes + 1, 1}, {1, changesBytes + 1, 1},
	} {
		require.Equal(t, x.want, window(x.before, x.size), x)
	}
}

// TestDiffOfNothing: a diff that finds nothing changed makes its base as young as a save would, in
// both kinds of stores: else a GC could take it for old, before anybody has said to keep it.
func TestDiffOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := strictkv.Open(t.Context(), "db", memory.New())
		require.NoError(t, err)
		c := db.Collection([]byte("c"))
		require.NoError(t, c.Write(t.Context(), []byte("k"), []byte("v")))
		s := Bucket(memory.New(), "")
		name, err := Save(t.Context(), s, c, SaveOptions{})
		require.NoError(t, err)
		time.Sleep(2 * DefaultAge)
		same, err := Diff(t.Context(), s, name, c, SaveOptions{})
		require.NoError(t, err)
		require.Equal(t, name, same)
		_, err = GC(t.Context(), s, GCOptions{})
		require.NoError(t, err)
		snap, err := Open(t.Context(), s, name)
		require.NoError(t, err)
		require.NoError(t, errors.Join(snap.Close(), db.Close(t.Context())))
	})
	dir := t.TempDir()
	s := Dir(dir)
	name, err := Build(t.Context(), s, func(yield func(k, v []byte) bool) {})
	require.NoError(t, err)
	old := time.Now().Add(-2 * DefaultAge)
	require.NoError(t, os.Chtimes(filepath.Join(dir, name+"."+kindContent), old, old))
	require.NoError(t, saving(t.Context(), s, func(in session) error {
		return in.touch(kindContent, name)
	}))
	_, err = GC(t.Context(), s, GCOptions{})
	require.NoError(t, err)
	snap, err := Open(t.Context(), s, name)
	require.NoError(t, err)
	require.NoError(t, snap.Close())
}

// TestLockOfTheDead: a GC takes the place of one that has died, but of none that lives.
func TestLockOfTheDead(t *testing.T) {
	path := t.TempDir()
	d, lock := &dir{path}, filepath.Join(path, gcFile)
	require.NoError(t, d.takeAway(lock), "there is none")
	require.NoError(t, createEmpty(lock))
	require.ErrorIs(t, d.takeAway(lock), ErrBusy, "of another, since it was looked at")
	require.FileExists(t, lock)
	old := time.Now().Add(-2 * staleAfter)
	require.NoError(t, os.Chtimes(lock, old, old))
	_, done, err := d.exclude(t.Context())
	require.NoError(t, err)
	_, _, err = d.exclude(t.Context())
	require.ErrorIs(t, err, ErrBusy)
	require.NoError(t, done())
	left, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Empty(t, left)
}
