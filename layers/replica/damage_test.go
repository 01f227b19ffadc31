package replica_test

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/replica"
)

// files are those of a copy that have contents.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "copy"),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if info, err := d.Info(); err == nil && info.Size() > 0 {
				all = append(all, path)
			}
			return nil
		}))
	return all
}

// Whatever is damaged, each read is right or an error, and in the end the copy is whole: what was
// noticed is told.
func TestDamagedCopies(t *testing.T) {
	damages := map[string]func(path string, data []byte, r *rand.Rand) error{
		"flipped": func(path string, data []byte, r *rand.Rand) error {
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
			return os.WriteFile(path, data, 0o600)
		},
		"cut": func(path string, data []byte, r *rand.Rand) error {
			return os.Truncate(path, int64(r.IntN(len(data))))
		},
		"missing": func(path string, _ []byte, _ *rand.Rand) error { return os.Remove(path) },
	}
	for what, damage := range damages {
		t.Run(what, func(t *testing.T) {
			bucket, sound := t.TempDir(), t.TempDir()
			db, c := opened(t, bucket)
			write(t, c, 5)
			for range 2 { // what is in a log becomes a table with the second
				r, err := open(db, sound, replica.PerKey, c)
				require.NoError(t, err)
				holds(t, r, c)
				require.NoError(t, r.Close())
			}
			random, noticed := rand.New(rand.NewPCG(3, 3)), 0
			for range 12 {
				dir := t.TempDir()
				require.NoError(t, os.CopyFS(dir, os.DirFS(sound)))
				all := files(t, dir)
				path := all[random.IntN(len(all))]
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NoError(t, damage(path, data, random))
				told := 0
				r, err := replica.Open(ctx, db, dir, replica.Options{
					Collections: []*strictkv.Collection{c}, Every: 5 * time.Millisecond,
					OnRebuild: func(error) { told++ },
				})
				require.NoError(t, err)
				for i, err := range r.Scan(c, strictkv.Range{}) {
					if err != nil {
						require.ErrorIs(t, err, replica.ErrNotReady)
						break
					}
					assert.Equal(t, byte('5'), i.Value[0])
				}
				require.NoError(t, r.Wait(ctx))
				holds(t, r, c)
				noticed += r.Rebuilt()
				require.NoError(t, r.Close())
				assert.Equal(t, told > 0, r.Rebuilt() > 0)
			}
			assert.Greater(t, noticed, 2, "much of it is noticed")
		})
	}
}

// A copy of something else is thrown away.
func TestCopiesOfSomethingElse(t *testing.T) {
	bucket, dir := t.TempDir(), t.TempDir()
	db, c := opened(t, bucket)
	write(t, c, 1)
	d := db.Collection([]byte("d"))
	write(t, d, 2)
	other, otherC := opened(t, t.TempDir())
	write(t, otherC, 3)
	for i, next := range []struct {
		db   *strictkv.DB
		mode replica.Mode
		cs   []*strictkv.Collection
		anew bool
	}{
		{db, replica.PerKey, []*strictkv.Collection{c}, false},
		{db, replica.PerKey, []*strictkv.Collection{c}, false},
		{db, replica.PerKey, []*strictkv.Collection{d, c}, true},
		{db, replica.PerKey, []*strictkv.Collection{c, d, c}, false},
		{db, replica.Instant, []*strictkv.Collection{c, d}, true},
		{other, replica.Instant, []*strictkv.Collection{
			otherC, other.Collection([]byte("d")),
		}, true},
	} {
		r, err := open(next.db, dir, next.mode, next.cs...)
		require.NoError(t, err)
		assert.Equal(t, next.anew, r.Rebuilt() == 1, "%d", i)
		holds(t, r, next.cs[0])
		require.NoError(t, r.Close())
	}
}

// What is not the replica's in its directory stays.
func TestForeignFilesStay(t *testing.T) {
	dir := t.TempDir()
	db, c := opened(t, t.TempDir())
	foreign := filepath.Join(dir, "foreign")
	require.NoError(t, os.WriteFile(foreign, []byte("kept"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "copy"), []byte("a file"), 0o600))
	r, err := open(db, dir, replica.PerKey, c)
	if err == nil { // or an error, and nothing was removed
		require.NoError(t, r.Close())
	}
	data, err := os.ReadFile(foreign)
	require.NoError(t, err)
	assert.Equal(t, "kept", string(data))
}

// Options that are not allowed say what is.
func TestBadOptions(t *testing.T) {
	db, c := opened(t, t.TempDir())
	_, other := opened(t, t.TempDir())
	many := make([]*strictkv.Collection, replica.CollectionsMax+1)
	for _, o := range []replica.Options{
		{}, {Collections: []*strictkv.Collection{nil}}, {Collections: many},
		{Collections: []*strictkv.Collection{other}},
		{Collections: []*strictkv.Collection{db.Collection(nil)}},
		{Collections: []*strictkv.Collection{c}, Mode: 2},
		{Collections: []*strictkv.Collection{c}, LogMax: -1},
	} {
		_, err := replica.Open(ctx, db, t.TempDir(), o)
		require.ErrorIs(t, err, strictkv.ErrInvalid)
	}
	_, err := replica.Open(ctx, db, "", replica.Options{Collections: []*strictkv.Collection{c}})
	require.ErrorIs(t, err, strictkv.ErrInvalid)
	r, err := open(db, t.TempDir(), replica.PerKey, c)
	require.NoError(t, err)
	require.NoError(t, r.Ready(ctx))
	_, err = r.Read(db.Collection([]byte(strings.Repeat("d", 3))), []byte("k"))
	require.ErrorIs(t, err, strictkv.ErrInvalid)
	_, err = r.Read(c, []byte("k"))
	require.ErrorIs(t, err, strictkv.ErrNotFound)
	require.NoError(t, r.Close())
}
