package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/layers/queue"
)

func TestMain(m *testing.M) {
	serveIfWorker()
	goleak.VerifyTestMain(m)
}

// open opens the queue once more, as another process would.
func open(t testing.TB, b backend.Backend, o queue.Options) (*queue.Queue, *strictkv.DB) {
	db, err := strictkv.Open(t.Context(), "db", b)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	q, err := queue.New(db, db.Collection([]byte("queue")), o)
	require.NoError(t, err)
	return q, db
}

// claim claims a job with this payload.
func claim(t testing.TB, q *queue.Queue, payload string) *queue.Job {
	t.Helper()
	j, err := q.Claim(t.Context())
	require.NoError(t, err)
	require.Equal(t, payload, string(j.Payload))
	return j
}

func empty(t testing.TB, q *queue.Queue) {
	t.Helper()
	j, err := q.Claim(t.Context())
	require.ErrorIs(t, err, queue.ErrEmpty, "%+v", j)
}

func enqueue(t testing.TB, q *queue.Queue, payload string, o ...queue.EnqueueOption) string {
	t.Helper()
	id, err := q.Enqueue(t.Context(), []byte(payload), o...)
	require.NoError(t, err)
	return id
}

// TestLife is that of a job that is claimed, lost, claimed by another and completed.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New()
		one, _ := open(t, mem, queue.Options{})
		two, _ := open(t, mem, queue.Options{})
		empty(t, two)
		id := enqueue(t, one, "a")
		first := claim(t, two, "a")
		assert.Equal(t, id, first.ID)
		assert.Equal(t, 1, first.Attempt)
		assert.True(t, first.Enqueued.Equal(time.Now()))
		assert.Equal(t, time.Now().Add(queue.DefaultLease), first.Deadline())
		empty(t, one)
		time.Sleep(queue.DefaultLease - 1)
		empty(t, one)
		time.Sleep(1)
		second := claim(t, one, "a")
		assert.Equal(t, 2, second.Attempt)
		for _, lost := range []error{
			first.Complete(t.Context()), first.Extend(t.Context()), first.Release(t.Context()),
			first.Retry(t.Context(), nil), first.Bury(t.Context(), nil),
		} {
			require.ErrorIs(t, lost, queue.ErrLost)
			require.ErrorContains(t, lost, id)
		}
		require.NoError(t, second.Complete(t.Context()))
		require.ErrorIs(t, second.Complete(t.Context()), queue.ErrLost)
		time.Sleep(time.Hour)
		empty(t, one)
		empty(t, two)
	})
}

// TestOrder: as long as nobody else is there, the eldest come first.
func TestOrder(t *testing.T) {
	q, _ := open(t, memory.New(), queue.Options{})
	for i := range 20 {
		enqueue(t, q, fmt.Sprint(i))
	}
	for i := range 20 {
		require.NoError(t, claim(t, q, fmt.Sprint(i)).Complete(t.Context()))
	}
}

// TestExpiredLeaseThatNobodyTook is still good for completion: no clock decides.
func TestExpiredLeaseThatNobodyTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _ := open(t, memory.New(), queue.Options{})
		enqueue(t, q, "a")
		j := claim(t, q, "a")
		time.Sleep(time.Hour)
		require.NoError(t, j.Complete(t.Context()))
		empty(t, q)
	})
}

func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New()
		q, _ := open(t, mem, queue.Options{Lease: time.Minute})
		other, _ := open(t, mem, queue.Options{Lease: time.Minute})
		id := enqueue(t, q, "a")
		j := claim(t, q, "a")
		for range 300 {
			time.Sleep(50 * time.Second)
			require.NoError(t, j.Extend(t.Context()))
			assert.Equal(t, time.Now().Add(time.Minute), j.Deadline())
			empty(t, other)
			empty(t, q)
		}
		time.Sleep(time.Minute)
		next := claim(t, other, "a")
		assert.Equal(t, id, next.ID)
		require.ErrorIs(t, j.Extend(t.Context()), queue.ErrLost)
		require.NoError(t, next.Complete(t.Context()))
		n, err := q.Len(t.Context())
		require.NoError(t, err)
		assert.Zero(t, n)
	})
}

// TestRetry: each attempt waits longer than the one before, and the last ends in the dead
// letters.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _ := open(t, memory.New(), queue.Options{Attempts: 4})
		id := enqueue(t, q, "a")
		for n := 1; n <= 4; n++ {
			j := claim(t, q, "a")
			assert.Equal(t, n, j.Attempt)
			if n > 1 {
				assert.Equal(t, "no luck", j.Failure)
			}
			require.NoError(t, j.Retry(t.Context(), errors.New("no luck")))
			require.ErrorIs(t, j.Complete(t.Context()), queue.ErrLost)
			pause := queue.DefaultBackoff(n)
			assert.Equal(t, time.Second<<(n-1), pause)
			time.Sleep(pause - 1)
			empty(t, q)
			time.Sleep(1)
		}
		empty(t, q)
		letters := dead(t, q)
		require.Len(t, letters, 1)
		assert.Equal(t, id, letters[0].ID)
		assert.Equal(t, "a", string(letters[0].Payload))
		assert.Equal(t, 4, letters[0].Attempts)
		assert.Equal(t, "no luck", letters[0].Failure)

		require.NoError(t, q.Revive(t.Context(), id))
		require.ErrorIs(t, q.Revive(t.Context(), id), strictkv.ErrNotFound)
		j := claim(t, q, "a")
		assert.Equal(t, 1, j.Attempt)
		require.NoError(t, j.Bury(t.Context(), errors.New(strings.Repeat("x", 2000))))
		letters = dead(t, q)
		require.Len(t, letters, 1)
		assert.Len(t, letters[0].Failure, 1024)
		require.NoError(t, q.Discard(t.Context(), id))
		assert.Empty(t, dead(t, q))
		assert.Equal(t, time.Hour, queue.DefaultBackoff(1000))
	})
}

func dead(t *testing.T, q *queue.Queue) (all []queue.Letter) {
	for l, err := range q.Dead(t.Context()) {
		require.NoError(t, err)
		all = append(all, l)
	}
	return all
}

// TestConsumersThatDie use up the attempts as well.
func TestConsumersThatDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _ := open(t, memory.New(), queue.Options{Attempts: 3})
		enqueue(t, q, "poison")
		for range 3 {
			claim(t, q, "poison")
			time.Sleep(queue.DefaultLease)
		}
		empty(t, q)
		letters := dead(t, q)
		require.Len(t, letters, 1)
		assert.Contains(t, letters[0].Failure, "lease")
	})
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _ := open(t, memory.New(), queue.Options{})
		enqueue(t, q, "in a day", queue.After(24*time.Hour))
		enqueue(t, q, "at a time", queue.At(time.Now().Add(time.Hour)))
		enqueue(t, q, "at once", queue.At(time.Now().Add(-time.Hour)))
		require.NoError(t, claim(t, q, "at once").Complete(t.Context()))
		time.Sleep(time.Hour - 1)
		empty(t, q)
		time.Sleep(1)
		j := claim(t, q, "at a time")
		require.NoError(t, j.Release(t.Context()))
		j = claim(t, q, "at a time")
		assert.Equal(t, 1, j.Attempt, "a job that is released has not been tried")
		require.NoError(t, j.Complete(t.Context()))
		time.Sleep(23*time.Hour - 1)
		empty(t, q)
		time.Sleep(1)
		claim(t, q, "in a day")
	})
}

// TestTransactions: a job is enqueued, and completed, together with what else its transaction
// writes, or not at all.
func TestTransactions(t *testing.T) {
	q, db := open(t, memory.New(), queue.Options{})
	orders := db.Collection([]byte("orders"))
	order := func(fail error) error {
		return db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			if err := tx.Insert(orders, []byte("order"), nil); err != nil {
				return err
			}
			if _, err := q.EnqueueTx(tx, []byte("order")); err != nil {
				return err
			}
			return fail
		})
	}
	failed := errors.New("failed")
	require.ErrorIs(t, order(failed), failed)
	empty(t, q)
	require.NoError(t, order(nil))
	j := claim(t, q, "order")
	ship := func(fail error) error {
		return db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			if err := tx.Write(orders, []byte("order"), []byte("shipped")); err != nil {
				return err
			}
			if err := j.CompleteTx(tx); err != nil {
				return err
			}
			return fail
		})
	}
	require.ErrorIs(t, ship(failed), failed)
	require.NoError(t, ship(nil))
	require.ErrorIs(t, ship(nil), queue.ErrLost)
	empty(t, q)
}

// TestCost: with the job in the cache of its consumer, and the head in the producer's.
func TestCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := simulated.New(memory.New(), nil, simulated.Constant(100*time.Millisecond))
		producer, _ := open(t, sim, queue.Options{})
		consumer, _ := open(t, sim, queue.Options{})
		enqueue(t, producer, "warm")
		require.NoError(t, claim(t, consumer, "warm").Complete(t.Context()))
		cost := func(rounds int, want simulated.Counts, f func()) {
			t.Helper()
			before, began := sim.Counts(), time.Now()
			f()
			got := sim.Counts().Sub(before)
			got.NotModified = 0
			assert.Equal(t, time.Duration(rounds)*100*time.Millisecond, time.Since(began))
			assert.Equal(t, want, got)
		}
		cost(3, simulated.Counts{Gets: 1, Puts: 2}, func() { enqueue(t, producer, "a") })
		var j *queue.Job
		first := simulated.Counts{Gets: 1, Puts: 1, Lists: 1}
		cost(3, first, func() { j = claim(t, consumer, "a") })
		cost(1, simulated.Counts{Puts: 1}, func() { require.NoError(t, j.Extend(t.Context())) })
		cost(1, simulated.Counts{Puts: 1}, func() { require.NoError(t, j.Complete(t.Context())) })
	})
}

// TestRefuses says what is wrong.
func TestRefuses(t *testing.T) {
	q, db := open(t, memory.New(), queue.Options{})
	c := db.Collection([]byte("c"))
	for _, o := range []queue.Options{
		{Lease: -1}, {Lease: 1}, {Lease: queue.LeaseMin - 1}, {Lease: queue.LeaseMax + 1},
		{Attempts: -1}, {Poll: -1},
	} {
		_, err := queue.New(db, c, o)
		require.ErrorIs(t, err, strictkv.ErrInvalid)
	}
	_, err := queue.New(nil, c, queue.Options{})
	require.ErrorIs(t, err, strictkv.ErrInvalid)
	_, err = queue.New(db, nil, queue.Options{})
	require.ErrorIs(t, err, strictkv.ErrInvalid)
	_, err = q.Enqueue(t.Context(), make([]byte, queue.PayloadMax+1))
	require.ErrorIs(t, err, strictkv.ErrTooLarge)
	_, err = q.Enqueue(t.Context(), nil, nil)
	require.ErrorIs(t, err, strictkv.ErrInvalid)
	empty(t, q)
}

// TestClocks: whatever they show, every job is found, and completed once.
func TestClocks(t *testing.T) {
	for name, x := range map[string]struct{ producer, consumer time.Duration }{
		"a producer that is behind": {-240 * time.Hour, 0},
		"a consumer that was ahead": {0, 240 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := func(off time.Duration) queue.Options {
					return queue.Options{Now: func() time.Time { return time.Now().Add(off) }}
				}
				mem := memory.New()
				producer, _ := open(t, mem, clock(x.producer))
				odd, _ := open(t, mem, clock(x.consumer))
				right, _ := open(t, mem, queue.Options{})
				for range 2 { // of which the first moves the head far ahead
					const jobs = 499 // which one listing finds, and the next passes over
					for i := range jobs {
						enqueue(t, producer, fmt.Sprint(i))
					}
					for range jobs {
						j, err := odd.Claim(t.Context())
						require.NoError(t, err)
						require.NoError(t, j.Complete(t.Context()))
					}
					empty(t, odd)
				}
				enqueue(t, producer, "last")
				time.Sleep(time.Minute)
				claim(t, right, "last")
			})
		})
	}
}
