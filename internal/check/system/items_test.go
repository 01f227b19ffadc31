package system_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
)

var itemsCount = flag.Int("items", 10_000, "how many keys TestItemsAtScale walks")

// copying answers with bytes of their own, as a store does that is not in memory.
type copying struct{ backend.Backend }

func (b copying) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	o, err := b.Backend.Get(ctx, name, known)
	o.Data = bytes.Clone(o.Data)
	return o, err
}

// TestItemsAtScale walks many keys with values in virtual time, in little more than the
// time of a bare listing and bare reads of the same objects, as many at once, and in memory
// that depends neither on their number nor on their size.
func TestItemsAtScale(t *testing.T) {
	const concurrency, cacheSize, memoryMax = 256, 4 << 20, 32 << 20
	for _, x := range []struct {
		keys, size int
		slowness   float64
	}{{*itemsCount, 1000, 1.3}, {600, 100_000, 0}} {
		t.Run(fmt.Sprintf("%d of %d bytes", x.keys, x.size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memory.New()
				fill(t, mem, x.keys, x.size)
				bare := bareWalk(t, simulated.New(mem, nil, simulated.GCS()), concurrency)

				// In a bubble, timers that were stopped take memory until they would have fired.
				requests := strictkv.WithRequests(strictkv.Requests{Timeout: time.Second})
				sim := simulated.New(copying{mem}, nil, simulated.GCS())
				db, err := strictkv.Open(t.Context(), "db", sim, requests,
					strictkv.WithConcurrency(concurrency), strictkv.WithCacheSize(cacheSize))
				require.NoError(t, err)
				c := db.Collection([]byte("c"))
				counts, begun := sim.Counts(), time.Now()
				most := walkAll(t, c, x.keys, x.size)
				took := time.Since(begun)
				assert.Equal(t, simulated.Counts{Gets: x.keys, Lists: (x.keys + 999) / 1000},
					sim.Counts().Sub(counts))
				above := most - cacheSize
				t.Logf("%v, %.2f times bare requests (%v); %.1f MiB above the cache",
					took, float64(took)/float64(bare), bare, float64(above)/(1<<20))
				if x.slowness > 0 {
					assert.LessOrEqual(t, float64(took), x.slowness*float64(bare))
				}
				assert.LessOrEqual(t, above, int64(memoryMax))
				require.NoError(t, db.Close(t.Context()))
			})
		})
	}
}

// walkAll walks what fill has made, and returns by how much the heap has grown at most.
func walkAll(t *testing.T, c *strictkv.Collection, keys, size int) (most int64) {
	before, n := int64(live()), 0
	for item, err := range c.Items(t.Context(), strictkv.Range{}) {
		if err != nil || !bytes.Equal(item.Key, walkKey(n)) || len(item.Value) != size {
			require.FailNow(t, "wrong item", "%d: %q %v", n, item.Key, err)
		}
		if n++; n%max(keys/20, 1) == 0 {
			most = max(most, int64(live())-before)
		}
	}
	assert.Equal(t, keys, n)
	return most
}

// bareWalk lists all objects, then reads them, and returns how long that takes.
func bareWalk(t *testing.T, b backend.Backend, concurrency int) time.Duration {
	begun := time.Now()
	names := make(chan string, 1<<20)
	for o := (backend.ListOptions{Prefix: "db/+c/="}); ; {
		page, err := b.List(t.Context(), o)
		require.NoError(t, err)
		for _, info := range page.Objects {
			names <- info.Name
			o.After = info.Name
		}
		if !page.More {
			break
		}
	}
	close(names)
	var readers errgroup.Group
	for range concurrency {
		readers.Go(func() error {
			for name := range names {
				if _, err := b.Get(t.Context(), name, ""); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, readers.Wait())
	return time.Since(begun)
}

// keysOf are the keys that a walk yields.
func keysOf(t *testing.T, c *strictkv.Collection, r strictkv.Range) (keys []string) {
	t.Helper()
	for item, err := range c.Items(t.Context(), r) {
		require.NoError(t, err)
		keys = append(keys, string(item.Key))
	}
	return keys
}

// TestItemsOfARange compares walks of all kinds with a sorted list.
func TestItemsOfARange(t *testing.T) {
	db, err := strictkv.Open(t.Context(), "db", memory.New(), strictkv.WithInlineMax(small))
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	all := slices.Clone(oddNames)
	slices.Sort(all)
	for i, key := range all {
		require.NoError(t, c.Write(t.Context(), []byte(key), large(i)))
		require.NoError(t, c.Write(t.Context(), []byte(key+"gone"), nil))
		require.NoError(t, c.Collection([]byte(key)).Write(t.Context(), []byte(key), nil))
	}
	for _, key := range all {
		require.NoError(t, c.Delete(t.Context(), []byte(key+"gone")))
	}
	bounds := append([]string{"", "b", "\xff\xff"}, all...)
	for _, from := range bounds {
		for _, to := range bounds {
			for _, limit := range []int{0, 1, 3} {
				for _, reverse := range []bool{false, true} {
					want := slices.DeleteFunc(slices.Clone(all), func(key string) bool {
						return key < from || to != "" && key >= to
					})
					if reverse {
						slices.Reverse(want)
					}
					if limit > 0 {
						want = want[:min(limit, len(want))]
					}
					r := strictkv.Range{
						From: []byte(from), To: []byte(to), Reverse: reverse, Limit: limit,
					}
					r.KeysOnly = limit == 3
					got := keysOf(t, c, r)
					require.True(t, slices.Equal(want, got), "%+v: %q, not %q", r, got, want)
				}
			}
		}
	}
	i := 0
	for item, err := range c.Items(t.Context(), strictkv.Range{}) {
		require.NoError(t, err)
		require.Equal(t, large(i), item.Value)
		i++
	}
	require.NoError(t, db.Close(t.Context()))
}

// TestItemsGoOn: a walk that is left and gone on with behind its last key, again and
// again, sees every key once, in both directions.
func TestItemsGoOn(t *testing.T) {
	mem := memory.New()
	fill(t, mem, 100, 1)
	db, err := strictkv.Open(t.Context(), "db", mem)
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	want := keysOf(t, c, strictkv.Range{})
	for _, reverse := range []bool{false, true} {
		r := strictkv.Range{Reverse: reverse}
		var got []string
		for more := true; more; {
			more = false
			for item, err := range c.Items(t.Context(), r) {
				require.NoError(t, err)
				got = append(got, string(item.Key))
				if reverse {
					r.To = item.Key
				} else {
					r.From = append(item.Key, 0)
				}
				if more = len(got)%7 == 0; more {
					break
				}
			}
		}
		assert.Equal(t, want, got)
		slices.Reverse(want)
	}
	require.NoError(t, db.Close(t.Context()))
}

// TestItemsAreOfTheLoop: what was written before the loop is seen, whatever the cache has,
// and a key that stays is yielded once while others write.
func TestItemsAreOfTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, bucket: memory.New()}
		c, other := s.client(), s.client()
		for i := range 50 {
			require.NoError(t, c.coll.Write(t.Context(), keyAt(i), []byte("old")))
		}
		for i := range 50 {
			require.NoError(t, other.coll.Write(t.Context(), keyAt(i), []byte("new")))
		}
		n := 0
		for item, err := range c.coll.Items(t.Context(), strictkv.Range{}) {
			require.NoError(t, err)
			require.Equal(t, string(keyAt(n)), string(item.Key))
			require.Equal(t, "new", string(item.Value))
			require.NoError(t, other.coll.Write(t.Context(), keyAt(n), []byte("newer")))
			require.NoError(t, other.coll.Delete(t.Context(), fmt.Append(keyAt(n), "x")))
			n++
		}
		assert.Equal(t, 50, n)
		require.NoError(t, c.db.Close(t.Context()))
		require.NoError(t, other.db.Close(t.Context()))
	})
}

// TestItemsCost: keys only cost the listing, as do values that the cache has at the
// versions listed.
func TestItemsCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, bucket: memory.New()}
		writer, c := s.client(), s.client()
		for i := range 100 {
			require.NoError(t, writer.coll.Write(t.Context(), keyAt(i), []byte("v")))
		}
		for _, x := range []struct {
			name   string
			r      strictkv.Range
			want   simulated.Counts
			rounds time.Duration
		}{
			{"keys only", strictkv.Range{KeysOnly: true}, simulated.Counts{Lists: 1}, 1},
			{"cold", strictkv.Range{}, simulated.Counts{Lists: 1, Gets: 100}, 2},
			{"warm", strictkv.Range{}, simulated.Counts{Lists: 1}, 1},
			{"nothing", strictkv.Prefix([]byte("x")), simulated.Counts{Lists: 1}, 1},
		} {
			before, begun := c.sim.Counts(), time.Now()
			keysOf(t, c.coll, x.r)
			assert.Equal(t, x.want, c.sim.Counts().Sub(before), x.name)
			assert.Equal(t, x.rounds*latency, time.Since(begun), x.name)
		}
		require.NoError(t, writer.coll.Write(t.Context(), keyAt(7), []byte("v")))
		before := c.sim.Counts()
		keysOf(t, c.coll, strictkv.Range{})
		assert.Equal(t, simulated.Counts{Lists: 1, Gets: 1}, c.sim.Counts().Sub(before))
		require.NoError(t, c.db.Close(t.Context()))
		require.NoError(t, writer.db.Close(t.Context()))
	})
}

// TestItemsTellTheirProgress: a collection full of tombstones yields nothing, but tells.
func TestItemsTellTheirProgress(t *testing.T) {
	mem := memory.New()
	fill(t, mem, 2500, 1)
	db, err := strictkv.Open(t.Context(), "db", mem)
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	_, err = c.Drop(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Write(t.Context(), walkKey(9999), nil))
	var told []strictkv.WalkProgress
	n := 0
	for _, err := range c.Items(t.Context(), strictkv.Range{},
		strictkv.Progress(func(p strictkv.WalkProgress) { told = append(told, p) })) {
		require.NoError(t, err)
		n++
	}
	assert.Equal(t, 1, n)
	require.GreaterOrEqual(t, len(told), 2)
	for i, p := range told[1:] {
		assert.GreaterOrEqual(t, p.Listed, told[i].Listed)
	}
	assert.Equal(t, strictkv.WalkProgress{Listed: 2501, Done: 1}, told[len(told)-1])
	require.NoError(t, db.Close(t.Context()))
}

// TestItemsFail: an error of the store ends the loop, after what came before it.
func TestItemsFail(t *testing.T) {
	v := newVault(t)
	for i := range 10 {
		v.write(fmt.Sprint(i), []byte("v"))
	}
	o, err := v.mem.Get(v.ctx, "db/+c/=5", "")
	require.NoError(t, err)
	o.Data = slices.Clone(o.Data)
	o.Data[len(o.Data)/2] ^= 1
	_, err = v.mem.Put(v.ctx, "db/+c/=5", o.Data, backend.IfVersion(o.Version))
	require.NoError(t, err)
	n := 0
	for item, e := range v.coll.Items(v.ctx, strictkv.Range{}) {
		if err = e; err == nil {
			assert.Equal(t, fmt.Sprint(n), string(item.Key))
			n++
		}
	}
	require.ErrorIs(t, err, strictkv.ErrCorrupt)
	assert.Equal(t, 5, n)
}
