package recordlog

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/seam"
)

const benchValue = 1 << 10

var benchCounts = []int{1000, 10_000, 100_000}

// filled opens a log of n records of 1 KiB on the disk, and returns their keys as well.
func filled(b *testing.B, n int, sync bool) (*Log, []string) {
	b.Helper()
	d, err := OpenDir(b.TempDir())
	require.NoError(b, err)
	l, err := Open(d, Options{Runtime: seam.Real(), Size: 1 << 30, Sync: sync})
	require.NoError(b, err)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("0123456789abcdef0123456789abcdef/c/+records/=%08d", i)
		l.Put(keys[i], "1", make([]byte, benchValue))
		if i%1000 == 999 {
			l.Flush()
		}
	}
	l.Flush()
	require.EqualValues(b, n, l.Stats().Records)
	rand.Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	b.ReportAllocs()
	b.ResetTimer()
	return l, keys
}

// BenchmarkRead reads records in any order.
func BenchmarkRead(b *testing.B) {
	for _, n := range benchCounts {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			l, keys := filled(b, n, false)
			for i := range b.N {
				if _, _, _, ok := l.Get(keys[i%n]); !ok {
					b.Fatal("not found")
				}
			}
			b.StopTimer()
			require.NoError(b, l.Close())
		})
	}
}

// BenchmarkWrite replaces records in any order: handed over, written, written and synced one by
// one.
func BenchmarkWrite(b *testing.B) {
	for _, way := range []string{"buffered", "flushed", "synced"} {
		for _, n := range benchCounts {
			b.Run(fmt.Sprint(way, "/", n), func(b *testing.B) {
				l, keys := filled(b, n, way == "synced")
				data := make([]byte, benchValue)
				for i := range b.N {
					l.Put(keys[i%n], "2", data)
					if way != "buffered" || i%1000 == 999 {
						l.Flush()
					}
				}
				l.Flush()
				b.StopTimer()
				require.Zero(b, l.Stats().Dropped)
				require.NoError(b, l.Close())
			})
		}
	}
}

// BenchmarkOpen opens a log, and tells what its index takes on the heap for each record.
func BenchmarkOpen(b *testing.B) {
	for _, n := range benchCounts {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			dir := b.TempDir()
			d, err := OpenDir(dir)
			require.NoError(b, err)
			l, err := Open(d, Options{Runtime: seam.Real(), Size: 1 << 30})
			require.NoError(b, err)
			for i := range n {
				l.Put(strconv.Itoa(i), "1", make([]byte, benchValue))
				if i%1000 == 999 {
					l.Flush()
				}
			}
			require.NoError(b, l.Close())
			before, opened := heap(), (*Log)(nil)
			b.ResetTimer()
			for range b.N {
				if opened != nil {
					require.NoError(b, opened.Close())
				}
				d, err := OpenDir(dir)
				require.NoError(b, err)
				opened, err = Open(d, Options{Runtime: seam.Real(), Size: 1 << 30})
				require.NoError(b, err)
			}
			b.StopTimer()
			b.ReportMetric(float64(heap()-before)/float64(n), "heap-B/record")
			require.EqualValues(b, n, opened.Stats().Records)
			require.NoError(b, opened.Close())
		})
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
