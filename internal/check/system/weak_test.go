package system_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
)

// busy is a collection whose keys are updated by writers all the time, on a store like
// Google Cloud Storage.
type busy struct {
	*scene
	ctx    context.Context
	reader *client
	sums   *strictkv.Collection
	stop   context.CancelFunc
	wg     sync.WaitGroup
}

// newBusy fills the collection, and starts 8 writers, each of which updates a random key
// in every period, at a random time of it. Without a period it does so all the time.
func newBusy(t *testing.T, seed uint64, keys int, period time.Duration) *busy {
	s := &busy{scene: &scene{t: t, bucket: memory.New()}}
	stored(keys)(s.scene)
	s.reader = s.dial()
	s.sums = s.reader.db.Collection([]byte("sums"))
	s.write(seed, keys, period)
	return s
}

func (s *busy) dial() *client {
	c := &client{t: s.t, ctx: s.t.Context(), sim: simulated.New(s.bucket, nil, simulated.GCS())}
	require.NoError(s.t, c.open())
	return c
}

// write starts the writers.
func (s *busy) write(seed uint64, keys int, period time.Duration) {
	s.ctx, s.stop = context.WithCancel(s.t.Context())
	for i := range 8 {
		c, r := s.dial(), rand.New(rand.NewPCG(seed, uint64(i)))
		s.wg.Go(func() {
			for s.ctx.Err() == nil {
				wait := time.Duration(0)
				if period > 0 {
					wait = time.Duration(r.Int64N(int64(period)))
				}
				time.Sleep(wait)
				if s.ctx.Err() != nil {
					return
				}
				assert.NoError(s.t, c.coll.Write(c.ctx, keyAt(r.IntN(keys)), []byte("updated")))
				time.Sleep(max(0, period-wait))
			}
		})
	}
}

func (s *busy) end() {
	s.stop()
	s.wg.Wait()
}

// Under constant writes a scan may never be valid. It ends after the number of attempts
// that was set, and one that may be old still works.
func TestScanUnderConstantWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBusy(t, 1, 1000, time.Hour)
		s.do(s.reader, scanOf(strictkv.Range{}))
		s.end()
		s.write(1, 1000, 0)
		runs, err := 0, error(nil)
		for try := 0; try < 20 && err == nil; try++ { // no write may have come between, by luck
			runs = 0
			err = s.reader.db.Tx(s.reader.ctx, func(tx *strictkv.Tx) error {
				runs++
				_, err := scanAll(tx, s.reader.coll, strictkv.Range{})
				return err
			}, strictkv.MaxAttempts(5))
		}
		require.ErrorIs(t, err, strictkv.ErrConflict)
		assert.Equal(t, 5, runs)
		before := s.reader.sim.Counts()
		s.do(s.reader, scanOf(strictkv.Range{}, strictkv.MaxStaleness(3*time.Hour)))
		assert.Zero(t, s.reader.sim.Counts().Sub(before).Requests())
		began := time.Now()
		s.do(s.dial(), scanOf(strictkv.Range{}, strictkv.MaxStaleness(time.Minute)))
		t.Logf("with nothing remembered: after %v", time.Since(began))
		s.end()
	})
}

// What may be old is of one instant, and no older than the bound.
func TestWeakScanIsASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, bucket: memory.New()}
		c, other := stored(20)(s), s.client()
		s.do(c, scanOf(strictkv.Range{}))
		s.do(other, write(20)) // one transaction
		time.Sleep(time.Minute)
		count := func(bound time.Duration) (old int) {
			for _, r := range []strictkv.Range{{}, {Reverse: true}} {
				old = 0
				require.NoError(t, c.db.View(c.ctx, func(tx *strictkv.Tx) error {
					items, err := scanAll(tx, c.coll, r)
					for _, i := range items {
						if string(i.Value) != "written" {
							old++
						}
					}
					return err
				}, strictkv.MaxStaleness(bound)))
			}
			return old
		}
		assert.Equal(t, 20, count(time.Hour), "all of before")
		_, err := c.coll.Read(c.ctx, keyAt(3)) // the handle knows one of the new values
		require.NoError(t, err)
		assert.Equal(t, 20, count(time.Hour), "still all of before")
		var one, all string
		require.NoError(t, c.db.View(c.ctx, func(tx *strictkv.Tx) error {
			v, err := tx.Read(c.coll, keyAt(3))
			require.NoError(t, err)
			items, err := scanAll(tx, c.coll, strictkv.Range{})
			one, all = string(v), string(items[3].Value)
			return err
		}, strictkv.MaxStaleness(time.Hour)))
		require.Equal(t, one, all, "with a key read beside it")
		assert.Zero(t, count(time.Minute-time.Second), "older than the bound")
		s.do(other, update(20))
		require.NoError(t, c.coll.Write(c.ctx, keyAt(3), []byte("own")))
		require.NoError(t, c.db.View(c.ctx, func(tx *strictkv.Tx) error {
			items, err := scanAll(tx, c.coll, strictkv.Range{})
			require.Equal(t, "own", string(items[3].Value), "a handle sees its own commits")
			return err
		}, strictkv.MaxStaleness(time.Hour)))
	})
}

// TestReadWeak: the bound counts from when the request that proved the value was sent.
func TestReadWeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, bucket: memory.New()}
		ours, theirs := s.client(), s.client()
		s.do(theirs, insert(1))
		start := time.Now()
		require.NoError(t, read(ours)) // sent at start, answered one latency later
		s.do(theirs, write(1))
		time.Sleep(time.Until(start.Add(time.Minute)))

		weak := func(bound time.Duration) (string, int) {
			before := ours.sim.Counts().Gets
			v, err := ours.coll.ReadWeak(ours.ctx, keyAt(0), bound)
			require.NoError(t, err)
			return string(v), ours.sim.Counts().Gets - before
		}
		v, gets := weak(time.Minute)
		assert.Equal(t, "inserted", v)
		assert.Zero(t, gets)
		v, gets = weak(time.Minute - 1)
		assert.Equal(t, "written", v)
		assert.Equal(t, 1, gets)

		for _, n := range []int{1, 2} { // a direct commit, and intents that wait to be resolved
			require.NoError(t, update(n)(ours))
			v, gets = weak(time.Hour)
			assert.Equal(t, "updated", v, "the handle's own commit of %d keys", n)
			assert.Zero(t, gets)
		}
		for _, c := range s.clients {
			require.NoError(t, c.db.Close(c.ctx))
		}
	})
}
