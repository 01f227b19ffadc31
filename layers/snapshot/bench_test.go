package snapshot_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/snapshot"
)

const benchEntries = 100_000

// benched is a snapshot of entries of 1 KiB.
func benched(b *testing.B) *snapshot.Snapshot {
	s := snapshot.Dir(b.TempDir())
	value := make([]byte, 1008)
	name, err := snapshot.Build(b.Context(), s, func(yield func(k, v []byte) bool) {
		for i := range benchEntries {
			if !yield(fmt.Appendf(nil, "k%015d", i*7), value) {
				return
			}
		}
	})
	require.NoError(b, err)
	snap, err := snapshot.Open(b.Context(), s, name)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, snap.Close()) })
	return snap
}

func BenchmarkGet(b *testing.B) {
	snap := benched(b)
	keys := make([][]byte, 1000)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "k%015d", i*7919%benchEntries*7)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := snap.Get(b.Context(), keys[i%len(keys)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkScan is the time of one entry.
func BenchmarkScan(b *testing.B) {
	snap := benched(b)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		for _, err := range snap.Scan(b.Context(), strictkv.Range{}) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n >= b.N {
				break
			}
		}
	}
}
