package system_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
)

// sums are what the events of a handle come to.
type sums struct {
	mu           sync.Mutex // guards all below
	stats        strictkv.Stats
	counts       simulated.Counts
	begun, ended int // transactions, requests and work
	byTx, runs   int
	lost         map[string]int
	tasks        map[strictkv.Task]int
	waited       map[strictkv.WaitOutcome]int
}

func newSums() *sums {
	return &sums{
		lost: map[string]int{}, tasks: map[strictkv.Task]int{},
		waited: map[strictkv.WaitOutcome]int{},
	}
}

// observer adds up what it is told, under the names that Stats have for it.
func (s *sums) observer() strictkv.Observer {
	locked := func(f func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		f()
	}
	begin := func(ctx context.Context) context.Context {
		locked(func() { s.begun++ })
		return ctx
	}
	return strictkv.Observer{
		TxBegin: func(ctx context.Context, _ strictkv.TxBegin) context.Context {
			return begin(ctx)
		},
		TxEnd: func(_ context.Context, e strictkv.TxEnd) { locked(func() { s.txEnd(e) }) },
		TxAttempt: func(_ context.Context, e strictkv.TxAttempt) {
			locked(func() { s.attempt(e) })
		},
		TxRetry: func(_ context.Context, e strictkv.TxRetry) {
			locked(func() {
				if e.Cause == strictkv.StaleRead || e.Cause == strictkv.WriteConflict {
					s.stats.StaleReads++
				}
				if e.Lost.Collection != nil {
					s.lost[string(e.Lost.Key)]++
				}
			})
		},
		WaitEnd: func(_ context.Context, e strictkv.WaitEnd) {
			locked(func() { s.waited[e.Outcome]++ })
		},
		RequestBegin: func(ctx context.Context, _ strictkv.RequestBegin) context.Context {
			return begin(ctx)
		},
		RequestEnd: func(_ context.Context, e strictkv.RequestEnd) {
			locked(func() { s.request(e) })
		},
		Resend: func(context.Context, strictkv.Resend) {
			locked(func() { s.stats.Resent++ })
		},
		WorkBegin: func(ctx context.Context, _ strictkv.WorkBegin) context.Context {
			return begin(ctx)
		},
		WorkEnd: func(_ context.Context, e strictkv.WorkEnd) {
			locked(func() {
				s.ended++
				s.tasks[e.Task]++
			})
		},
	}
}

func (s *sums) txEnd(e strictkv.TxEnd) {
	s.ended++
	s.byTx += e.Requests
	s.runs += e.Runs
	if e.Grouped {
		s.stats.Grouped++
	}
	switch e.Outcome {
	case strictkv.OutcomeCommitted:
		s.stats.Committed++
	case strictkv.OutcomeReadOnly:
		s.stats.ReadOnly++
	case strictkv.OutcomeFailed:
		s.stats.Failed++
	case strictkv.OutcomeInDoubt:
		s.stats.InDoubt++
	}
}

func (s *sums) attempt(e strictkv.TxAttempt) {
	switch e.Protocol {
	case strictkv.Direct:
		s.stats.Direct++
	case strictkv.Parallel:
		s.stats.Parallel++
	case strictkv.Validated:
		s.stats.Validated++
	}
	if e.Outcome == strictkv.AttemptRefused {
		s.stats.Refused++
	}
	if e.Lost.Collection != nil {
		s.lost[string(e.Lost.Key)]++
	}
}

func (s *sums) request(e strictkv.RequestEnd) {
	s.ended++
	s.stats.BytesRead += int64(e.BytesRead)
	s.stats.BytesWritten += int64(e.BytesWritten)
	switch e.Op {
	case strictkv.OpGet:
		s.stats.Gets++
		s.counts.Gets++
		if e.Result == strictkv.ResultNotModified {
			s.stats.NotModified++
			s.counts.NotModified++
		}
	case strictkv.OpPut:
		s.stats.Puts++
		s.counts.Puts++
	case strictkv.OpDelete:
		s.stats.Deletes++
		s.counts.Deletes++
	case strictkv.OpList:
		s.stats.Lists++
		s.counts.Lists++
	}
	if e.Result == strictkv.ResultUnknown {
		s.stats.Unknown++
	}
}

// TestObserverAddsUp: what an observer of a contended handle is told comes to what Stats say, and
// the requests to what the store has counted.
func TestObserverAddsUp(t *testing.T) {
	for _, faults := range []bool{false, true} {
		t.Run(fmt.Sprintf("faults %v", faults), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { addsUp(t, faults) })
		})
	}
}

func addsUp(t *testing.T, faults bool) {
	store := simulated.New(memory.New(), nil, simulated.Constant(20*time.Millisecond))
	var way backend.Backend = store
	if faults {
		way = faulty.New(store, faulty.Options{
			Seed: 1, FailBefore: .02, LoseRequest: .01, LoseAnswer: .02,
		})
	}
	s := newSums()
	db, err := strictkv.Open(t.Context(), "db", way, strictkv.WithObserver(s.observer()),
		strictkv.WithObserver(strictkv.Observer{}), strictkv.WithInlineMax(64))
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(w)))
			for range 30 {
				err := transfer(t.Context(), db, c, r)
				if !errors.Is(err, errRefused) && !errors.Is(err, strictkv.ErrInDoubt) {
					assert.NoError(t, err)
				}
			}
		})
	}
	wg.Wait()
	_, err = db.Sweep(t.Context(), strictkv.SweepOptions{})
	require.NoError(t, err)
	require.NoError(t, db.Close(t.Context()))

	got := db.Stats()
	want := s.stats // what events do not tell of
	want.Escalated, want.CacheHits, want.CacheMisses = got.Escalated, got.CacheHits, got.CacheMisses
	want.KeepsTombstones = got.KeepsTombstones
	assert.Equal(t, want, got)
	if !faults {
		counts := store.Counts()
		assert.Equal(t, counts, s.counts)
	}
	assert.Equal(t, s.begun, s.ended, "what begins ends")
	assert.LessOrEqual(t, s.byTx, s.counts.Requests())
	assert.Positive(t, s.stats.StaleReads+s.stats.Refused, "the run is contended")
	assert.NotEmpty(t, s.lost)
	assert.NotEmpty(t, s.waited)
	assert.Equal(t, 1, s.tasks[strictkv.TaskOpen])
	assert.Equal(t, 1, s.tasks[strictkv.TaskSweep])
	assert.Positive(t, s.tasks[strictkv.TaskResolve])
	assert.Positive(t, s.tasks[strictkv.TaskUnlink])
	t.Logf("%+v; lost %v, tasks %v, waited %v, %d runs", got, s.lost, s.tasks, s.waited, s.runs)
}

var errRefused = errors.New("refused by the function")

// transfer is a transaction on two or three of six keys, of one kind or another.
func transfer(
	ctx context.Context, db *strictkv.DB, c *strictkv.Collection, r *rand.Rand,
) error {
	key := func() []byte { return []byte{byte('a' + r.IntN(6))} }
	from, to, also, kind := key(), key(), key(), r.IntN(8)
	switch kind {
	case 0:
		_, err := c.Read(ctx, from)
		if errors.Is(err, strictkv.ErrNotFound) {
			return nil
		}
		return err
	case 1:
		return db.View(ctx, func(tx *strictkv.Tx) error {
			tx.ReadMulti(c.Key(from), c.Key(to), c.Key(also))
			return nil
		})
	}
	return db.Tx(ctx, func(tx *strictkv.Tx) error {
		v, err := tx.Read(c, from)
		if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
			return err
		}
		switch kind {
		case 2:
			return errRefused
		case 3, 4:
			return tx.Write(c, from, []byte(fmt.Sprint(len(v))))
		case 5:
			return tx.Write(c, to, make([]byte, 100))
		case 6:
			if _, err := tx.Read(c, also); err != nil && !errors.Is(err, strictkv.ErrNotFound) {
				return err
			}
		}
		if err := tx.Write(c, from, []byte("from")); err != nil {
			return err
		}
		return tx.Write(c, to, []byte("to"))
	}, strictkv.Named("transfer"))
}
