package snapshot_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/snapshot"
)

func database(t testing.TB, opts ...strictkv.Option) (*strictkv.DB, *strictkv.Collection) {
	t.Helper()
	db, err := strictkv.Open(t.Context(), "db", memory.New(), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	return db, db.Collection([]byte("c"))
}

// same compares a snapshot with the collection.
func same(t *testing.T, snap *snapshot.Snapshot, c *strictkv.Collection) {
	t.Helper()
	require.NoError(t, snap.Verify(t.Context()))
	n := int64(0)
	var items []strictkv.Item
	for item, err := range snap.Scan(t.Context(), strictkv.Range{}) {
		require.NoError(t, err)
		items = append(items, item)
	}
	for item, err := range c.Items(t.Context(), strictkv.Range{}) {
		require.NoError(t, err)
		require.Less(t, int(n), len(items), "%q", item.Key)
		got := items[n]
		require.Equal(t, item.Key, got.Key)
		require.Equal(t, string(item.Value), string(got.Value))
		require.True(t, item.Expires.Equal(got.Expires))
		n++
	}
	require.Len(t, items, int(n))
	length, err := snap.Len(t.Context())
	require.NoError(t, err)
	require.Equal(t, n, length)
}

// TestDiffModel changes a collection at random, and saves how it differs, again and again: each
// layer has what the collection has, and compacts to what a new Save makes.
func TestDiffModel(t *testing.T) {
	for kind, s := range stores(t) {
		for _, o := range []snapshot.SaveOptions{{}, {ItemWise: true}} {
			r := rand.New(rand.NewPCG(1, 2))
			db, c := database(t, strictkv.WithInlineMax(6))
			name, err := snapshot.Save(t.Context(), s, c, o)
			require.NoError(t, err)
			for step := range 25 {
				for range r.IntN(6) {
					mutate(t, r, db, c)
				}
				start := time.Now()
				name, err = snapshot.Diff(t.Context(), s, name, c, o)
				require.NoError(t, err)
				snap := open(t, s, name)
				same(t, snap, c)
				assert.Equal(t, o.ItemWise, snap.ItemWise())
				assert.LessOrEqual(t, snap.Instant(), time.Now())
				if step%8 != 7 {
					continue
				}
				compact, err := snapshot.Compact(t.Context(), s, name)
				require.NoError(t, err)
				anew, err := snapshot.Save(t.Context(), s, c, o)
				require.NoError(t, err)
				assert.Equal(t, anew, compact, kind)
				assert.GreaterOrEqual(t, open(t, s, anew).Instant(), start.Truncate(0))
				name = compact
			}
		}
	}
}

// mutate writes or deletes some keys, one by one or together.
func mutate(t *testing.T, r *rand.Rand, db *strictkv.DB, c *strictkv.Collection) {
	t.Helper()
	require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		for range 1 + r.IntN(4) {
			key := fmt.Append(nil, r.IntN(60))
			var err error
			switch r.IntN(5) {
			case 0:
				err = tx.Delete(c, key)
			case 1:
				err = tx.Write(c, key, []byte("same"))
			case 2:
				end := time.Now().Add(time.Hour)
				err = tx.Write(c, key, []byte("ends"), strictkv.ExpireAt(end))
			default:
				err = tx.Write(c, key, fmt.Append(nil, r.Uint64()))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestDiffReadsChangesAlone: a Diff by a handle that has nothing in its cache costs the listing,
// and for each change a read, and one that answers that nothing has changed since.
func TestDiffReadsChangesAlone(t *testing.T) {
	mem := memory.New()
	db, err := strictkv.Open(t.Context(), "db", mem)
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	_, err = c.Load(t.Context(), func(yield func(k, v []byte) bool) {
		for i := range 5000 {
			if !yield(fmt.Appendf(nil, "%08d", i), make([]byte, 100)) {
				return
			}
		}
	}, strictkv.LoadOptions{})
	require.NoError(t, err)
	s := snapshot.Dir(t.TempDir())
	name, err := snapshot.Save(t.Context(), s, c, snapshot.SaveOptions{})
	require.NoError(t, err)
	for i := range 20 {
		require.NoError(t, c.Write(t.Context(), fmt.Appendf(nil, "%08d", 200*i), []byte("new")))
	}
	require.NoError(t, c.Delete(t.Context(), []byte("00000001")))
	require.NoError(t, db.Close(t.Context()))
	db, err = strictkv.Open(t.Context(), "db", mem)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(t.Context())) }()
	before := db.Stats()
	name, err = snapshot.Diff(t.Context(), s, name, db.Collection([]byte("c")),
		snapshot.SaveOptions{})
	require.NoError(t, err)
	cost := db.Stats().Sub(before)
	assert.LessOrEqual(t, cost.Gets-cost.NotModified, int64(20))
	assert.LessOrEqual(t, cost.NotModified, int64(20), "validation")
	assert.LessOrEqual(t, cost.Lists, int64(12))
	snap := open(t, s, name)
	require.Len(t, snap.Layers(), 2)
	n, err := snap.Len(t.Context())
	require.NoError(t, err)
	assert.Equal(t, int64(4999), n)
}

// TestDiffOnChanges: what With has changed is not taken for what the collection had.
func TestDiffOnChanges(t *testing.T) {
	for _, s := range stores(t) {
		_, c := database(t)
		for _, k := range []string{"a", "b", "c"} {
			require.NoError(t, c.Write(t.Context(), []byte(k), []byte("old")))
		}
		name, err := snapshot.Save(t.Context(), s, c, snapshot.SaveOptions{})
		require.NoError(t, err)
		snap := open(t, s, name).With([]byte("a"), []byte("mine")).Without([]byte("b"))
		name, err = snap.Save(t.Context())
		require.NoError(t, err)
		name, err = snapshot.Diff(t.Context(), s, name, c, snapshot.SaveOptions{})
		require.NoError(t, err)
		same(t, open(t, s, name), c)
	}
}

// TestDatabase saves whole databases, with collections in collections, and names of any bytes.
func TestDatabase(t *testing.T) {
	s, r := snapshot.Dir(t.TempDir()), rand.New(rand.NewPCG(5, 5))
	db, _ := database(t)
	want := map[string]string{}
	name, err := snapshot.SaveDB(t.Context(), s, db, snapshot.SaveOptions{})
	require.NoError(t, err)
	for step := range 12 {
		for range 20 {
			path := [][]byte{[]byte(hostile(r))[:1]}
			c := db.Collection(path[0])
			for range r.IntN(3) {
				path = append(path, []byte(hostile(r))[:1])
				c = c.Collection(path[len(path)-1])
			}
			k, v := hostile(r), hostile(r)
			require.NoError(t, c.Write(t.Context(), []byte(k), []byte(v)))
			want[string(snapshot.DatabaseKey(path, []byte(k)))] = v
			back, key, err := snapshot.ParseDatabaseKey(snapshot.DatabaseKey(path, []byte(k)))
			require.NoError(t, err)
			require.Equal(t, path, back)
			require.Equal(t, k, string(key))
		}
		o := snapshot.SaveOptions{ItemWise: step%2 == 1}
		name, err = snapshot.DiffDB(t.Context(), s, name, db, o)
		require.NoError(t, err)
		check(t, r, open(t, s, name), want)
	}
	anew, err := snapshot.SaveDB(t.Context(), s, db, snapshot.SaveOptions{})
	require.NoError(t, err)
	compact, err := snapshot.Compact(t.Context(), s, name)
	require.NoError(t, err)
	assert.Equal(t, anew, compact)
	for _, bad := range []string{"", "a", "a\x00\x01", "\x00\x00k", "a\x00\x02", "\x00\x01"} {
		_, _, err := snapshot.ParseDatabaseKey([]byte(bad))
		require.ErrorIs(t, err, snapshot.ErrInvalid, "%q", bad)
	}
}

// TestMissingBase names the file that is missing.
func TestMissingBase(t *testing.T) {
	s := snapshot.Dir(t.TempDir())
	base := build(t, s, map[string]string{"a": "1"})
	layer, err := open(t, s, base).With([]byte("b"), nil).Save(t.Context())
	require.NoError(t, err)
	copied := snapshot.Dir(t.TempDir())
	require.NoError(t, snapshot.Copy(t.Context(), copied, s, layer))
	same := open(t, copied, layer)
	require.NoError(t, same.Verify(t.Context()))
	r, err := snapshot.GC(t.Context(), s, snapshot.GCOptions{Age: -1, Keep: []string{base}})
	require.NoError(t, err)
	assert.Equal(t, 1, r.Removed)
	require.NoError(t, snapshot.Remove(copied, base))
	_, err = snapshot.Open(t.Context(), copied, layer)
	require.ErrorIs(t, err, snapshot.ErrNoBase)
	require.NotErrorIs(t, err, snapshot.ErrNotFound)
	require.ErrorContains(t, err, base)
}

var instants = flag.Int("snapshot.instants", 0, "snapshots that TestOneInstant takes")

// TestOneInstant: a snapshot taken while others move amounts between keys has the right sum, or is
// none.
func TestOneInstant(t *testing.T) {
	for _, x := range []struct {
		name  string
		store func() backend.Backend
		taken int
	}{
		{"memory", func() backend.Backend { return memory.New() }, 60},
		{"folder", func() backend.Backend { return folder.New(t.TempDir(), folder.NoSync()) }, 5},
		{"gcs", func() backend.Backend { return gcs.New(gcstest.New(t).Bucket(t)) }, 3},
	} {
		t.Run(x.name, func(t *testing.T) {
			if *instants > 0 {
				x.taken = *instants
			}
			db, err := strictkv.Open(t.Context(), "db", x.store())
			require.NoError(t, err)
			oneInstant(t, db, x.taken)
			require.NoError(t, db.Close(t.Context()))
		})
	}
}

func oneInstant(t *testing.T, db *strictkv.DB, snapshots int) {
	t.Helper()
	const accounts, writers = 8, 8
	c := db.Collection([]byte("accounts"))
	for i := range accounts {
		require.NoError(t, c.Write(t.Context(), []byte{byte('a' + i)}, amount(100)))
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() { transfers(ctx, t, db, c, uint64(w)) })
	}
	s := snapshot.Dir(t.TempDir())
	name, taken := "", 0
	for i := 0; i < 20*snapshots && taken < snapshots; i++ {
		var err error
		if name == "" || i%3 == 0 {
			name, err = snapshot.Save(t.Context(), s, c, snapshot.SaveOptions{Attempts: 1000})
		} else {
			name, err = snapshot.Diff(t.Context(), s, name, c, snapshot.SaveOptions{Attempts: 1000})
		}
		if errors.Is(err, strictkv.ErrConflict) {
			continue
		}
		require.NoError(t, err)
		taken++
		require.Equal(t, uint64(100*accounts), sum(t, s, name))
	}
	stop()
	all.Wait()
	assert.Equal(t, snapshots, taken)
}

func amount(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func sum(t *testing.T, s snapshot.Store, name string) (n uint64) {
	t.Helper()
	snap, err := snapshot.Open(t.Context(), s, name)
	require.NoError(t, err)
	for item, err := range snap.Scan(t.Context(), strictkv.Range{}) {
		require.NoError(t, err)
		n += binary.BigEndian.Uint64(item.Value)
	}
	require.NoError(t, snap.Close())
	return n
}

// transfers moves amounts between keys until ctx ends.
func transfers(
	ctx context.Context, t *testing.T, db *strictkv.DB, c *strictkv.Collection, seed uint64,
) {
	r := rand.New(rand.NewPCG(seed, 3))
	for ctx.Err() == nil {
		from, to := []byte{byte('a' + r.IntN(8))}, []byte{byte('a' + r.IntN(8))}
		if string(from) == string(to) {
			continue
		}
		err := db.Tx(ctx, func(tx *strictkv.Tx) error {
			a, err := tx.Read(c, from)
			if err != nil {
				return err
			}
			b, err := tx.Read(c, to)
			if err != nil || binary.BigEndian.Uint64(a) == 0 {
				return err
			}
			return errors.Join(tx.Write(c, from, amount(binary.BigEndian.Uint64(a)-1)),
				tx.Write(c, to, amount(binary.BigEndian.Uint64(b)+1)))
		})
		if ctx.Err() == nil {
			assert.NoError(t, err)
		}
	}
}

// hooked is a store that tells of each listing by its number, before it is made, and when it is.
type hooked struct {
	backend.Backend
	lists atomic.Int32
	tell  func(n int32, made bool)
}

func (h *hooked) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	n := h.lists.Add(1)
	h.tell(n, false)
	page, err := h.Backend.List(ctx, o)
	h.tell(n, true)
	return page, err
}

// TestInstantIsNotTooLate: a second run goes by what validated the first, which may be older than
// the run. What is committed in between is not in the snapshot, nor does its Instant say so.
func TestInstantIsNotTooLate(t *testing.T) {
	h := &hooked{Backend: memory.New(), tell: func(int32, bool) {}}
	var of []*strictkv.Collection
	for _, b := range []backend.Backend{h, h.Backend} {
		db, err := strictkv.Open(t.Context(), "db", b)
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close(context.Background())) }()
		of = append(of, db.Collection([]byte("c")))
	}
	saved, other := of[0], of[1]
	require.NoError(t, other.Write(t.Context(), []byte("a"), []byte("1")))
	var before time.Time
	h.lists.Store(0)
	h.tell = func(n int32, made bool) {
		switch {
		case n == 2 && !made: // it validates the first run
			assert.NoError(t, other.Write(t.Context(), []byte("a"), []byte("2")))
		case n == 3 && made: // beside the reading of what is found to be changed
			before = time.Now()
			assert.NoError(t, other.Write(t.Context(), []byte("b"), []byte("3")))
		}
	}
	s := snapshot.Dir(t.TempDir())
	name, err := snapshot.Save(t.Context(), s, saved, snapshot.SaveOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, h.lists.Load(), "the second run needs no listing")
	snap := open(t, s, name)
	_, err = snap.Get(t.Context(), []byte("b"))
	require.ErrorIs(t, err, snapshot.ErrNotFound)
	require.True(t, snap.Instant().Before(before), "%v, %v", snap.Instant(), before)
}
