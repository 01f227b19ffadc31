package queue_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/layers/queue"
)

// TestSlowConsumers lose their leases, and a completion with them; clocks differ. Each job is
// completed once.
func TestSlowConsumers(t *testing.T) {
	const producers, consumers, jobs = 4, 6, 60
	synctest.Test(t, func(t *testing.T) {
		sim := simulated.New(memory.New(), nil, simulated.GCS())
		clock := func(i int) queue.Options {
			off := time.Duration(i%3-1) * 4 * time.Second
			return queue.Options{
				Lease: 5 * time.Second, Attempts: 1000,
				Now: func() time.Time { return time.Now().Add(off) },
			}
		}
		var working, producing sync.WaitGroup
		var lost, completed atomic.Int64
		for i := range producers {
			q, _ := open(t, sim, clock(i))
			producing.Go(func() {
				for k := range jobs {
					_, err := q.Enqueue(t.Context(), fmt.Append(nil, i, k))
					assert.NoError(t, err)
				}
			})
		}
		for i := range consumers {
			q, db := open(t, sim, clock(i))
			working.Go(func() {
				for completed.Load() < producers*jobs {
					j, err := q.Claim(t.Context())
					if errors.Is(err, queue.ErrEmpty) {
						time.Sleep(time.Second)
						continue
					}
					if !assert.NoError(t, err) {
						return
					}
					time.Sleep(time.Duration(rand.Int64N(int64(6 * time.Second))))
					err = db.Tx(t.Context(), func(tx *strictkv.Tx) error { return done(tx, db, j) })
					switch {
					case err == nil:
						completed.Add(1)
					case assert.ErrorIs(t, err, queue.ErrLost):
						lost.Add(1)
					}
				}
			})
		}
		producing.Wait()
		working.Wait()
		q, db := open(t, sim, queue.Options{})
		time.Sleep(time.Minute)
		empty(t, q)
		n := 0
		done := db.Collection([]byte("done"))
		for _, err := range done.Items(t.Context(), strictkv.Range{KeysOnly: true}) {
			require.NoError(t, err)
			n++
		}
		assert.Equal(t, producers*jobs, n)
		assert.Positive(t, lost.Load(), "some have lost their lease")
	})
}

// TestEnqueueMeetsTheHead: a transaction that enqueues takes so long that the head passes the
// key that it had in mind. The job is found nevertheless.
func TestEnqueueMeetsTheHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New()
		slow, db := open(t, mem, queue.Options{})
		fast, _ := open(t, mem, queue.Options{})
		runs := 0
		require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			if _, err := slow.EnqueueTx(tx, []byte("slow")); err != nil {
				return err
			}
			if runs++; runs == 1 {
				time.Sleep(time.Second)
				pass(t, fast, 600)
			}
			return nil
		}))
		assert.Equal(t, 2, runs, "the head has moved")
		require.NoError(t, claim(t, fast, "slow").Complete(t.Context()))
	})
}

// pass lets jobs go through the queue, so many that the head moves.
func pass(t *testing.T, q *queue.Queue, n int) {
	for range n {
		enqueue(t, q, "passing")
	}
	for range n {
		require.NoError(t, claim(t, q, "passing").Complete(t.Context()))
	}
	time.Sleep(time.Minute)
	empty(t, q)
}

// TestClaimsStayCheap: however many jobs went before.
func TestClaimsStayCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := simulated.New(memory.New(), nil, simulated.Constant(0))
		q, _ := open(t, sim, queue.Options{})
		for range 10 {
			pass(t, q, 600)
		}
		fresh, _ := open(t, sim, queue.Options{}) // it knows nothing of what went before
		enqueue(t, q, "job")
		before := sim.Counts()
		claim(t, fresh, "job")
		assert.LessOrEqual(t, sim.Counts().Sub(before).Requests(), 5)
	})
}

// TestDyingConsumersDontHoldTheHead: a job that is claimed again and again does not make listings
// longer by what is done meanwhile.
func TestDyingConsumersDontHoldTheHead(t *testing.T) {
	const rounds, jobs = 6, 1000
	synctest.Test(t, func(t *testing.T) {
		sim := simulated.New(memory.New(), nil, simulated.Constant(time.Millisecond))
		q, _ := open(t, sim, queue.Options{Attempts: 2 * rounds})
		enqueue(t, q, "poison")
		for round := range rounds {
			for range jobs {
				enqueue(t, q, "good")
			}
			poison := claim(t, q, "poison") // and forgotten
			require.Equal(t, round+1, poison.Attempt)
			for range jobs {
				require.NoError(t, claim(t, q, "good").Complete(t.Context()))
			}
			empty(t, q)
			time.Sleep(2 * time.Minute)
		}
		poison := claim(t, q, "poison")
		before := sim.Counts()
		empty(t, q)
		assert.LessOrEqual(t, sim.Counts().Sub(before).Lists, 3)
		require.NoError(t, poison.Complete(t.Context()), "it is where it has moved to")
		time.Sleep(queue.LeaseMax)
		empty(t, q)
	})
}

// TestWorkBehindManyLeases: a consumer makes no pause until it has passed what others have.
func TestWorkBehindManyLeases(t *testing.T) {
	const leased = 600 // more than a listing looks for
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New()
		q, _ := open(t, mem, queue.Options{Poll: time.Minute, Lease: queue.LeaseMax})
		other, _ := open(t, mem, queue.Options{Lease: queue.LeaseMax})
		for range leased + 1 {
			enqueue(t, q, "a")
		}
		for range leased {
			claim(t, other, "a")
		}
		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()
		require.ErrorIs(t, q.Work(ctx, func(context.Context, *queue.Job) error {
			stop()
			return nil
		}), context.Canceled)
		assert.Less(t, time.Since(began), 30*time.Second)
	})
}

// TestWork: jobs are completed, tried again, and given back when their consumer stops.
func TestWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, db := open(t, memory.New(), queue.Options{Attempts: 2})
		for _, payload := range []string{"good", "long", "bad", "own"} {
			enqueue(t, q, payload)
		}
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		runs := map[string]int{}
		work := func(ctx context.Context, j *queue.Job) error {
			mu.Lock()
			runs[string(j.Payload)]++
			mu.Unlock()
			switch string(j.Payload) {
			case "bad":
				return errors.New("bad")
			case "long":
				time.Sleep(10 * queue.DefaultLease) // it is extended
			case "own":
				return db.Tx(ctx, j.CompleteTx)
			case "stop":
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		var workers sync.WaitGroup
		for range 3 {
			workers.Go(func() { assert.ErrorIs(t, q.Work(ctx, work), context.Canceled) })
		}
		time.Sleep(11 * queue.DefaultLease)
		mu.Lock()
		assert.Equal(t, map[string]int{"good": 1, "long": 1, "bad": 2, "own": 1}, runs)
		mu.Unlock()
		assert.Len(t, dead(t, q), 1)
		enqueue(t, q, "stop")
		time.Sleep(time.Minute)
		stop()
		workers.Wait()
		j := claim(t, q, "stop")
		assert.Equal(t, 1, j.Attempt, "it was given back")
	})
}

// TestWorkLosesItsLease: the function is told.
func TestWorkLosesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New()
		q, _ := open(t, mem, queue.Options{})
		thief, _ := open(t, mem, queue.Options{
			Now: func() time.Time { return time.Now().Add(time.Hour) },
		})
		enqueue(t, q, "a")
		ctx, stop := context.WithCancel(t.Context())
		err := q.Work(ctx, func(held context.Context, _ *queue.Job) error {
			claim(t, thief, "a")
			<-held.Done()
			assert.ErrorIs(t, context.Cause(held), queue.ErrLost)
			stop()
			return held.Err()
		})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// TestManyGoroutines share what one listing has found, which is not all that there is.
func TestManyGoroutines(t *testing.T) {
	const jobs = 1500
	synctest.Test(t, func(t *testing.T) {
		sim := simulated.New(memory.New(), nil, simulated.GCS())
		q, _ := open(t, sim, queue.Options{})
		var workers sync.WaitGroup
		for range 50 {
			workers.Go(func() {
				for range jobs / 50 {
					_, err := q.Enqueue(t.Context(), nil)
					assert.NoError(t, err)
				}
			})
		}
		workers.Wait()
		for range 50 {
			workers.Go(func() {
				for range jobs / 50 {
					j, err := q.Claim(t.Context())
					if assert.NoError(t, err) {
						assert.NoError(t, j.Complete(t.Context()))
					}
				}
			})
		}
		workers.Wait()
		empty(t, q)
	})
}

// TestCompleteWhileItMoves: a job that is being extended, and moves, is still the consumer's.
func TestCompleteWhileItMoves(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			sim := simulated.New(memory.New(), nil, simulated.GCS())
			q, db := open(t, sim, queue.Options{Lease: 10 * time.Minute})
			enqueue(t, q, "job")
			j := claim(t, q, "job")
			time.Sleep(5 * time.Minute)
			var extending sync.WaitGroup
			for range 2 {
				wait := time.Duration(random.Int64N(int64(400 * time.Millisecond)))
				extending.Go(func() {
					time.Sleep(wait)
					if err := j.Extend(t.Context()); err != nil {
						assert.ErrorIs(t, err, queue.ErrLost, "it is complete")
					}
				})
			}
			time.Sleep(200 * time.Millisecond)
			began := time.Now()
			require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
				return done(tx, db, j)
			}))
			assert.Less(t, time.Since(began), 5*time.Second)
			extending.Wait()
			n, err := q.Len(t.Context())
			require.NoError(t, err)
			assert.Zero(t, n)
		})
	}
}
