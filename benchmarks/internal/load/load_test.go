package load_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/benchmarks/internal/load"
)

var kinds = []string{"short", "long"}

// run runs steps of two handles with three workers each for 2 s, after 1 s.
func run(t *testing.T, step load.Step) (result *load.Result, err error) {
	synctest.Test(t, func(t *testing.T) {
		bucket := memory.New()
		o := load.Options{Workers: 3, Warm: time.Second, Measure: 2 * time.Second}
		for range 2 {
			db, err := strictkv.Open(t.Context(), "example", bucket)
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close(t.Context())) }()
			o.Handles = append(o.Handles, db)
		}
		var passed []time.Duration
		o.Progress = func(p, all time.Duration) {
			passed = append(passed, p)
			assert.Equal(t, 3*time.Second, all)
		}
		result, err = load.Run(t.Context(), o, kinds, step)
		if err == nil {
			assert.Equal(t, 3*time.Second, passed[len(passed)-1])
		}
	})
	return result, err
}

func TestRun(t *testing.T) {
	r, err := run(t, func(ctx context.Context, w *load.Worker) (int, error) {
		if w.ID == 5 {
			time.Sleep(40 * time.Millisecond)
			return 1, w.DB.Collection([]byte("c")).Write(ctx, []byte("k"), nil)
		}
		assert.Equal(t, w.ID/3, w.Process)
		time.Sleep(9 * time.Millisecond)
		return 0, nil
	})
	require.NoError(t, err)
	assert.Equal(t, 2*time.Second, r.Time)
	assert.InDelta(t, 5*222, r.Kinds[0].Count, 5)
	assert.InDelta(t, 50, r.Kinds[1].Count, 1)
	assert.Equal(t, r.Kinds[0].Count+r.Kinds[1].Count, r.Count())
	assert.InDelta(t, r.Count()/2, r.PerSecond(), 1)
	assert.InDelta(t, 9, r.Kinds[0].Quantile(0.5), 0.01)
	assert.InDelta(t, 9, r.Kinds[0].Mean(), 0.01)
	assert.InDelta(t, 40, r.Kinds[1].Max(), 0.1)
	assert.InDelta(t, 50, r.Stats.Puts, 1, "requests of the warming up count")
	slowest, fastest := r.Fairness()
	assert.InDelta(t, 50/193.3, slowest, 0.01)
	assert.InDelta(t, 222/193.3, fastest, 0.01)
}

// TestStarving: who waits when the time is over counts in the latencies.
func TestStarving(t *testing.T) {
	r, err := run(t, func(_ context.Context, w *load.Worker) (int, error) {
		time.Sleep(time.Minute)
		return 0, nil
	})
	require.NoError(t, err)
	assert.Zero(t, r.Count())
	assert.InDelta(t, 60_000, r.Kinds[0].Max(), 60)
}

func TestFailed(t *testing.T) {
	for _, passing := range []error{
		strictkv.ErrInDoubt, strictkv.ErrUnavailable, backend.ErrThrottled,
	} {
		r, err := run(t, func(_ context.Context, w *load.Worker) (int, error) {
			time.Sleep(100 * time.Millisecond)
			return 0, passing
		})
		require.NoError(t, err)
		assert.InDelta(t, 6*20, r.Failed, 6)
		assert.Zero(t, r.Count())
	}
	broken := errors.New("broken")
	_, err := run(t, func(_ context.Context, w *load.Worker) (int, error) {
		time.Sleep(100 * time.Millisecond)
		return 0, broken
	})
	assert.ErrorIs(t, err, broken)
}

func TestFairness(t *testing.T) {
	slowest, fastest := load.Fairness([]int64{1, 2, 3})
	assert.InDelta(t, 0.5, slowest, 1e-9)
	assert.InDelta(t, 1.5, fastest, 1e-9)
	slowest, fastest = load.Fairness([]int64{0, 0})
	assert.Zero(t, slowest+fastest)
}

// TestLasting compares the end of a load to its beginning.
func TestLasting(t *testing.T) {
	r, err := load.Run(t.Context(), load.Options{Workers: 1}, []string{"none"}, nil)
	require.NoError(t, err)
	assert.Zero(t, r.Kinds[0].Lasting(10, time.Minute))
}
