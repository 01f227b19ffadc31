package pebble_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/pebble"
)

// BenchmarkPut replaces objects of 1 KiB, each goroutine its own.
func BenchmarkPut(b *testing.B) {
	for _, goroutines := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("Sync/%d", goroutines), func(b *testing.B) {
			benchmarkPut(b, goroutines)
		})
		b.Run(fmt.Sprintf("NoSync/%d", goroutines), func(b *testing.B) {
			benchmarkPut(b, goroutines, pebble.NoSync())
		})
	}
}

func benchmarkPut(b *testing.B, goroutines int, options ...pebble.Option) {
	store := open(b, b.TempDir(), options...)
	var next atomic.Int64
	b.SetParallelism(goroutines) // for each processor
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		name, data := fmt.Sprintf("db/c/%d", next.Add(1)), make([]byte, 1<<10)
		c := backend.IfAbsent()
		for pb.Next() {
			at, err := store.Put(b.Context(), name, data, c)
			require.NoError(b, err)
			c = backend.IfVersion(at.Version)
		}
	})
}

// BenchmarkLarge writes and reads objects of several sizes.
func BenchmarkLarge(b *testing.B) {
	for _, size := range []int{20 << 10, 200 << 10, 2 << 20} {
		store := open(b, b.TempDir())
		data, c := make([]byte, size), backend.IfAbsent()
		_, _ = rand.NewChaCha8([32]byte{}).Read(data) // It never fails.
		b.Run(fmt.Sprintf("Put/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				at, err := store.Put(b.Context(), "db/c/key", data, c)
				require.NoError(b, err)
				c = backend.IfVersion(at.Version)
			}
		})
		b.Run(fmt.Sprintf("Get/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				_, err := store.Get(b.Context(), "db/c/key", "")
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkGet reads objects at random that are in tables.
func BenchmarkGet(b *testing.B) {
	const count = 20_000
	for _, size := range []int{200, 1 << 10, 2 << 10} {
		dir := b.TempDir()
		store, err := pebble.Open(dir, pebble.NoSync())
		require.NoError(b, err)
		versions := make([]backend.Version, count)
		for i := range count {
			data := make([]byte, size)
			_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(data)
			at, err := store.Put(b.Context(), name(i), data, backend.IfAbsent())
			require.NoError(b, err)
			versions[i] = at.Version
		}
		require.NoError(b, store.Close())
		store = open(b, dir)
		for _, x := range []struct {
			name  string
			known func(i int) backend.Version
			want  error
		}{
			{"Data", func(int) backend.Version { return "" }, nil},
			{
				"NotModified", func(i int) backend.Version { return versions[i] },
				backend.ErrNotModified,
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", x.name, size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					i := rand.IntN(count)
					_, err := store.Get(b.Context(), name(i), x.known(i))
					require.ErrorIs(b, err, x.want)
				}
			})
		}
	}
}

// BenchmarkStrongRead reads keys of a database that its cache has.
func BenchmarkStrongRead(b *testing.B) {
	const count = 10_000
	db, err := strictkv.Open(b.Context(), "db", open(b, b.TempDir(), pebble.NoSync()))
	require.NoError(b, err)
	c := db.Collection([]byte("c"))
	keys := make([][]byte, count)
	for i := range keys {
		keys[i] = []byte(name(i))
		require.NoError(b, c.Write(b.Context(), keys[i], make([]byte, 1<<10)))
	}
	for how, read := range map[string]func(context.Context, []byte) ([]byte, error){
		"Read": c.Read,
		"ReadShared": func(ctx context.Context, key []byte) ([]byte, error) {
			return c.ReadShared(ctx, key, 0)
		},
	} {
		b.Run(how, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_, err := read(b.Context(), keys[rand.IntN(count)])
					require.NoError(b, err)
				}
			})
		})
	}
}

func name(i int) string { return fmt.Sprintf("db/c/%06d", i) }
