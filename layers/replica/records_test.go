package replica

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

// Who has read a value from what is not shown any more does not put it in, also if nothing else is
// there; and what was put in before a change is not there after it.
func TestRecordsTakeTheirOwnEditionAlone(t *testing.T) {
	r := newRecords(1<<20, 1)
	r.keep(1, "a", found{value: []byte("1")})
	r.keep(1, "b", found{absent: true})
	r.keep(1, "same", found{value: []byte("1")})
	r.advance(2, []string{"a", "b", "c"})
	for _, name := range []string{"a", "b", "c"} {
		_, ok := r.get(name)
		assert.False(t, ok, name)
		r.keep(1, name, found{value: []byte("1")})
		_, ok = r.get(name)
		assert.False(t, ok, name)
		r.keep(2, name, found{value: []byte("2")})
		f, ok := r.get(name)
		assert.True(t, ok, name)
		assert.Equal(t, "2", string(f.value))
	}
	f, ok := r.get("same")
	assert.True(t, ok)
	assert.Equal(t, "1", string(f.value))
	_, ok = (*records)(nil).get("a")
	assert.False(t, ok)
}

// The cache has its own bytes: what a caller does with a value that it was given is its own affair.
func TestRecordsAreCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, c, r := alone(t, newDisk(), Options{Every: time.Second})
		require.NoError(t, c.Write(t.Context(), []byte("k"), []byte("value")))
		require.NoError(t, c.Write(t.Context(), []byte("empty"), nil))
		require.NoError(t, r.Wait(t.Context()))
		for range 3 {
			v, err := r.Read(c, []byte("k"))
			require.NoError(t, err)
			require.Equal(t, "value", string(v))
			clear(v)
			v, err = r.Read(c, []byte("empty"))
			require.NoError(t, err)
			require.Equal(t, []byte{}, v)
			_, err = r.Read(c, []byte("absent"))
			require.ErrorIs(t, err, strictkv.ErrNotFound)
		}
		assert.Equal(t, 3, r.records.Load().cache.EstimatedSize())
		require.NoError(t, r.Close())
		_, err := r.Read(c, []byte("k"))
		require.ErrorIs(t, err, strictkv.ErrClosed)
		require.NoError(t, db.Close(t.Context()))
	})
}

// What is kept in memory is due when it is due.
func TestRecordsThatAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, c, r := alone(t, newDisk(), Options{Every: time.Hour})
		due := strictkv.ExpireAt(time.Now().Add(3 * time.Hour))
		require.NoError(t, c.Write(t.Context(), []byte("k"), []byte("v"), due))
		require.NoError(t, r.Wait(t.Context()))
		for range 2 {
			_, err := r.Read(c, []byte("k"))
			require.NoError(t, err)
		}
		name := string(cellKey(nil, keyRecord, 0, []byte("k")))
		f, ok := r.records.Load().get(name)
		require.True(t, ok)
		time.Sleep(3 * time.Hour)
		_, err := f.read([]byte("k"))
		require.ErrorIs(t, err, strictkv.ErrNotFound)
		_, err = r.Read(c, []byte("k"))
		require.ErrorIs(t, err, strictkv.ErrNotFound)
		require.NoError(t, r.Close())
		require.NoError(t, db.Close(t.Context()))
	})
}

// A reader that has begun before a change, and puts in what it has found after that was shown,
// changes nothing for others.
func TestSlowReadersPutNothingOldIn(t *testing.T) {
	for _, m := range []Mode{PerKey, Instant} {
		synctest.Test(t, func(t *testing.T) {
			db, c, r := alone(t, newDisk(), Options{Every: time.Second, Mode: m})
			name := string(cellKey(nil, keyRecord, 0, []byte("k")))
			var slow []*shown
			for i := range 5 {
				require.NoError(t, c.Write(t.Context(), []byte("k"), fmt.Append(nil, i)))
				require.NoError(t, r.Wait(t.Context()))
				for _, s := range slow {
					_, err := s.read(c, []byte("k"), name)
					require.NoError(t, err)
				}
				for range 2 { // from the copy, and from memory
					v, err := r.Read(c, []byte("k"))
					require.NoError(t, err)
					require.Equal(t, fmt.Sprint(i), string(v))
				}
				s, err := r.acquire()
				require.NoError(t, err)
				slow = append(slow, s)
			}
			for _, s := range slow {
				s.release()
			}
			require.NoError(t, r.Close())
			require.NoError(t, db.Close(t.Context()))
		})
	}
}

// More changes than are noted, and a copy that is thrown away, leave nothing in memory.
func TestRecordsBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, c, r := alone(t, newDisk(), Options{Every: time.Second, Mode: Instant})
		write := func(value string) {
			require.NoError(t, c.Write(t.Context(), []byte("k"), []byte(value)))
			require.NoError(t, r.Wait(t.Context()))
		}
		shows := func(want string) {
			v, err := r.Read(c, []byte("k"))
			require.NoError(t, err)
			require.Equal(t, want, string(v))
		}
		write("1")
		shows("1")
		before := r.records.Load()
		synctest.Wait()
		r.store.changed = make([]string, changedMax)
		write("2")
		shows("2")
		assert.NotSame(t, before, r.records.Load())

		before = r.records.Load()
		r.noticed(errDamage)
		synctest.Wait()
		require.NoError(t, r.Wait(t.Context()))
		assert.Equal(t, 1, r.Rebuilt())
		assert.NotSame(t, before, r.records.Load())
		shows("2")
		write("3")
		shows("3")
		require.NoError(t, r.Close())
		assert.Nil(t, r.records.Load())
		require.NoError(t, db.Close(t.Context()))
	})
}

// What a batch may have changed is noted although it failed: it may have been applied.
func TestBatchesThatFailAreNoted(t *testing.T) {
	d := newDisk()
	d.left = 0
	n := &noting{storage: d}
	var b batch
	b.set(cellKey(nil, keyRecord, 0, []byte("k")), nil)
	b.set(logKey(1), nil)
	require.ErrorIs(t, n.commit(&b, true), errCrash)
	assert.Equal(t, []string{"r\x00\x00k"}, n.changed)
}

// The bound holds for what the process takes, keys and values of all sizes; what is larger than it
// is not kept.
func TestRecordsAreBounded(t *testing.T) {
	for _, size := range []int{0, 100, 1000, 20_000} {
		const bound = 2 << 20
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before := heap()
		r := newRecords(bound, 1)
		value := []byte(strings.Repeat("v", size))
		for i := range 2 * bound / (size + foundSize) {
			r.keep(1, fmt.Sprintf("r%020d", i), found{value: value})
		}
		r.keep(1, "large", found{value: make([]byte, foundMax+1)})
		r.cache.CleanUp()
		took := heap() - before
		t.Logf("values of %d bytes: %d records take %d bytes", size, r.cache.EstimatedSize(), took)
		assert.LessOrEqual(t, r.cache.WeightedSize(), uint64(bound))
		assert.Less(t, took, int64(bound+bound/2), "values of %d bytes", size)
		_, ok := r.get("large")
		assert.False(t, ok)
		runtime.KeepAlive(r)
	}
	small := newRecords(100, 1)
	small.keep(1, "k", found{})
	small.cache.CleanUp()
	assert.Zero(t, small.cache.EstimatedSize())
}

// However readers and who advances the cache meet, nothing older than what is shown is found. The
// key that readers want is the first that is removed: they have time to put it in again.
func TestRecordsUnderReaders(t *testing.T) {
	const editions = 2000
	r := newRecords(1<<20, 1)
	changed := []string{"k"}
	for i := range 500 {
		changed = append(changed, fmt.Sprint(i))
	}
	var latest atomic.Uint64 // what is shown
	latest.Store(1)
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for latest.Load() < editions {
				floor := latest.Load()
				f, ok := r.get("k")
				if !ok {
					r.keep(floor, "k", found{value: binary.BigEndian.AppendUint64(nil, floor)})
				} else if n := binary.BigEndian.Uint64(f.value); n < floor {
					t.Errorf("found %d after %d was shown", n, floor)
					return
				}
			}
		})
	}
	for n := uint64(2); n <= editions; n++ {
		r.advance(n, changed)
		latest.Store(n)
	}
	readers.Wait()
}

// Reads beside a writer, one after the other, never go back: no key, and of an Instant replica none
// of the keys that a transaction has written together.
func TestReadsNeverGoBack(t *testing.T) {
	for _, m := range []Mode{PerKey, Instant} {
		db, err := strictkv.Open(t.Context(), "db", memory.New())
		require.NoError(t, err)
		c := db.Collection([]byte("c"))
		r, err := openOn(t.Context(), db, newDisk(), Options{
			Collections: []*strictkv.Collection{c}, Mode: m, Every: time.Millisecond,
		})
		require.NoError(t, err)
		keys := [][]byte{[]byte("a"), []byte("b"), []byte("c")}
		write := func(n uint64) {
			require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
				for _, key := range keys {
					if err := tx.Write(c, key, binary.BigEndian.AppendUint64(nil, n)); err != nil {
						return err
					}
				}
				return nil
			}))
			require.NoError(t, r.Wait(t.Context()))
		}
		write(1)
		var floors [3]atomic.Uint64 // what has been read, of each key
		var readers sync.WaitGroup
		var end atomic.Bool
		for g := range 2 {
			readers.Go(func() {
				for i := g; !end.Load(); i++ {
					floor := floors[i%len(keys)].Load()
					v, err := r.Read(c, keys[i%len(keys)])
					if !assert.NoError(t, err) {
						return
					}
					n := binary.BigEndian.Uint64(v)
					if !assert.GreaterOrEqual(t, n, floor, "read %q", keys[i%len(keys)]) {
						return
					}
					for k := range floors {
						if m == Instant || k == i%len(keys) {
							raise(&floors[k], n)
						}
					}
				}
			})
		}
		for n := range uint64(40) {
			write(2 + n)
		}
		end.Store(true)
		readers.Wait()
		require.NoError(t, r.Close())
		require.NoError(t, db.Close(t.Context()))
	}
}

// raise makes n what a floor is at least.
func raise(floor *atomic.Uint64, n uint64) {
	for old := floor.Load(); n > old && !floor.CompareAndSwap(old, n); old = floor.Load() {
	}
}

// What a scan yields is the caller's: appending to it, or changing it, changes nothing else.
func TestItemsAreTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, c, r := alone(t, newDisk(), Options{Every: time.Second})
		want := map[string]string{}
		for i := range 100 {
			key, value := fmt.Sprintf("%03d", i), strings.Repeat("v", i*i)
			want[key] = value
			require.NoError(t, c.Write(t.Context(), []byte(key), []byte(value)))
		}
		require.NoError(t, r.Wait(t.Context()))
		for _, keysOnly := range []bool{false, true} {
			var items []Item
			for i, err := range r.Scan(c, strictkv.Range{KeysOnly: keysOnly}) {
				require.NoError(t, err)
				items = append(items, i)
				_, _ = append(i.Key, "xxxxxx"...), append(i.Value, "xxxxxx"...)
			}
			require.Len(t, items, len(want))
			for _, i := range items {
				if !keysOnly {
					assert.NotNil(t, i.Value)
					assert.Equal(t, want[string(i.Key)], string(i.Value))
				}
				assert.Contains(t, want, string(i.Key))
				clear(i.Value)
			}
		}
		require.NoError(t, r.Close())
		require.NoError(t, db.Close(t.Context()))
	})
}
