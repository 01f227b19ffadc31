package system_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

// mixedKeys is how many keys BenchmarkMixed chooses from.
const mixedKeys = 50_000

// BenchmarkMixed runs the mix of benchmarks/mixed on memory, by one handle: 10 % updates of
// two keys, 60 % strong reads of two, 30 % weak reads of one. Its figures are how many
// transactions each processor makes in a second of the clock, and in a second of its own time,
// which does not depend on what else the machine does; run it with -cpu 1,2,4.
func BenchmarkMixed(b *testing.B) {
	l := newLoad(b, memory.New())
	keys := make([]strictkv.Key, mixedKeys)
	for i := range keys {
		keys[i] = l.coll.Key(fmt.Appendf(nil, "key-%012d", i))
		require.NoError(b, l.coll.Insert(l.ctx, keys[i].Key, make([]byte, 100)))
	}
	before := l.db.Stats()
	runtime.GC()
	b.ReportAllocs()
	b.ResetTimer()
	used := processorTime(b)
	var seed atomic.Uint64
	b.RunParallel(func(pb *testing.PB) {
		random := rand.New(rand.NewPCG(seed.Add(1), 0))
		for pb.Next() {
			first, second := random.IntN(mixedKeys), random.IntN(mixedKeys-1)
			if second >= first {
				second++
			}
			two := []strictkv.Key{keys[first], keys[second]}
			if err := l.mixed(random.IntN(100), two); err != nil {
				b.Error(err)
				return
			}
		}
	})
	l.close(b, before)
	used = processorTime(b) - used
	b.ReportMetric(float64(b.N)/used.Seconds(), "tx/cpu-s")
	perCore := float64(b.N) / b.Elapsed().Seconds() / float64(runtime.GOMAXPROCS(0))
	b.ReportMetric(perCore, "tx/s/core")
}

// mixed runs the transaction that belongs to a number below 100.
func (l *load) mixed(percent int, two []strictkv.Key) error {
	switch {
	case percent < 10:
		return l.db.Tx(l.ctx, func(tx *strictkv.Tx) error {
			for i, r := range tx.ReadMulti(two...) {
				if r.Err != nil {
					return r.Err
				}
				r.Value[0]++
				if err := tx.Write(l.coll, two[i].Key, r.Value); err != nil {
					return err
				}
			}
			return nil
		})
	case percent < 70:
		return l.view(two)
	}
	return l.readWeak(two)
}

// BenchmarkIdle opens handles, and reports what each takes on the heap, with a cache that is
// empty, and how many goroutines it has. Its time is that of opening, and of collecting the
// garbage.
func BenchmarkIdle(b *testing.B) {
	bucket := memory.New()
	newLoad(b, bucket) // makes the database
	handles := make([]*load, b.N)
	heap, goroutines := heapSize(), runtime.NumGoroutine()
	for i := range handles {
		handles[i] = newLoad(b, bucket)
	}
	b.ReportMetric(float64(heapSize()-heap)/float64(b.N), "heap-B/handle")
	b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/float64(b.N), "goroutines/handle")
	runtime.KeepAlive(handles)
}

// heapSize is what lives on the heap, in bytes.
func heapSize() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
