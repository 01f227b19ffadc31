package backup_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/backup"
	"github.com/strictkv/strictkv/layers/snapshot"
)

func database(t *testing.T) *strictkv.DB {
	t.Helper()
	db, err := strictkv.Open(t.Context(), "db", memory.New())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	return db
}

func repository(t *testing.T, b backend.Backend, o backup.Options) *backup.Repository {
	t.Helper()
	r, err := backup.Open(b, o)
	require.NoError(t, err)
	return r
}

// fill writes keys of all kinds into some collections.
func fill(t *testing.T, db *strictkv.DB, r *rand.Rand, n int) {
	t.Helper()
	a := db.Collection([]byte("a"))
	for _, c := range []*strictkv.Collection{
		a, a.Collection([]byte("\x00/in")), db.Collection([]byte("b")),
	} {
		_, err := c.Load(t.Context(), func(yield func(k, v []byte) bool) {
			for range n {
				v := make([]byte, 500)
				for i := range v {
					v[i] = byte(r.Uint32())
				}
				if !yield(fmt.Append(nil, r.Uint64()), v) {
					return
				}
			}
		}, strictkv.LoadOptions{})
		require.NoError(t, err)
		end := strictkv.ExpireAt(time.Now().Add(time.Hour))
		require.NoError(t, c.Write(t.Context(), []byte("ends"), []byte("x"), end))
	}
}

// contents is a snapshot's name, which is a hash of all that is in the database.
func contents(t *testing.T, db *strictkv.DB) string {
	t.Helper()
	name, err := snapshot.SaveDB(t.Context(), snapshot.Dir(t.TempDir()), db, snapshot.SaveOptions{})
	require.NoError(t, err)
	return name
}

// TestRoundTrip: what is backed up in full and incrementally comes back, as of each backup.
func TestRoundTrip(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	for name, o := range map[string]backup.Options{
		"plain":      {},
		"compressed": {Compress: true},
		"encrypted": {
			Compress: true, Recipients: []age.Recipient{id.Recipient()},
			Identities: []age.Identity{id},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, target := rand.New(rand.NewPCG(1, 1)), folder.New(t.TempDir(), folder.NoSync())
			repo, db := repository(t, target, o), database(t)
			var want []string
			for i := range 4 {
				fill(t, db, r, 50)
				info, err := repo.Backup(t.Context(), db, backup.BackupOptions{Incremental: i != 2})
				require.NoError(t, err)
				require.Equal(t, []int{1, 2, 1, 2}[i], info.Layers)
				want = append(want, contents(t, db))
			}
			all, err := repo.List(t.Context())
			require.NoError(t, err)
			require.Len(t, all, 4)
			for i, info := range all {
				_, err := repo.Verify(t.Context(), info.Name)
				require.NoError(t, err)
				into := database(t)
				report, err := repo.Restore(t.Context(), info.Name, into, backup.RestoreOptions{})
				require.NoError(t, err)
				assert.Equal(t, info.Keys, report.Inserted)
				assert.Equal(t, want[i], contents(t, into))
				check, err := into.Check(t.Context(), strictkv.CheckOptions{})
				require.NoError(t, err)
				assert.Empty(t, check.Problems)
			}
			_, err = repo.Restore(t.Context(), "gone", database(t), backup.RestoreOptions{})
			require.ErrorIs(t, err, backup.ErrNotFound)
		})
	}
}

// TestIncrementalIsSmall: after a change of one key in a hundred, an incremental backup moves a
// twentieth of the bytes at most.
func TestIncrementalIsSmall(t *testing.T) {
	var moved atomic.Int64
	repo := repository(t, memory.New(), backup.Options{Progress: moved.Store})
	db, c := database(t), []byte("c")
	value := make([]byte, 1000)
	_, err := db.Collection(c).Load(t.Context(), func(yield func(k, v []byte) bool) {
		for i := range 5000 {
			if !yield(fmt.Appendf(nil, "%06d", i), value) {
				return
			}
		}
	}, strictkv.LoadOptions{})
	require.NoError(t, err)
	_, err = repo.Backup(t.Context(), db, backup.BackupOptions{})
	require.NoError(t, err)
	full := moved.Load()
	for i := range 50 {
		key := fmt.Appendf(nil, "%06d", i*100)
		require.NoError(t, db.Collection(c).Write(t.Context(), key, value[:999]))
	}
	_, err = repo.Backup(t.Context(), db, backup.BackupOptions{Incremental: true})
	require.NoError(t, err)
	assert.LessOrEqual(t, moved.Load()-full, full/20)
}

func TestRestoreNeverOverwrites(t *testing.T) {
	repo, db := repository(t, memory.New(), backup.Options{}), database(t)
	fill(t, db, rand.New(rand.NewPCG(2, 1)), 20)
	info, err := repo.Backup(t.Context(), db, backup.BackupOptions{})
	require.NoError(t, err)
	_, err = repo.Restore(t.Context(), "", db, backup.RestoreOptions{})
	require.ErrorIs(t, err, backup.ErrNotEmpty)
	report, err := repo.Restore(t.Context(), "", db, backup.RestoreOptions{Resume: true})
	require.NoError(t, err)
	assert.Equal(t, info.Keys, report.Present)
	for _, key := range []string{"ends", "mine"} {
		c := db.Collection([]byte("b"))
		require.NoError(t, c.Write(t.Context(), []byte(key), []byte("mine")))
	}
	report, err = repo.Restore(t.Context(), "", db, backup.RestoreOptions{Resume: true})
	require.ErrorIs(t, err, backup.ErrOther)
	require.Len(t, report.Keys, 1)
	_, key, err := snapshot.ParseDatabaseKey(report.Keys[0])
	require.NoError(t, err)
	assert.Equal(t, "ends", string(key))
	v, err := db.Collection([]byte("b")).Read(t.Context(), key)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(v))

	part := database(t)
	require.NoError(t, part.Collection([]byte("b")).Write(t.Context(), []byte("k"), nil))
	only := backup.RestoreOptions{Only: [][]byte{[]byte("a")}}
	report, err = repo.Restore(t.Context(), "", part, only)
	require.NoError(t, err)
	assert.Equal(t, int64(42), report.Inserted)
	_, err = repo.Restore(t.Context(), "", part, only)
	require.ErrorIs(t, err, backup.ErrNotEmpty)
}

// TestKeys: who has no identity can make full backups, and nothing else.
func TestKeys(t *testing.T) {
	mine, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	other, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	mem, db := memory.New(), database(t)
	fill(t, db, rand.New(rand.NewPCG(3, 1)), 3)
	to := []age.Recipient{mine.Recipient()}
	for range 2 {
		_, err = repository(t, mem, backup.Options{Recipients: to}).
			Backup(t.Context(), db, backup.BackupOptions{})
		require.NoError(t, err)
	}
	for _, ids := range [][]age.Identity{nil, {other}} {
		bad := repository(t, mem, backup.Options{Recipients: to, Identities: ids})
		_, err = bad.List(t.Context())
		require.ErrorIs(t, err, backup.ErrKey)
		_, err = bad.Restore(t.Context(), "", database(t), backup.RestoreOptions{})
		require.ErrorIs(t, err, backup.ErrKey)
	}
	_, err = repository(t, mem, backup.Options{Identities: []age.Identity{mine}}).
		Verify(t.Context(), "")
	require.NoError(t, err)
	page, err := mem.List(t.Context(), backend.ListOptions{})
	require.NoError(t, err)
	for _, o := range page.Objects { // all are encrypted
		x, err := mem.Get(t.Context(), o.Name, "")
		require.NoError(t, err)
		assert.Contains(t, string(x.Data), "age-encryption.org/v1", o.Name)
	}
}

// TestDamage flips a byte of each object: whatever needs it fails.
func TestDamage(t *testing.T) {
	mem, db := memory.New(), database(t)
	repo := repository(t, mem, backup.Options{Compress: true})
	fill(t, db, rand.New(rand.NewPCG(4, 1)), 3)
	_, err := repo.Backup(t.Context(), db, backup.BackupOptions{})
	require.NoError(t, err)
	page, err := mem.List(t.Context(), backend.ListOptions{})
	require.NoError(t, err)
	for _, o := range page.Objects {
		x, err := mem.Get(t.Context(), o.Name, "")
		require.NoError(t, err)
		for _, at := range []int{0, 4, 5, len(x.Data) / 2, len(x.Data) - 1} {
			bad := append([]byte(nil), x.Data...)
			bad[at] ^= 0x40
			put(t, mem, o.Name, bad)
			_, err = repository(t, mem, backup.Options{}).Verify(t.Context(), "")
			require.Error(t, err, "%s %d", o.Name, at)
		}
		put(t, mem, o.Name, x.Data)
	}
	_, err = repo.Verify(t.Context(), "")
	require.NoError(t, err)
}

func put(t *testing.T, b backend.Backend, name string, data []byte) {
	t.Helper()
	x, err := b.Get(t.Context(), name, "")
	require.NoError(t, err)
	_, err = b.Put(t.Context(), name, data, backend.IfVersion(x.Version))
	require.NoError(t, err)
}

func TestRule(t *testing.T) {
	var all []backup.Info
	day := time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
	for i := range 730 { // twice a day
		at := day.Add(time.Duration(i) * 12 * time.Hour)
		all = append(all, backup.Info{Name: at.Format(time.RFC3339), Instant: at})
	}
	var names []string
	for _, info := range backup.DefaultRule().Kept(all) {
		names = append(names, info.Name[:13])
	}
	assert.Equal(t, []string{
		"2026-01-31T15", "2026-02-28T15", "2026-03-31T15", "2026-04-30T15", "2026-05-31T15",
		"2026-06-30T15", "2026-07-31T15", "2026-08-31T15", "2026-09-30T15", "2026-10-31T15",
		"2026-11-30T15", "2026-12-13T15", "2026-12-20T15", "2026-12-25T15", "2026-12-26T15",
		"2026-12-27T15", "2026-12-28T15", "2026-12-29T15", "2026-12-30T15", "2026-12-31T15",
	}, names)
	assert.Len(t, backup.Rule{}.Kept(all), 1, "the last one is always kept")
	assert.Empty(t, backup.Rule{}.Kept(nil))
}

func TestPrune(t *testing.T) {
	mem, db := memory.New(), database(t)
	repo := repository(t, mem, backup.Options{})
	for i := range 4 {
		fill(t, db, rand.New(rand.NewPCG(uint64(i), 9)), 5)
		_, err := repo.Backup(t.Context(), db, backup.BackupOptions{Incremental: i%2 == 1})
		require.NoError(t, err)
	}
	o := backup.PruneOptions{
		Rule: backup.Rule{Daily: 1}, DryRun: true, GC: snapshot.GCOptions{Age: -1},
	}
	removed, err := repo.Prune(t.Context(), o)
	require.NoError(t, err)
	assert.Len(t, removed, 3)
	o.DryRun = false
	again, err := repo.Prune(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, removed, again)
	all, err := repo.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	into := database(t)
	_, err = repo.Restore(t.Context(), "", into, backup.RestoreOptions{})
	require.NoError(t, err)
	assert.Equal(t, contents(t, db), contents(t, into))
}

// TestRestoreGoesOn stops a restore in the middle, and goes on.
func TestRestoreGoesOn(t *testing.T) {
	repo, db, into := repository(t, memory.New(), backup.Options{}), database(t), database(t)
	fill(t, db, rand.New(rand.NewPCG(6, 1)), 3000)
	_, err := repo.Backup(t.Context(), db, backup.BackupOptions{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	_, err = repo.Restore(ctx, "", into, backup.RestoreOptions{
		Progress: func(r backup.RestoreReport) {
			if r.Inserted > 4000 {
				stop()
			}
		},
	})
	require.ErrorIs(t, err, context.Canceled)
	_, err = repo.Restore(t.Context(), "", into, backup.RestoreOptions{})
	require.ErrorIs(t, err, backup.ErrNotEmpty)
	r, err := repo.Restore(t.Context(), "", into, backup.RestoreOptions{Resume: true})
	require.NoError(t, err)
	assert.Greater(t, r.Present, int64(3000))
	assert.Equal(t, contents(t, db), contents(t, into))
}

// TestOtherRecipients: backups for others share nothing with those that are there, which stay.
func TestOtherRecipients(t *testing.T) {
	mem, db := memory.New(), database(t)
	fill(t, db, rand.New(rand.NewPCG(3, 1)), 30)
	one, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	two, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	ids := []age.Identity{one, two}
	seen := map[string]bool{}
	for i, to := range [][]age.Recipient{
		nil, {one.Recipient()}, {one.Recipient(), two.Recipient()},
		{two.Recipient(), one.Recipient()}, // the same
	} {
		repo := repository(t, mem, backup.Options{Recipients: to, Identities: ids})
		info, err := repo.Backup(t.Context(), db, backup.BackupOptions{Incremental: true})
		require.NoError(t, err)
		assert.Equal(t, 1, info.Layers, "%d: no base for others", i)
		seen[info.Data] = true
		page, err := mem.List(t.Context(), backend.ListOptions{Prefix: "data"})
		require.NoError(t, err)
		for _, x := range page.Objects {
			object, err := mem.Get(t.Context(), x.Name, "")
			require.NoError(t, err)
			encrypted := object.Data[4]&2 != 0
			assert.Equal(t, !strings.HasPrefix(x.Name, "data/"), encrypted, x.Name)
		}
		_, err = repo.Prune(t.Context(), backup.PruneOptions{
			Rule: backup.Rule{Daily: -1}, GC: snapshot.GCOptions{Age: -1},
		})
		require.NoError(t, err)
		all, err := repo.List(t.Context())
		require.NoError(t, err)
		require.Len(t, all, i+1)
		for _, info := range all {
			_, err := repo.Verify(t.Context(), info.Name)
			require.NoError(t, err)
		}
	}
	assert.Len(t, seen, 3)
}

// TestDamagedEntry: what can't be read is told, and left out; nothing is pruned, since nobody knows
// what it needs.
func TestDamagedEntry(t *testing.T) {
	mem, db := memory.New(), database(t)
	repo := repository(t, mem, backup.Options{})
	for i := range 2 {
		fill(t, db, rand.New(rand.NewPCG(4, uint64(i))), 5)
		_, err := repo.Backup(t.Context(), db, backup.BackupOptions{})
		require.NoError(t, err)
	}
	_, err := mem.Put(t.Context(), "backups/20200101T000000.000000Z", []byte("SKVB\x00{}"),
		backend.IfAbsent())
	require.NoError(t, err)
	all, err := repo.List(t.Context())
	require.ErrorIs(t, err, strictkv.ErrCorrupt)
	require.Len(t, all, 2)
	info, err := repo.Backup(t.Context(), db, backup.BackupOptions{Incremental: true})
	require.NoError(t, err)
	assert.Equal(t, all[1].Snapshot, info.Snapshot)
	_, err = repo.Prune(t.Context(), backup.PruneOptions{Rule: backup.Rule{Daily: 1}})
	require.ErrorIs(t, err, strictkv.ErrCorrupt)
	all, _ = repo.List(t.Context())
	require.Len(t, all, 3)
}

// TestRestoreOfNoCollection: a name that was mistyped is told of.
func TestRestoreOfNoCollection(t *testing.T) {
	db, repo := database(t), repository(t, memory.New(), backup.Options{})
	fill(t, db, rand.New(rand.NewPCG(5, 1)), 5)
	_, err := repo.Backup(t.Context(), db, backup.BackupOptions{})
	require.NoError(t, err)
	into := database(t)
	_, err = repo.Restore(t.Context(), "", into, backup.RestoreOptions{Only: [][]byte{[]byte("A")}})
	require.ErrorIs(t, err, backup.ErrNotFound)
	for name, err := range into.Collections(t.Context()) {
		require.NoError(t, err)
		assert.Fail(t, "a collection", "%q", name)
	}
}
