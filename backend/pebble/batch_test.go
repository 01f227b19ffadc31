package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/pebble"
)

// pair are two objects that are written together.
type pair [2]string

// increment adds 1 to both.
func (p pair) increment(b *pebble.Backend) (n int, err error) {
	writes := make([]backend.Write, len(p))
	for i, name := range p {
		c := backend.IfAbsent()
		o, err := b.Get(context.Background(), name, "")
		switch {
		case err == nil:
			c = backend.IfVersion(o.Version)
			if _, err := fmt.Sscan(string(o.Data[:min(len(o.Data), 20)]), &n); err != nil {
				return 0, err
			}
		case !errors.Is(err, backend.ErrNotFound):
			return 0, err
		}
		writes[i] = backend.Write{Name: name, If: c}
	}
	for i := range writes {
		writes[i].Data = state(n + 1)
	}
	_, _, err = b.PutAll(context.Background(), writes)
	return n + 1, err
}

// TestPowerCutOfBatches: after a power cut, a batch is there as a whole, or not at all. What was
// acknowledged, or of which somebody has read a part, is there.
func TestPowerCutOfBatches(t *testing.T) {
	const dir = "store"
	pairs := []pair{{"a", "z"}, {"y", "b"}, {"c/c", "c"}}
	disk := vfs.NewCrashableMem()
	require.NoError(t, disk.MkdirAll(dir, 0o700))
	require.NoError(t, syncRoot(disk))
	for round := range 15 {
		b, err := pebble.OpenIn(disk, dir)
		require.NoError(t, err)
		told := make([]atomic.Int64, len(pairs))
		var over atomic.Bool
		var busy sync.WaitGroup
		enough := make(chan struct{})
		var writes atomic.Int64
		for i, p := range pairs {
			busy.Go(func() {
				for !over.Load() {
					n, err := p.increment(b)
					if !assert.NoError(t, err) {
						return
					}
					told[i].Store(int64(n))
					if writes.Add(1) == int64(20+round) {
						close(enough)
					}
				}
			})
		}
		<-enough
		known := make([]int, len(pairs)) // before the cut
		for i, p := range pairs {
			known[i] = int(told[i].Load())
			if o, err := b.Get(t.Context(), p[1], ""); err == nil {
				known[i] = max(known[i], parseState(t, o.Data))
			}
		}
		cut := disk.CrashClone(vfs.CrashCloneCfg{
			UnsyncedDataPercent: []int{0, 50, 100}[round%3],
			RNG:                 rand.New(rand.NewPCG(uint64(round), 1)),
		})
		over.Store(true)
		busy.Wait()
		require.NoError(t, b.Close())

		disk = cut
		b, err = pebble.OpenIn(disk, dir)
		require.NoError(t, err)
		for i, p := range pairs {
			expectPair(t, b, p, known[i])
		}
		require.NoError(t, b.Close())
	}
}

// expectPair reads both of a pair: they are of one batch, and no older than what is known.
func expectPair(t *testing.T, b backend.Backend, p pair, least int) {
	t.Helper()
	var are [2]int
	for i, name := range p {
		o, err := b.Get(t.Context(), name, "")
		if least == 0 && errors.Is(err, backend.ErrNotFound) {
			continue
		}
		require.NoError(t, err)
		are[i] = parseState(t, o.Data)
	}
	assert.Equal(t, are[0], are[1])
	assert.GreaterOrEqual(t, are[0], least)
}

// TestLargestBatch: the largest batch is durable as a whole when it is answered.
func TestLargestBatch(t *testing.T) {
	const dir, n = "store", 16
	disk := vfs.NewCrashableMem()
	require.NoError(t, disk.MkdirAll(dir, 0o700))
	require.NoError(t, syncRoot(disk))
	b, err := pebble.OpenIn(disk, dir)
	require.NoError(t, err)
	writes := make([]backend.Write, n)
	for i := range writes {
		data := make([]byte, b.BatchMax()/n)
		data[0] = byte(i)
		writes[i] = backend.Write{Name: fmt.Sprint(i), Data: data, If: backend.IfAbsent()}
	}
	at, _, err := b.PutAll(t.Context(), writes)
	require.NoError(t, err)
	cut := disk.CrashClone(vfs.CrashCloneCfg{})
	require.NoError(t, b.Close())
	b, err = pebble.OpenIn(cut, dir)
	require.NoError(t, err)
	for i, w := range writes {
		o, err := b.Get(t.Context(), w.Name, "")
		require.NoError(t, err)
		assert.Equal(t, at[i].Version, o.Version)
		assert.Len(t, o.Data, len(w.Data))
		assert.Equal(t, byte(i), o.Data[0])
	}
	require.NoError(t, b.Close())
}
