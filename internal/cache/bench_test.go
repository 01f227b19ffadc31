package cache_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cache"
)

const benchNames = 1 << 14

func filled(b *testing.B) (*cache.Space, []string) {
	s := cache.New(1 << 30).Space("db")
	names := make([]string, benchNames)
	for i := range names {
		names[i] = fmt.Sprintf(shortName, i)
		read(shortName, inlined(1<<10, 2))(s, i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	return s, names
}

func BenchmarkLookup(b *testing.B) {
	s, names := filled(b)
	for i := range b.N {
		if _, ok := s.Lookup(names[i%benchNames]); !ok {
			b.Fatal("not found")
		}
	}
}

// BenchmarkLearnWritten replaces cells, with values of 1000 B, by others.
func BenchmarkLearnWritten(b *testing.B) {
	s, names := filled(b)
	e := entry(inlined(1000, 2)(1), 1)
	e.Cell.Value.Data = append([]byte{}, e.Cell.Value.Data...)
	e.Wrote = true
	versions := [...]backend.Version{version(1), version(2)}
	for i := range b.N {
		e.Version = versions[i/benchNames%2]
		e.Proved, e.Settled = uint64(i+benchNames), uint64(i+benchNames)
		s.Learn(names[i%benchNames], e)
	}
}

// BenchmarkLearnEvicting learns cells that drive others out.
func BenchmarkLearnEvicting(b *testing.B) {
	s := cache.New(8 << 20).Space("db")
	e := entry(inlined(1<<10, 2)(1), 1)
	e.Size = 1200
	names := make([]string, benchNames)
	for i := range names {
		names[i] = fmt.Sprintf(shortName, i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		s.Learn(names[i%benchNames], e)
	}
}

// BenchmarkSize learns values of 1 KiB under keys of 16 bytes, and reports what the heap takes
// for each beyond the value.
func BenchmarkSize(b *testing.B) {
	const size, key = 1 << 10, "=key-%012d"
	before := heap()
	c := cache.New(1 << 40)
	s := c.Space("db")
	learn := read(key, inlined(size, 1))
	b.ResetTimer()
	for i := range b.N {
		learn(s, i)
	}
	b.StopTimer()
	taken := heap() - before
	runtime.KeepAlive(c)
	b.ReportMetric(float64(taken)/float64(b.N)-size, "overhead-B/value")
}
