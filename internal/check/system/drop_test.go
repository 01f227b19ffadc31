package system_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
)

// TestDrop drops one collection after another of a random tree: nothing of it is left, and
// everything else is. A sweep then leaves nothing at all.
func TestDrop(t *testing.T) {
	for seed := range uint64(4) {
		random, mem := rand.New(rand.NewPCG(seed, 2)), memory.New()
		db, err := strictkv.Open(t.Context(), "db", mem, strictkv.WithInlineMax(small))
		require.NoError(t, err)
		tree := newTree(t, db)
		for range 60 {
			path := make([]string, 1+random.IntN(3))
			for i := range path {
				path[i] = oddNames[random.IntN(len(oddNames))]
			}
			tree.set(path, oddNames[random.IntN(len(oddNames))], random.IntN(3))
		}
		for _, name := range oddNames {
			want := tree.count([]string{name})
			n, err := tree.collection([]string{name}).Drop(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, want, n)
			tree.forget(name)
			tree.compare(nil)
		}
		require.NoError(t, db.Close(t.Context()))
		require.Zero(t, count(t, mem, "*"), "external values")

		db, err = strictkv.Open(t.Context(), "db", mem)
		require.NoError(t, err)
		_, err = db.Sweep(t.Context(), strictkv.SweepOptions{Horizon: -1})
		require.NoError(t, err)
		require.Equal(t, 1, mem.Len(), "meta")
		require.NoError(t, db.Close(t.Context()))
	}
}

// forget takes a collection out of the tree.
func (x *tree) forget(name string) {
	path := pathOf([]string{name})
	for p := range x.keys {
		if p == path || strings.HasPrefix(p, path+"/") {
			delete(x.keys, p)
		}
	}
}

// count counts the objects whose last name begins with kind.
func count(t *testing.T, mem *memory.Backend, kind string) (n int) {
	page, err := mem.List(t.Context(), backend.ListOptions{Limit: 1 << 20})
	require.NoError(t, err)
	for _, o := range page.Objects {
		if strings.HasPrefix(o.Name[strings.LastIndexByte(o.Name, '/')+1:], kind) {
			n++
		}
	}
	return n
}

// TestDropIsAsFastAsItsRequests drops keys in virtual time, in the time of the listing's
// first page and a read and a write of each key.
func TestDropIsAsFastAsItsRequests(t *testing.T) {
	const keys, concurrency = 5000, 64
	synctest.Test(t, func(t *testing.T) {
		mem, profile := memory.New(), simulated.GCS()
		fill(t, mem, keys, 100)
		sim := simulated.New(mem, nil, profile)
		db, err := strictkv.Open(t.Context(), "db", sim, strictkv.WithConcurrency(concurrency))
		require.NoError(t, err)
		before, begun := sim.Counts(), time.Now()
		n, err := db.Collection([]byte("c")).Drop(t.Context())
		took := time.Since(begun)
		require.NoError(t, err)
		assert.EqualValues(t, keys, n)
		assert.Equal(t, simulated.Counts{Gets: keys, Puts: keys, Lists: keys / 1000},
			sim.Counts().Sub(before))
		least := profile.List.Mean + keys/concurrency*(profile.Get.Mean+profile.Put.Mean)
		t.Logf("%v, %.2f times its requests", took, float64(took)/float64(least))
		assert.LessOrEqual(t, float64(took), 1.2*float64(least))
		require.NoError(t, db.Close(t.Context()))
	})
}

// fill writes n keys of collection c, from many goroutines.
func fill(t *testing.T, mem backend.Backend, n, size int) {
	db, err := strictkv.Open(t.Context(), "db", mem)
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	for i := range n {
		require.NoError(t, c.Insert(t.Context(), walkKey(i), make([]byte, size)))
	}
	require.NoError(t, db.Close(t.Context()))
}

func walkKey(i int) []byte { return fmt.Appendf(nil, "%07d", i) }

// TestDropIsGoneOnWith: an error ends it, after what has begun; the next call deletes the
// rest, and the numbers add up.
func TestDropIsGoneOnWith(t *testing.T) {
	const keys = 500
	mem := memory.New()
	fill(t, mem, keys, 1)
	var puts, most atomic.Int64
	most.Store(100)
	net := faulty.New(mem, faulty.Options{Before: func(_ context.Context, op faulty.Op) error {
		if op.Kind == faulty.Put && puts.Add(1) > most.Load() {
			return backend.ErrDenied
		}
		return nil
	}})
	db, err := strictkv.Open(t.Context(), "db", net, strictkv.WithConcurrency(8))
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	first, err := c.Drop(t.Context())
	require.ErrorIs(t, err, backend.ErrDenied)
	assert.EqualValues(t, 100, first, "what was deleted nevertheless")
	assert.LessOrEqual(t, puts.Load(), int64(100+8), "an error lets nothing new begin")

	most.Store(1 << 40)
	var told []strictkv.WalkProgress
	second, err := c.Drop(t.Context(), strictkv.Progress(func(p strictkv.WalkProgress) {
		told = append(told, p)
	}))
	require.NoError(t, err)
	assert.EqualValues(t, keys-100, second)
	assert.Equal(t, strictkv.WalkProgress{Listed: keys, Done: keys - 100}, told[len(told)-1])
	require.NoError(t, db.Close(t.Context()))
}

// TestDropWhileOthersWrite: what has been written before the call goes, what is written
// after it stays, and what transactions do meanwhile is done as a whole.
func TestDropWhileOthersWrite(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			const keys, writers = 100, 4
			mem := memory.New()
			fill(t, mem, keys, 1)
			open := func() (*strictkv.DB, *strictkv.Collection) {
				profile := simulated.Profile{Get: simulated.Latency{Mean: 5, Deviation: 5}}
				profile.Put, profile.List = profile.Get, profile.Get
				db, err := strictkv.Open(t.Context(), "db", simulated.New(mem, nil, profile))
				require.NoError(t, err)
				return db, db.Collection([]byte("c"))
			}
			db, c := open()
			stop := make(chan struct{})
			var ended errgroup.Group
			for w := range writers {
				ended.Go(func() error {
					other, theirs := open()
					random := rand.New(rand.NewPCG(seed, uint64(w)))
					err := writePairs(theirs, other, random, keys, stop)
					return errors.Join(err, other.Close(context.Background()))
				})
			}
			time.Sleep(20)
			_, err := c.Drop(t.Context())
			require.NoError(t, err)
			close(stop)
			require.NoError(t, ended.Wait())
			for i := range keys {
				v, err := c.Read(t.Context(), walkKey(i))
				if err == nil {
					assert.NotEqual(t, []byte{0}, v, "key %d is as it was before", i)
				} else {
					assert.ErrorIs(t, err, strictkv.ErrNotFound)
				}
			}
			require.NoError(t, c.Write(t.Context(), walkKey(1), []byte("after")))
			v, err := c.Read(t.Context(), walkKey(1))
			require.NoError(t, err)
			assert.Equal(t, "after", string(v))
			report, err := db.Check(t.Context(), strictkv.CheckOptions{})
			require.NoError(t, err)
			assert.Empty(t, report.Problems)
			require.NoError(t, db.Close(t.Context()))
		})
	}
}

// writePairs writes two random keys at a time.
func writePairs(
	c *strictkv.Collection, db *strictkv.DB, random *rand.Rand, keys int, stop <-chan struct{},
) error {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return nil
		default:
		}
		err := db.Tx(context.Background(), func(tx *strictkv.Tx) error {
			for range 2 {
				key := walkKey(random.IntN(keys))
				if err := tx.Write(c, key, []byte("meanwhile")); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// TestDropWithManyValues: external values are removed no later than a little after their
// keys, so that what waits to be removed is bounded.
func TestDropWithManyValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, concurrency = 600, 4
		mem := memory.New()
		db, err := strictkv.Open(t.Context(), "db", mem, strictkv.WithInlineMax(small))
		require.NoError(t, err)
		for i := range keys {
			require.NoError(t, db.Collection([]byte("c")).Write(t.Context(), walkKey(i), large(i)))
		}
		require.NoError(t, db.Close(t.Context()))
		var most int
		slow := faulty.New(mem, faulty.Options{Before: func(_ context.Context, op faulty.Op) error {
			if op.Kind == faulty.Delete {
				time.Sleep(time.Second)
			}
			return nil
		}})
		db, err = strictkv.Open(t.Context(), "db", slow, strictkv.WithConcurrency(concurrency))
		require.NoError(t, err)
		n, err := db.Collection([]byte("c")).Drop(t.Context(),
			strictkv.Progress(func(p strictkv.WalkProgress) {
				most = max(most, count(t, mem, "*")-keys+int(p.Done))
			}))
		require.NoError(t, err)
		assert.EqualValues(t, keys, n)
		assert.Positive(t, most, "values that wait for their removal")
		assert.LessOrEqual(t, most, 8*concurrency)
		require.NoError(t, db.Close(t.Context()))
		assert.Zero(t, count(t, mem, "*"))
	})
}

// TestDropWithIntents: what a process that died has left counts as what came of it.
func TestDropWithIntents(t *testing.T) {
	for _, x := range []struct {
		name  string
		leave func(n int) func(c *client) error
		want  int64
	}{{"written", update, 20}, {"deleted", remove, 0}} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scene{t: t, bucket: memory.New()}
				c, dying := stored(20)(s), s.client()
				require.NoError(t, x.leave(20)(dying))
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				require.ErrorIs(t, dying.db.Close(ctx), context.Canceled)
				require.Equal(t, 20, s.intents())
				n, err := c.coll.Drop(t.Context())
				require.NoError(t, err)
				assert.Equal(t, x.want, n)
				for _, k := range c.keys(0, 20) {
					_, err := c.coll.Read(t.Context(), k.Key)
					assert.ErrorIs(t, err, strictkv.ErrNotFound)
				}
				require.NoError(t, c.db.Close(t.Context()))
			})
		})
	}
}
