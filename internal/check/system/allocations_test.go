package system_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/raced"
)

// TestAllocationsOfSizeClasses: an update costs as many allocations where its value fills an
// allocation of Go's exactly (128, 256 and 1024 bytes do) as for a byte less. It takes the
// smallest of some runs: allocations of others can only add to it.
func TestAllocationsOfSizeClasses(t *testing.T) {
	if raced.Enabled() {
		t.Skip("the race detector allocates: run it without -race")
	}
	for _, size := range []int{128, 256, 1024} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			assert.InDelta(t, allocationsOfUpdate(t, size-1), allocationsOfUpdate(t, size), 0)
		})
	}
}

func allocationsOfUpdate(t *testing.T, size int) (least float64) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoad(t, memory.New())
		keys := l.sets(1, 1)[0]
		require.NoError(t, l.coll.Write(l.ctx, keys[0].Key, make([]byte, size)))
		var failed error
		for i := range 5 {
			n := testing.AllocsPerRun(100, func() {
				failed = errors.Join(failed, l.update(keys))
				time.Sleep(time.Second)
				synctest.Wait()
			})
			if i == 0 || n < least {
				least = n
			}
		}
		require.NoError(t, failed)
		require.NoError(t, l.db.Close(l.ctx))
	})
	return least
}

// BenchmarkUpdateBySize updates one key, by the size of its value.
func BenchmarkUpdateBySize(b *testing.B) {
	for _, size := range []int{127, 128, 129, 255, 256, 1023, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l := newLoad(b, memory.New())
			keys := l.sets(1, 1)[0]
			require.NoError(b, l.coll.Write(l.ctx, keys[0].Key, make([]byte, size)))
			b.ReportAllocs()
			for b.Loop() {
				if err := l.update(keys); err != nil {
					b.Fatal(err)
				}
			}
			l.close(b, strictkv.Stats{})
		})
	}
}
