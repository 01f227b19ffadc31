package system_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
)

// TestItemsJoinNoOldRead: a read of the same handle that was sent before the loop began is
// too old for it.
func TestItemsJoinNoOldRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New()
		s, err := strictkv.Open(t.Context(), "db", mem)
		require.NoError(t, err)
		writer := s.Collection([]byte("c"))
		require.NoError(t, writer.Write(t.Context(), []byte("k"), []byte("old")))

		held := make(chan struct{})
		var once sync.Once
		net := faulty.New(mem, faulty.Options{
			After: func(_ context.Context, op faulty.Op, _ *faulty.Answer) {
				if op.Kind == faulty.Get && op.Name == "db/+c/=k" {
					once.Do(func() { <-held })
				}
			},
		})
		db, err := strictkv.Open(t.Context(), "db", net)
		require.NoError(t, err)
		c := db.Collection([]byte("c"))
		var others sync.WaitGroup
		others.Go(func() {
			_, err := c.Read(t.Context(), []byte("k"))
			assert.NoError(t, err)
		})
		synctest.Wait() // the old value is on its way
		require.NoError(t, writer.Write(t.Context(), []byte("k"), []byte("new")))
		others.Go(func() {
			time.Sleep(time.Second)
			close(held)
		})
		for item, err := range c.Items(t.Context(), strictkv.Range{}) {
			require.NoError(t, err)
			assert.Equal(t, "new", string(item.Value))
		}
		others.Wait()
		require.NoError(t, db.Close(t.Context()))
		require.NoError(t, s.Close(t.Context()))
	})
}

// crowd are clients of a collection of counters, of which the even ones are there for ever,
// and the odd ones come and go, over a network that fails.
type crowd struct {
	t    *testing.T
	mem  *memory.Backend
	seed uint64
	stop chan struct{}
}

const crowdKeys = 120

func (c *crowd) open(n uint64) (*strictkv.DB, *strictkv.Collection) {
	db, err := strictkv.Open(c.t.Context(), "db", faulty.New(c.mem, faulty.Options{
		Seed: c.seed*100 + n, Delay: 0.8, DelayMax: 20 * time.Millisecond,
		FailBefore: 0.02, LoseRequest: 0.02, LoseAnswer: 0.02,
	}), strictkv.WithCacheSize(32<<10), strictkv.WithPatience(time.Second))
	require.NoError(c.t, err)
	return db, db.Collection([]byte("c"))
}

// write counts two counters up at a time, or deletes an odd one, until it is stopped.
func (c *crowd) write(n uint64) {
	db, coll := c.open(n)
	random := rand.New(rand.NewPCG(c.seed, n))
	for {
		select {
		case <-c.stop:
			require.NoError(c.t, db.Close(context.Background()))
			return
		default:
		}
		i, j, gone := random.IntN(crowdKeys), random.IntN(crowdKeys), random.IntN(3) == 0
		err := db.Tx(context.Background(), func(tx *strictkv.Tx) error {
			values := tx.ReadMulti(coll.Key(walkKey(i)), coll.Key(walkKey(j)))
			for k, at := range []int{i, j} {
				if values[k].Err != nil && present(values[k].Err) != nil {
					return values[k].Err
				}
				if gone && at%2 == 1 {
					if err := tx.Delete(coll, walkKey(at)); err != nil {
						return err
					}
				} else if err := tx.Write(coll, walkKey(at), next(values[k].Value)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			require.ErrorIs(c.t, err, strictkv.ErrInDoubt)
		}
	}
}

// next is the value that counts one more.
func next(old []byte) []byte {
	return binary.BigEndian.AppendUint64(nil, countOf(old)+1)
}

func countOf(value []byte) uint64 {
	if value == nil {
		return 0
	}
	return binary.BigEndian.Uint64(value)
}

// TestItemsWhileOthersWrite: a key that is there all the time is yielded once, in order, with a
// value between those of before the loop and of after it.
func TestItemsWhileOthersWrite(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			c := &crowd{t: t, mem: memory.New(), seed: seed, stop: make(chan struct{})}
			fill(t, c.mem, crowdKeys, 8)
			var writers sync.WaitGroup
			for n := range uint64(3) {
				writers.Go(func() { c.write(n) })
			}
			db, coll := c.open(10)
			for loop := range 6 {
				r := strictkv.Range{Reverse: loop%2 == 1}
				before := c.counts(coll)
				got := map[int]uint64{}
				last := -1
				for item, err := range coll.Items(t.Context(), r) {
					require.NoError(t, err)
					i := 0
					for _, digit := range item.Key {
						i = 10*i + int(digit-'0')
					}
					if r.Reverse {
						i = crowdKeys - 1 - i
					}
					require.Greater(t, i, last, "in order, and once")
					if last = i; r.Reverse {
						i = crowdKeys - 1 - i
					}
					got[i] = countOf(item.Value)
				}
				after := c.counts(coll)
				for i := 0; i < crowdKeys; i += 2 {
					count, ok := got[i]
					require.True(t, ok, "key %d has been there all the time", i)
					require.LessOrEqual(t, before[i], count)
					require.LessOrEqual(t, count, after[i])
				}
			}
			close(c.stop)
			writers.Wait()
			require.NoError(t, db.Close(t.Context()))
		})
	}
}

// counts reads all even counters, each for itself.
func (c *crowd) counts(coll *strictkv.Collection) map[int]uint64 {
	counts := map[int]uint64{}
	for i := 0; i < crowdKeys; i += 2 {
		v, err := coll.Read(c.t.Context(), walkKey(i))
		require.NoError(c.t, err)
		counts[i] = countOf(v)
	}
	return counts
}

// TestWalksOnEveryStore walks a small tree on each kind of store, and drops it.
func TestWalksOnEveryStore(t *testing.T) {
	for _, store := range stressStores() {
		if store.name == "faulty" {
			continue
		}
		t.Run(store.name, func(t *testing.T) {
			db, err := strictkv.Open(t.Context(), "db", store.start(t)(),
				strictkv.WithInlineMax(small))
			require.NoError(t, err)
			top := db.Collection([]byte("top"))
			odd := []string{"a", "a-b", "a/b", "\x00", "\xff", "..", "%2F"}
			for i, name := range odd {
				require.NoError(t, top.Write(t.Context(), []byte(name), large(i)))
				nested := top.Collection([]byte(name))
				require.NoError(t, nested.Write(t.Context(), []byte(name), large(i)))
			}
			got := []string{}
			for name, err := range top.Collections(t.Context()) {
				require.NoError(t, err)
				got = append(got, string(name))
			}
			assert.ElementsMatch(t, odd, got)
			slices.Sort(odd)
			assert.Equal(t, odd, keysOf(t, top, strictkv.Range{}))
			slices.Reverse(odd)
			assert.Equal(t, odd, keysOf(t, top, strictkv.Range{Reverse: true}))
			n, err := top.Collection([]byte("a")).Drop(t.Context())
			require.NoError(t, err)
			assert.EqualValues(t, 1, n)
			n, err = top.Drop(t.Context())
			require.NoError(t, err)
			assert.EqualValues(t, 2*len(odd)-1, n)
			for name, err := range db.Collections(t.Context()) {
				require.NoError(t, err)
				assert.Fail(t, "a collection is left", "%q", name)
			}
			require.NoError(t, db.Close(t.Context()))
		})
	}
}
