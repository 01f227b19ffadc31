package snapshot_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/snapshot"
)

var large = flag.Int("snapshot.keys", 20_000, "keys of TestLarge; 1000000 for the figures in docs")

// TestLarge tells what a diff of 1000 changes costs, and opening what is large.
func TestLarge(t *testing.T) {
	mem := memory.New()
	db, err := strictkv.Open(t.Context(), "db", mem)
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	value := make([]byte, 100)
	_, err = c.Load(t.Context(), func(yield func(k, v []byte) bool) {
		for i := range *large {
			if !yield(fmt.Appendf(nil, "%08d", i), value) {
				return
			}
		}
	}, strictkv.LoadOptions{})
	require.NoError(t, err)
	path := t.TempDir()
	s := snapshot.Dir(path)
	start := time.Now()
	base, err := snapshot.Save(t.Context(), s, c, snapshot.SaveOptions{})
	require.NoError(t, err)
	t.Logf("save of %d keys: %v", *large, time.Since(start))
	for i := range 1000 {
		key := fmt.Appendf(nil, "%08d", i**large/1000)
		require.NoError(t, c.Write(t.Context(), key, []byte("new")))
	}
	require.NoError(t, db.Close(t.Context()))
	db, err = strictkv.Open(t.Context(), "db", mem) // with nothing in its cache
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(t.Context())) }()
	before := db.Stats()
	start = time.Now()
	c = db.Collection([]byte("c"))
	name, err := snapshot.Diff(t.Context(), s, base, c, snapshot.SaveOptions{})
	require.NoError(t, err)
	took, cost := time.Since(start), db.Stats().Sub(before)
	require.LessOrEqual(t, cost.Gets-cost.NotModified, int64(1000))
	size := int64(0)
	for _, kind := range []string{".snap", ".origin"} {
		info, err := os.Stat(filepath.Join(path, name+kind))
		require.NoError(t, err)
		size += info.Size()
	}
	require.Less(t, size, int64(2<<20))
	t.Logf("diff: %v, %d lists, %d reads, %d validated without data, %d bytes",
		took, cost.Lists, cost.Gets-cost.NotModified, cost.NotModified, size)
	start = time.Now()
	snap, err := snapshot.Open(t.Context(), s, base)
	require.NoError(t, err)
	t.Logf("open: %v", time.Since(start))
	require.NoError(t, snap.Close())
	start = time.Now()
	_, err = snapshot.Compact(t.Context(), s, name)
	require.NoError(t, err)
	t.Logf("compact: %v", time.Since(start))
}
