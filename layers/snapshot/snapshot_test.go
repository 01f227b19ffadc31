package snapshot_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/snapshot"
)

// stores are a store of each kind.
func stores(t *testing.T) map[string]snapshot.Store {
	return map[string]snapshot.Store{
		"dir": snapshot.Dir(t.TempDir()), "bucket": snapshot.Bucket(memory.New(), "some"),
	}
}

func open(t *testing.T, s snapshot.Store, name string) *snapshot.Snapshot {
	t.Helper()
	snap, err := snapshot.Open(t.Context(), s, name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, snap.Close()) })
	return snap
}

// build saves a map.
func build(t *testing.T, s snapshot.Store, want map[string]string) string {
	t.Helper()
	name, err := snapshot.Build(t.Context(), s, func(yield func(k, v []byte) bool) {
		for k, v := range want { // in any order
			if !yield([]byte(k), []byte(v)) {
				return
			}
		}
	})
	require.NoError(t, err)
	return name
}

func hostile(r *rand.Rand) string {
	key := make([]byte, 1+r.IntN(8))
	for i := range key {
		key[i] = "\x00\x01a/\xfe\xff"[r.IntN(6)]
	}
	if r.IntN(10) == 0 {
		key = append(key, bytes.Repeat([]byte{0xff}, r.IntN(500))...)
	}
	return string(key)
}

// within are the keys of a map that are in a range, in its order.
func within(want map[string]string, r strictkv.Range) []string {
	var keys []string
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if k >= string(r.From) && (len(r.To) == 0 || k < string(r.To)) {
			keys = append(keys, k)
		}
	}
	if r.Reverse {
		slices.Reverse(keys)
	}
	if r.Limit > 0 {
		keys = keys[:min(r.Limit, len(keys))]
	}
	return keys
}

// check compares a snapshot with the map that it should be.
func check(t *testing.T, r *rand.Rand, snap *snapshot.Snapshot, want map[string]string) {
	t.Helper()
	n, err := snap.Len(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(len(want)), n)
	for range 20 {
		key := hostile(r)
		v, err := snap.Get(t.Context(), []byte(key))
		if x, ok := want[key]; ok {
			require.NoError(t, err)
			require.Equal(t, x, string(v))
		} else {
			require.ErrorIs(t, err, snapshot.ErrNotFound)
		}
	}
	for i := range 12 {
		rg := strictkv.Range{Reverse: i%2 == 1, KeysOnly: i%3 == 2}
		if i > 1 && r.IntN(3) > 0 {
			rg.From = []byte(hostile(r))
		}
		if i > 1 && r.IntN(3) > 0 {
			rg.To = []byte(hostile(r))
		}
		if i > 4 {
			rg.Limit = r.IntN(10)
		}
		var keys []string
		for item, err := range snap.Scan(t.Context(), rg) {
			require.NoError(t, err)
			keys = append(keys, string(item.Key))
			if !rg.KeysOnly {
				require.Equal(t, want[string(item.Key)], string(item.Value))
			}
		}
		require.Equal(t, within(want, rg), keys, "%+v", rg)
	}
}

// TestModel makes random changes in memory, saves them as layers, and compacts them, beside a map.
func TestModel(t *testing.T) {
	for kind, s := range stores(t) {
		for seed := range uint64(6) {
			r := rand.New(rand.NewPCG(seed, 1))
			want := map[string]string{}
			for range r.IntN(200) {
				want[hostile(r)] = hostile(r)
			}
			name := build(t, s, want)
			snap := open(t, s, name)
			for step := range 40 {
				was, before := snap, maps.Clone(want)
				for range r.IntN(8) {
					k, v := hostile(r), hostile(r)
					if r.IntN(3) == 0 {
						snap = snap.Without([]byte(k))
						delete(want, k)
					} else {
						snap = snap.With([]byte(k), []byte(v))
						want[k] = v
					}
				}
				check(t, r, snap, want)
				check(t, r, was, before)
				if r.IntN(3) == 0 {
					var err error
					name, err = snap.Save(t.Context())
					require.NoError(t, err)
					snap = open(t, s, name)
					require.NoError(t, snap.Verify(t.Context()))
				}
				if step%20 == 19 {
					saved, err := snap.Save(t.Context())
					require.NoError(t, err)
					compact, err := snapshot.Compact(t.Context(), s, saved)
					require.NoError(t, err)
					assert.Equal(t, build(t, s, want), compact, "%s: as if built anew", kind)
					snap = open(t, s, compact)
					assert.Len(t, snap.Layers(), 1)
				}
			}
		}
	}
}

// TestBuildSorts: any order makes the same file, in bounded memory, and nothing else is left.
func TestBuildSorts(t *testing.T) {
	const n = 150_000 // more than is sorted in memory, twice
	value := func(i int) []byte {
		return fmt.Appendf(make([]byte, 0, 1000), "%0900d", i)
	}
	path := t.TempDir()
	s := snapshot.Dir(path)
	seq := func(order func(int) int) func(yield func(k, v []byte) bool) {
		return func(yield func(k, v []byte) bool) {
			for i := range n {
				j := order(i)
				if !yield(fmt.Appendf(nil, "%08d", j), value(j)) {
					return
				}
			}
		}
	}
	sorted, err := snapshot.Build(t.Context(), s, seq(func(i int) int { return i }))
	require.NoError(t, err)
	mixed, err := snapshot.Build(t.Context(), s, seq(func(i int) int { return i * 70_001 % n }))
	require.NoError(t, err)
	assert.Equal(t, sorted, mixed)
	files, err := filepath.Glob(filepath.Join(path, "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(path, sorted+".snap")}, files)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	assert.Less(t, float64(info.Size()), 1.1*n*(900+8))
}

// TestBuildBoundsMemory: small keys take more memory than their bytes, and are written to a run
// before it is too much.
func TestBuildBoundsMemory(t *testing.T) {
	path := t.TempDir()
	runs := 0
	_, err := snapshot.Build(t.Context(), snapshot.Dir(path), func(yield func(k, v []byte) bool) {
		for i := 700_000; i > 0; i-- { // 5.6 MB
			if !yield(fmt.Appendf(nil, "%08d", i), nil) {
				return
			}
		}
		files, err := filepath.Glob(filepath.Join(path, "*.saving"))
		assert.NoError(t, err)
		runs = len(files) - 2 // but for the announcement, and what begins in order
	})
	require.NoError(t, err)
	assert.Equal(t, 1, runs)
}

// TestLastCounts: of a key that comes twice, the last value counts.
func TestLastCounts(t *testing.T) {
	for _, s := range stores(t) {
		name, err := snapshot.Build(t.Context(), s, func(yield func(k, v []byte) bool) {
			for i := range 100 {
				if !yield([]byte{byte(i % 7)}, []byte{byte(i)}) {
					return
				}
			}
		})
		require.NoError(t, err)
		snap := open(t, s, name)
		for i := range 7 {
			v, err := snap.Get(t.Context(), []byte{byte(i)})
			require.NoError(t, err)
			assert.Equal(t, byte(99-(99-i)%7), v[0])
		}
	}
}

func second(_ string, err error) error { return err }

// FuzzDatabaseKey: what is parsed is what would be made.
func FuzzDatabaseKey(f *testing.F) {
	f.Add(snapshot.DatabaseKey([][]byte{[]byte("a"), {0}}, []byte("k")))
	f.Fuzz(func(t *testing.T, k []byte) {
		path, key, err := snapshot.ParseDatabaseKey(k)
		if err == nil {
			require.Equal(t, k, snapshot.DatabaseKey(path, key))
		}
	})
}

func TestRefusals(t *testing.T) {
	ctx := context.Background()
	for _, s := range stores(t) {
		name := build(t, s, map[string]string{"a": "b"})
		snap := open(t, s, name)
		_, err := snap.With(nil, nil).Get(ctx, []byte("a"))
		require.ErrorIs(t, err, snapshot.ErrInvalid)
		_, err = snap.With(make([]byte, 5000), nil).Save(ctx)
		require.ErrorIs(t, err, snapshot.ErrInvalid)
		for _, bad := range []string{"", "x", name[1:], name + "0", "A" + name[1:]} {
			_, err = snapshot.Open(ctx, s, bad)
			require.ErrorIs(t, err, snapshot.ErrInvalid)
		}
		_, err = snapshot.Open(ctx, s, fmt.Sprintf("%064d", 1))
		require.ErrorIs(t, err, snapshot.ErrNotFound)
		for _, err := range snap.Scan(ctx, strictkv.Range{Limit: -1}) {
			require.ErrorIs(t, err, snapshot.ErrInvalid)
		}
		_, c := database(t)
		for _, err := range []error{
			second(snapshot.Save(ctx, s, nil, snapshot.SaveOptions{})),
			second(snapshot.Diff(ctx, s, name, nil, snapshot.SaveOptions{})),
			second(snapshot.Save(ctx, s, c, snapshot.SaveOptions{Attempts: -1})),
		} {
			require.ErrorIs(t, err, snapshot.ErrInvalid)
		}
		layer, err := snap.With([]byte("x"), nil).Save(ctx)
		require.NoError(t, err)
		same, err := snap.With([]byte("a"), []byte("b")).Without([]byte("y")).Save(ctx)
		require.NoError(t, err)
		assert.Equal(t, name, same, "no change, no layer")
		_, err = snapshot.GC(ctx, s, snapshot.GCOptions{Keep: []string{fmt.Sprintf("%064d", 1)}})
		require.ErrorIs(t, err, snapshot.ErrNotFound)
		r, err := snapshot.GC(ctx, s, snapshot.GCOptions{Age: -1, Keep: []string{layer}})
		require.NoError(t, err)
		assert.Equal(t, 2, r.Kept)
		assert.Zero(t, r.Removed)
	}
}

// countedGets counts the parts that are read.
type countedGets struct {
	backend.Backend
	parts atomic.Int64
}

func (b *countedGets) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	if strings.HasPrefix(name, "part/") {
		b.parts.Add(1)
	}
	return b.Backend.Get(ctx, name, known)
}

// TestVerifyReadsPartsOnce: who verifies in a bucket pays for each byte of a file once, and of
// layers for a second read, which counts their keys.
func TestVerifyReadsPartsOnce(t *testing.T) {
	defer snapshot.KeepOnePart()()
	b := &countedGets{Backend: memory.New()}
	s := snapshot.Bucket(b, "")
	want := map[string]string{}
	for i := range 400 {
		want[fmt.Sprintf("%04d", i)] = strings.Repeat(fmt.Sprint(i), 5000)
	}
	snap := open(t, s, build(t, s, want))
	stored := func() (n int64) {
		page, err := b.List(t.Context(), backend.ListOptions{Prefix: "part/"})
		require.NoError(t, err)
		return int64(len(page.Objects))
	}
	parts := stored()
	require.Greater(t, parts, int64(3))
	b.parts.Store(0)
	require.NoError(t, snap.Verify(t.Context()))
	assert.Contains(t, []int64{parts - 1, parts}, b.parts.Load(), "one may be kept from before")

	name, err := snap.With([]byte("more"), []byte("value")).Save(t.Context())
	require.NoError(t, err)
	layered := open(t, s, name)
	b.parts.Store(0)
	require.NoError(t, layered.Verify(t.Context()))
	assert.LessOrEqual(t, b.parts.Load(), 2*stored())
}
