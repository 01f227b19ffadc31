package recordlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPutGet(t *testing.T) {
	d := newDisk()
	l := open(t, d, Options{})
	l.Put("a", "1", []byte("one"))
	l.Put("b", "", nil)
	l.Flush()
	l.Put("a", "2", []byte("two"))
	l.Flush()
	for range 2 {
		version, data, size, ok := l.Get("a")
		require.True(t, ok)
		assert.Equal(t, "2", version)
		assert.Equal(t, "two", string(data))
		assert.Equal(t, recordHead+1+1+3, size)
		version, data, _, ok = l.Get("b")
		require.True(t, ok)
		assert.Empty(t, version)
		assert.Empty(t, data)
		_, _, _, ok = l.Get("c")
		assert.False(t, ok)
		require.NoError(t, l.Close())
		_, _, _, ok = l.Get("a")
		assert.False(t, ok, "closed")
		l.Put("c", "1", nil)
		require.NoError(t, l.Close())
		l = open(t, d, Options{})
		assert.EqualValues(t, 2, l.Stats().Records)
	}
	assert.Zero(t, l.Stats().Cut+l.Stats().Discarded+l.Stats().Damaged)
	require.NoError(t, l.Close())
}

// TestModel compares a log with a map, over evictions and restarts: what it has of a key was put
// there, and is the latest unless the log was opened since.
func TestModel(t *testing.T) {
	const keys, size = 300, SizeMin
	random := rand.New(rand.NewPCG(1, 2))
	d := newDisk()
	l := open(t, d, Options{Size: size})
	latest, ever := map[string]string{}, map[string]bool{}
	hits, misses := 0, 0
	for i := range 8000 {
		key := fmt.Sprint("key-", random.IntN(keys))
		switch n := random.IntN(1000); {
		case n == 0:
			require.NoError(t, l.Close())
			l = open(t, d, Options{Size: size})
			clear(latest)
		case n < 400:
			version := fmt.Sprint(i)
			l.Put(key, version, value(key, version, random.IntN(20_000)))
			latest[key], ever[key+"="+version] = version, true
			if n%4 == 0 {
				l.Flush()
			}
		default:
			l.Flush()
			version, data, _, ok := l.Get(key)
			if !ok {
				misses++
				break
			}
			hits++
			require.True(t, ever[key+"="+version])
			require.Equal(t, value(key, version, len(data)), data)
			if want, ok := latest[key]; ok {
				require.Equal(t, want, version)
			}
		}
		require.LessOrEqual(t, l.Stats().Bytes, int64(size+size/segmentsPart)) // while one goes
	}
	l.Flush()
	require.LessOrEqual(t, l.Stats().Bytes, int64(size))
	assert.LessOrEqual(t, d.most, int64(size+size/segmentsPart))
	t.Logf("%d hits, %d misses, %+v", hits, misses, l.Stats())
	assert.Greater(t, hits, 500)
	assert.Greater(t, misses, 500)
	assert.Zero(t, l.Stats().Damaged+l.Stats().Dropped)
	require.NoError(t, l.Close())
}

// value is made of its key and version.
func value(key, version string, n int) []byte {
	return bytes.Repeat([]byte(key+version), n)[:n]
}

// What is used survives what is written once.
func TestSecondChance(t *testing.T) {
	l := open(t, newDisk(), Options{})
	l.Put("used", "1", make([]byte, 1000))
	l.Put("left", "1", make([]byte, 1000))
	for i := range 2500 {
		l.Put(fmt.Sprint("once-", i), "1", make([]byte, 1000))
		l.Flush()
		if _, _, _, ok := l.Get("used"); !ok {
			t.Fatal("gone after ", i)
		}
	}
	_, _, _, ok := l.Get("left")
	assert.False(t, ok)
	require.NoError(t, l.Close())
}

// What is overwritten makes room: nothing else has to go.
func TestGarbageGoesFirst(t *testing.T) {
	l := open(t, newDisk(), Options{})
	for i := range 100 {
		l.Put(fmt.Sprint("cold-", i), "1", make([]byte, 5000))
	}
	for i := range 2500 {
		l.Put(fmt.Sprint("hot-", i%10), fmt.Sprint(i), make([]byte, 5000))
		l.Flush()
	}
	cold := 0
	for i := range 100 {
		if _, _, _, ok := l.Get(fmt.Sprint("cold-", i)); ok {
			cold++
		}
	}
	assert.GreaterOrEqual(t, cold, 90)
	require.NoError(t, l.Close())
}

// Two keys of one hash are never taken for each other.
func TestCollision(t *testing.T) {
	l := open(t, newDisk(), Options{})
	l.hash = func(string) uint64 { return 7 }
	l.Put("a", "1", []byte("of a"))
	l.Flush()
	l.Put("b", "2", []byte("of b"))
	l.Flush()
	_, _, _, ok := l.Get("a")
	assert.False(t, ok)
	_, data, _, ok := l.Get("b")
	assert.True(t, ok)
	assert.Equal(t, "of b", string(data))
	assert.Zero(t, l.Stats().Damaged)
	require.NoError(t, l.Close())
}

func TestTooLarge(t *testing.T) {
	l := open(t, newDisk(), Options{})
	l.Put("large", "1", make([]byte, SizeMin/recordsPart))
	l.Put(string(make([]byte, textMax+1)), "1", nil)
	l.Put("fits", "1", make([]byte, SizeMin/recordsPart-100))
	l.Flush()
	assert.EqualValues(t, 2, l.Stats().Dropped)
	_, _, _, ok := l.Get("fits")
	assert.True(t, ok)
	require.NoError(t, l.Close())
}

// A smaller bound than before drives out the oldest.
func TestOpenSmaller(t *testing.T) {
	d := newDisk()
	l := open(t, d, Options{Size: 8 * SizeMin})
	for i := range 100 {
		l.Put(fmt.Sprint(i), "1", make([]byte, 50_000))
		l.Flush()
	}
	require.NoError(t, l.Close())
	l = open(t, d, Options{})
	assert.LessOrEqual(t, l.Stats().Bytes, int64(SizeMin))
	_, _, _, ok := l.Get("99")
	assert.True(t, ok)
	_, _, _, ok = l.Get("0")
	assert.False(t, ok)
	require.NoError(t, l.Close())
}

// TestConcurrent reads and writes in several goroutines while segments come and go, and closes
// the log beneath them.
func TestConcurrent(t *testing.T) {
	const users, rounds = 6, 1500
	d, err := OpenDir(t.TempDir())
	require.NoError(t, err)
	l := open(t, d, Options{})
	var wg sync.WaitGroup
	for u := range users {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(u)))
			for i := range rounds {
				key := fmt.Sprint("key-", random.IntN(200))
				version := fmt.Sprint(u, "-", i)
				l.Put(key, version, value(key, version, random.IntN(10_000)))
				if i%20 == 0 {
					l.Flush()
				}
				key = fmt.Sprint("key-", random.IntN(200))
				if version, data, _, ok := l.Get(key); ok {
					assert.Equal(t, value(key, version, len(data)), data)
				}
				if u == 0 && i == rounds-100 {
					assert.Zero(t, l.Stats().Damaged)
					assert.NoError(t, l.Close())
				}
			}
		})
	}
	wg.Wait()
	s := l.Stats()
	assert.Zero(t, s.Damaged)
	assert.Positive(t, s.Hits)
	assert.Zero(t, s.Records)
}
