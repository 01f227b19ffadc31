package cache_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/cache"
	"github.com/strictkv/strictkv/internal/seam"
)

// moved counts the bytes that a store's answers move.
type moved struct {
	backend.Backend
	bytes, gets atomic.Int64
}

func (m *moved) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	o, err := m.Backend.Get(ctx, name, known)
	m.bytes.Add(int64(len(o.Data)))
	m.gets.Add(1)
	return o, err
}

// BenchmarkColdStart reads 10 000 values of 100 KiB, on a store with the latencies of S3 and no
// limit to its bandwidth: with an empty cache; with all of them in memory; and after a restart,
// with all of them on disk. Run it with -benchtime 1x.
func BenchmarkColdStart(b *testing.B) {
	const n, size, readers = 10_000, 100 << 10, 256
	store := &moved{Backend: simulated.New(memory.New(), seam.Real(), simulated.S3())}
	ctx, dir := b.Context(), b.TempDir()
	each := func(workers int, do func(key []byte) error) {
		g := errgroup.Group{}
		g.SetLimit(workers)
		for i := range n {
			g.Go(func() error { return do(fmt.Appendf(nil, "key-%08d", i)) })
		}
		require.NoError(b, g.Wait())
	}
	open := func() (c *cache.Cache, db *strictkv.DB, values *strictkv.Collection) {
		c, err := cache.Open(dir, 4<<30, cache.Memory(2<<30))
		require.NoError(b, err)
		db, err = strictkv.Open(ctx, "db", store, strictkv.WithCache(c))
		require.NoError(b, err)
		return c, db, db.Collection([]byte("values"))
	}
	read := func(what string, db *strictkv.DB) {
		values := db.Collection([]byte("values"))
		store.bytes.Store(0)
		store.gets.Store(0)
		began := time.Now()
		each(readers, func(key []byte) error {
			v, err := values.Read(ctx, key)
			if err == nil && len(v) != size {
				err = fmt.Errorf("%d bytes", len(v))
			}
			return err
		})
		b.ReportMetric(time.Since(began).Seconds(), what+"-s")
		b.ReportMetric(float64(store.bytes.Load())/(1<<20), what+"-MiB")
		require.GreaterOrEqual(b, store.gets.Load(), int64(n))
	}

	c, db, values := open()
	data := make([]byte, size)
	each(64, func(key []byte) error { return values.Write(ctx, key, data) })
	require.NoError(b, db.Close(ctx))
	require.NoError(b, c.Close())
	require.Zero(b, c.Disk().Dropped)
	for range b.N {
		db, err := strictkv.Open(ctx, "db", store, strictkv.WithCacheSize(2<<30))
		require.NoError(b, err)
		read("empty", db)
		read("memory", db)
		require.NoError(b, db.Close(ctx))
		began := time.Now()
		c, db, _ := open()
		b.ReportMetric(time.Since(began).Seconds(), "open-s")
		read("disk", db)
		require.EqualValues(b, n, db.Stats().DiskHits)
		require.NoError(b, db.Close(ctx))
		require.NoError(b, c.Close())
	}
}
