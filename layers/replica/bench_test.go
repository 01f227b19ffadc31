//go:build unix

package replica

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

// benchKeys is how many records there are: a land register's.
const benchKeys = 106_178

// benchNames are their keys, in order.
var benchNames = func() (names [][]byte) {
	for i := range benchKeys {
		names = append(names, fmt.Appendf(nil, "%03d-%02d-%06d", i%401, i%37, i))
	}
	slices.SortFunc(names, bytes.Compare)
	return names
}()

var benchValue = []byte(strings.Repeat("0123456789abcdef", 12))

// benchSmall is the size of each cache in memory that is too small for the records: together they
// have room for a quarter.
const benchSmall = 4 << 20

// copies are the same records in a replica, in a bare Pebble, both also with small caches, and in
// bbolt.
type copies struct {
	r, small        *Replica
	c               *strictkv.Collection
	bare, bareSmall *pebble.DB
	bolt            *bbolt.DB
}

func newCopies(b *testing.B) *copies {
	b.Helper()
	ctx := context.Background()
	db, err := strictkv.Open(ctx, "db", memory.New())
	require.NoError(b, err)
	x := &copies{c: db.Collection([]byte("parcels"))}
	_, err = x.c.Load(ctx, func(yield func([]byte, []byte) bool) {
		for _, key := range benchNames {
			if !yield(key, benchValue) {
				return
			}
		}
	}, strictkv.LoadOptions{})
	require.NoError(b, err)
	o := Options{Collections: []*strictkv.Collection{x.c}, Every: time.Hour}
	x.r, err = Open(ctx, db, b.TempDir(), o)
	require.NoError(b, err)
	require.NoError(b, x.r.Ready(ctx))
	o.CacheSize, o.RecordCacheSize = benchSmall, benchSmall
	x.small, err = Open(ctx, db, b.TempDir(), o)
	require.NoError(b, err)
	require.NoError(b, x.small.Ready(ctx))
	x.bare = newBare(b, DefaultCacheSize+DefaultRecordCacheSize)
	x.bareSmall = newBare(b, 2*benchSmall)
	x.bolt, err = bbolt.Open(b.TempDir()+"/bolt", 0o600, &bbolt.Options{NoSync: true})
	require.NoError(b, err)
	require.NoError(b, x.bolt.Update(func(tx *bbolt.Tx) error {
		c, err := tx.CreateBucket([]byte("b"))
		for i := 0; err == nil && i < benchKeys; i++ {
			err = c.Put(benchNames[i], benchValue)
		}
		return err
	}))
	b.Cleanup(func() {
		require.NoError(b, x.r.Close())
		require.NoError(b, x.small.Close())
		require.NoError(b, db.Close(ctx))
		require.NoError(b, x.bolt.Close())
	})
	return x
}

// newBare is a bare Pebble with the records, and with as much memory as a replica has.
func newBare(b *testing.B, cache int64) *pebble.DB {
	b.Helper()
	db, err := pebble.Open(b.TempDir(), &pebble.Options{
		Logger: silent{}, Cache: pebble.NewCache(cache),
	})
	require.NoError(b, err)
	for _, key := range benchNames {
		require.NoError(b, db.Set(key, benchValue, pebble.NoSync))
	}
	require.NoError(b, db.Flush())
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	return db
}

// readers are what a point read is, of each. All keys have been read before: those of "replica" are
// records in memory then. "view" finds none of those, as who reads a key for the first time; its
// blocks are in memory. Of "small", most are not even that, but in files that the system has in
// memory.
func (x *copies) readers() map[string]func(key []byte) error {
	return map[string]func(key []byte) error{
		"replica": func(key []byte) error {
			_, err := x.r.Read(x.c, key)
			return err
		},
		"replica-view": func(key []byte) error {
			return x.r.View(func(v *View) error {
				_, err := v.Read(x.c, key)
				return err
			})
		},
		"replica-small": func(key []byte) error {
			_, err := x.small.Read(x.c, key)
			return err
		},
		"pebble":       func(key []byte) error { return readBare(x.bare, key) },
		"pebble-small": func(key []byte) error { return readBare(x.bareSmall, key) },
		"bbolt": func(key []byte) error {
			return x.bolt.View(func(tx *bbolt.Tx) error {
				_ = slices.Clone(tx.Bucket([]byte("b")).Get(key))
				return nil
			})
		},
	}
}

func readBare(db *pebble.DB, key []byte) error {
	v, closer, err := db.Get(key)
	if err != nil {
		return err
	}
	_ = slices.Clone(v)
	return closer.Close()
}

// processor is the processor time that the process has taken: unlike the time that passes, it tells
// what a read costs on a machine on which others work.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRead reads random keys from two goroutines, after each was read once.
//
//	cd layers/replica && go test -run='^$' -bench=Read -benchtime=400000x
func BenchmarkRead(b *testing.B) {
	x := newCopies(b)
	for name, read := range x.readers() {
		b.Run(name, func(b *testing.B) {
			for _, key := range benchNames {
				require.NoError(b, read(key))
			}
			var all [2][]time.Duration
			var wg sync.WaitGroup
			b.ResetTimer()
			before := processor()
			for g := range all {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(uint64(g), 1))
					for n := range b.N / len(all) {
						key, start := benchNames[r.IntN(benchKeys)], time.Time{}
						if n%16 == 0 {
							start = time.Now()
						}
						if err := read(key); err != nil {
							b.Error(err)
							return
						}
						if n%16 == 0 {
							all[g] = append(all[g], time.Since(start))
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			took := slices.Concat(all[0], all[1])
			slices.Sort(took)
			if len(took) > 0 {
				p99 := took[len(took)*99/100]
				b.ReportMetric(float64(p99.Nanoseconds())/1000, "p99-us")
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
			b.ReportMetric(float64(processor()-before)/float64(b.N), "cpu-ns/read")
		})
	}
}

// BenchmarkScan goes through all records, with their values.
func BenchmarkScan(b *testing.B) {
	x := newCopies(b)
	for name, scan := range map[string]func() (int, error){
		"replica": func() (n int, err error) {
			for _, err := range x.r.Scan(x.c, strictkv.Range{}) {
				if err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		},
		"pebble": func() (n int, err error) {
			i, err := x.bare.NewIter(nil)
			for more := err == nil && i.First(); more; more = i.Next() {
				_, _ = slices.Clone(i.Key()), slices.Clone(i.Value())
				n++
			}
			return n, i.Close()
		},
		"bbolt": func() (n int, err error) {
			return n, x.bolt.View(func(tx *bbolt.Tx) error {
				return tx.Bucket([]byte("b")).ForEach(func(k, v []byte) error {
					_, _ = slices.Clone(k), slices.Clone(v)
					n++
					return nil
				})
			})
		},
	} {
		b.Run(name, func(b *testing.B) {
			keys, before := 0, processor()
			for b.Loop() {
				n, err := scan()
				require.NoError(b, err)
				keys += n
			}
			require.Equal(b, benchKeys*b.N, keys)
			b.ReportMetric(float64(keys)/b.Elapsed().Seconds(), "keys/s")
			b.ReportMetric(float64(processor()-before)/float64(keys), "cpu-ns/key")
		})
	}
}
