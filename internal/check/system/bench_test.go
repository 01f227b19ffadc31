package system_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/raced"
)

// Benchmarks of several keys go round many disjoint sets of keys: until a set's turn
// comes again its intents have been resolved, so that no transaction folds those of an
// earlier one.
const (
	setsOf2  = 5000
	setsOf10 = 256
)

// load is a handle on memory, and what it does with keys.
type load struct {
	bucket *memory.Backend
	ctx    context.Context
	db     *strictkv.DB
	coll   *strictkv.Collection
}

func newLoad(tb testing.TB, bucket *memory.Backend) *load {
	ctx := context.WithoutCancel(tb.Context()) // as that of a program's main
	db, err := strictkv.Open(ctx, "example", bucket)
	require.NoError(tb, err)
	coll := db.Collection([]byte("collection"))
	return &load{bucket: bucket, ctx: ctx, db: db, coll: coll}
}

// warm makes count sets of n keys by another handle, and reads them.
func (l *load) warm(tb testing.TB, count, n int) [][]strictkv.Key {
	other := newLoad(tb, l.bucket)
	for _, keys := range other.sets(count, n) {
		require.NoError(tb, other.db.Tx(l.ctx, func(tx *strictkv.Tx) error {
			for _, k := range keys {
				if err := tx.Insert(k.Collection, k.Key, make([]byte, 100)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	require.NoError(tb, other.db.Close(l.ctx))
	sets := l.sets(count, n)
	for _, keys := range sets {
		require.NoError(tb, l.view(keys))
	}
	return sets
}

// sets are count disjoint sets of n keys.
func (l *load) sets(count, n int) [][]strictkv.Key {
	sets := make([][]strictkv.Key, count)
	for s := range sets {
		for i := range n {
			sets[s] = append(sets[s], l.coll.Key(fmt.Appendf(nil, "set-%04d-key-%02d", s, i)))
		}
	}
	return sets
}

// update reads the keys one after another, and writes them.
func (l *load) update(keys []strictkv.Key) error {
	return l.db.Tx(l.ctx, func(tx *strictkv.Tx) error {
		for _, k := range keys {
			v, err := tx.Read(k.Collection, k.Key)
			if err != nil {
				return err
			}
			v[0]++
			if err := tx.Write(k.Collection, k.Key, v); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *load) view(keys []strictkv.Key) error {
	return l.db.View(l.ctx, func(tx *strictkv.Tx) error {
		for _, r := range tx.ReadMulti(keys...) {
			if r.Err != nil {
				return r.Err
			}
		}
		return nil
	})
}

// writeBlind writes a key without reading it.
func (l *load) writeBlind(keys []strictkv.Key) error {
	return l.coll.Write(l.ctx, keys[0].Key, keys[0].Key)
}

func (l *load) read(keys []strictkv.Key) error {
	_, err := l.coll.Read(l.ctx, keys[0].Key)
	return err
}

func (l *load) readWeak(keys []strictkv.Key) error {
	_, err := l.coll.ReadWeak(l.ctx, keys[0].Key, time.Hour)
	return err
}

// validated writes the first key, and reads the others.
func (l *load) validated(keys []strictkv.Key) error {
	return l.db.Tx(l.ctx, func(tx *strictkv.Tx) error {
		for _, r := range tx.ReadMulti(keys[1:]...) {
			if r.Err != nil {
				return r.Err
			}
		}
		return tx.Write(l.coll, keys[0].Key, keys[0].Key)
	})
}

// BenchmarkTransactions runs each kind of transaction on memory, on one processor: the
// time per operation is that of the caller together with all that the library does in
// the background. Closing, which resolves what is left, is within it.
func BenchmarkTransactions(b *testing.B) {
	for _, x := range []struct {
		name       string
		sets, keys int
		run        func(l *load, keys []strictkv.Key) error
	}{
		{"update/keys=1", 1, 1, (*load).update},
		{"update/keys=2", setsOf2, 2, (*load).update},
		{"update/keys=10", setsOf10, 10, (*load).update},
		{"chained/keys=10", 1, 10, (*load).update},
		{"write/keys=1", 1, 1, (*load).writeBlind},
		{"validated/write=1,read=5", 1, 6, (*load).validated},
		{"read/keys=1", 1, 1, (*load).read},
		{"readWeak/keys=1", 1, 1, (*load).readWeak},
		{"view/keys=1", 1, 1, (*load).view},
		{"view/keys=10", 1, 10, (*load).view},
	} {
		b.Run(x.name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			l := newLoad(b, memory.New())
			sets := l.warm(b, x.sets, x.keys)
			b.ReportAllocs()
			b.ResetTimer()
			before := l.db.Stats()
			for i := range b.N {
				if err := x.run(l, sets[i%len(sets)]); err != nil {
					b.Fatal(err)
				}
			}
			l.close(b, before)
		})
	}
}

// BenchmarkInsert makes 100 new keys in each transaction; resolving is included, as in
// BenchmarkTransactions.
func BenchmarkInsert(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l := newLoad(b, memory.New())
	value := make([]byte, 100)
	b.ReportAllocs()
	for i := range b.N {
		err := l.db.Tx(l.ctx, func(tx *strictkv.Tx) error {
			for j := range 100 {
				key := fmt.Appendf(nil, "key-%08d-%02d", i, j)
				if err := tx.Insert(l.coll, key, value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	l.close(b, strictkv.Stats{})
}

// close ends a benchmark, and reports its requests, which tell whether transactions
// were chained.
func (l *load) close(b *testing.B, before strictkv.Stats) {
	if err := l.db.Close(l.ctx); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	done := l.db.Stats().Sub(before)
	b.ReportMetric(float64(done.Gets)/float64(b.N), "gets/op")
	b.ReportMetric(float64(done.Puts)/float64(b.N), "puts/op")
}

// TestAllocations pins how much the frequent transactions allocate. In virtual time all
// that they leave to the background is over when the run is.
func TestAllocations(t *testing.T) {
	if raced.Enabled() {
		t.Skip("the race detector allocates: run without -race")
	}
	for _, x := range []struct {
		name string
		keys int
		run  func(l *load, keys []strictkv.Key) error
		max  float64
	}{
		{"update of 1 key", 1, (*load).update, 25},
		{"update of 10 keys, resolving included", 10, (*load).update, 280},
		{"read of 1 key", 1, (*load).read, 10},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLoad(t, memory.New())
				keys := l.warm(t, 1, x.keys)[0]
				var failed error
				n := testing.AllocsPerRun(100, func() {
					failed = errors.Join(failed, x.run(l, keys))
					time.Sleep(time.Second)
					synctest.Wait()
				})
				require.NoError(t, failed)
				require.NoError(t, l.db.Close(l.ctx))
				assert.LessOrEqual(t, n, x.max, "allocations")
				t.Logf("%v allocations, at most %v", n, x.max)
			})
		})
	}
}
