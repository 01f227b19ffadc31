package queue_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/queue"
)

const (
	modelLease    = time.Minute
	modelAttempts = 3
	modelSteps    = 600
)

// modelJob is what the model knows of a job.
type modelJob struct {
	id       string
	due      time.Time
	until    time.Time // of the lease
	attempts int
	holder   *queue.Job // nil: nobody has it
	dead     bool
}

// free reports whether the job can be claimed.
func (m *modelJob) free(now time.Time) bool {
	return !m.dead && !m.due.After(now) && (m.holder == nil || !now.Before(m.until))
}

// model is a queue of which each step is compared with the real one's.
type model struct {
	t      *testing.T
	random *rand.Rand
	queues []*queue.Queue
	jobs   map[string]*modelJob
	ids    []string // of jobs, in the order in which they were enqueued
	held   []*queue.Job
}

// TestModel makes random steps through several handles, one after another, and compares what
// comes of them with a model. A sweep and jumps of the clock are among them.
func TestModel(t *testing.T) {
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			m := &model{
				t: t, random: rand.New(rand.NewPCG(seed, 1)), jobs: map[string]*modelJob{},
			}
			mem := memory.New()
			var dbs []*strictkv.DB
			for range 3 {
				q, db := open(t, mem, queue.Options{Lease: modelLease, Attempts: modelAttempts})
				m.queues, dbs = append(m.queues, q), append(dbs, db)
			}
			for range modelSteps {
				if m.random.IntN(100) == 0 {
					_, err := dbs[0].Sweep(t.Context(), strictkv.SweepOptions{Horizon: -1})
					require.NoError(t, err)
				}
				m.step()
			}
			m.compare()
			for _, db := range dbs {
				report, err := db.Check(t.Context(), strictkv.CheckOptions{})
				require.NoError(t, err)
				require.Empty(t, report.Problems)
			}
		})
	}
}

func (m *model) step() {
	time.Sleep(1) // no two things happen at the same instant
	q := m.queues[m.random.IntN(len(m.queues))]
	switch m.random.IntN(10) {
	case 0, 1, 2:
		m.enqueue(q)
	case 3, 4, 5:
		m.claim(q)
	case 6:
		steps := []time.Duration{0, time.Second, 20 * time.Second, modelLease, time.Hour}
		time.Sleep(steps[m.random.IntN(len(steps))])
	case 7:
		if len(m.ids) > 0 {
			m.revive(q, m.ids[m.random.IntN(len(m.ids))])
		}
	default:
		if len(m.held) > 0 {
			m.finish(m.held[m.random.IntN(len(m.held))])
		}
	}
}

func (m *model) enqueue(q *queue.Queue) {
	delay := []time.Duration{0, 0, time.Second, time.Hour}[m.random.IntN(4)]
	payload := fmt.Sprint("payload ", len(m.ids))
	id, err := q.Enqueue(m.t.Context(), []byte(payload), queue.After(delay))
	require.NoError(m.t, err)
	m.jobs[id] = &modelJob{id: id, due: time.Now().Add(delay)}
	m.ids = append(m.ids, id)
}

// claim expects any job that is free, or none if there is none. Those of which the last attempt
// has ended without a word become dead letters on the way.
func (m *model) claim(q *queue.Queue) {
	now := time.Now()
	free, spent := map[string]*modelJob{}, []*modelJob{}
	for _, id := range m.ids {
		switch x := m.jobs[id]; {
		case x == nil || !x.free(now):
		case x.attempts == modelAttempts:
			spent = append(spent, x)
		default:
			free[id] = x
		}
	}
	j, err := q.Claim(m.t.Context())
	letters := map[string]bool{}
	for _, l := range dead(m.t, q) {
		letters[l.ID] = true
	}
	for _, x := range spent {
		x.dead = letters[x.id]
	}
	if errors.Is(err, queue.ErrEmpty) {
		require.Empty(m.t, free, "there is a job")
		return
	}
	require.NoError(m.t, err)
	x := free[j.ID]
	require.NotNil(m.t, x, "job %s can't be claimed: %+v", j.ID, m.jobs[j.ID])
	x.attempts++
	x.holder, x.until = j, now.Add(modelLease)
	require.Equal(m.t, x.attempts, j.Attempt)
	require.Equal(m.t, x.until, j.Deadline())
	m.held = append(m.held, j)
}

// finish does something with a job that was claimed once, by a consumer that may have lost it.
func (m *model) finish(j *queue.Job) {
	x, ctx, now := m.jobs[j.ID], m.t.Context(), time.Now()
	var err error
	what := m.random.IntN(5)
	switch what {
	case 0:
		err = j.Complete(ctx)
	case 1:
		err = j.Extend(ctx)
	case 2:
		err = j.Retry(ctx, errors.New("failed"))
	case 3:
		err = j.Release(ctx)
	case 4:
		err = j.Bury(ctx, nil)
	}
	if x == nil || x.holder != j || x.dead {
		require.ErrorIs(m.t, err, queue.ErrLost)
		return
	}
	require.NoError(m.t, err)
	if what == 1 {
		x.until = now.Add(modelLease)
		return
	}
	x.holder = nil
	switch what {
	case 0:
		delete(m.jobs, j.ID)
	case 2:
		x.dead = x.attempts == modelAttempts
		x.due = now.Add(queue.DefaultBackoff(x.attempts))
	case 3:
		x.attempts--
	case 4:
		x.dead = true
	}
}

func (m *model) revive(q *queue.Queue, id string) {
	err := q.Revive(m.t.Context(), id)
	x := m.jobs[id]
	if x == nil || !x.dead {
		require.ErrorIs(m.t, err, strictkv.ErrNotFound)
		return
	}
	require.NoError(m.t, err)
	*x = modelJob{id: id, due: time.Now()}
}

// compare compares what is there with what the model has.
func (m *model) compare() {
	var alive int64
	letters := map[string]bool{}
	for _, x := range m.jobs { // any order: they are counted
		if x.dead {
			letters[x.id] = true
		} else {
			alive++
		}
	}
	for _, q := range m.queues {
		n, err := q.Len(m.t.Context())
		require.NoError(m.t, err)
		require.Equal(m.t, alive, n)
		got := map[string]bool{}
		for _, l := range dead(m.t, q) {
			got[l.ID] = true
		}
		require.Equal(m.t, letters, got)
	}
}
