package baton_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/sim/baton"
)

type contextKey struct{}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world returns a world with one process.
func world(t *testing.T, o baton.Options) (*baton.World, *baton.Process) {
	w := baton.New(o)
	t.Cleanup(w.Unwind)
	return w, w.NewProcess(0, 1, 2)
}

// run runs all that is ready, and lets time pass, until nothing is left.
func run(w *baton.World) {
	for {
		for w.Step() {
		}
		next := w.NextTimer()
		if next == baton.Never || w.Err() != nil {
			return
		}
		w.Advance(next)
	}
}

func TestSleepersWakeInOrder(t *testing.T) {
	w, p := world(t, baton.Options{})
	var woken []time.Duration
	for _, d := range []time.Duration{3, 1, 2, 1} {
		p.Go(func() {
			assert.NoError(t, p.Sleep(context.Background(), d))
			assert.Equal(t, d, w.Now())
			woken = append(woken, d)
		})
	}
	run(w)
	assert.Equal(t, []time.Duration{1, 1, 2, 3}, woken)
}

func TestContextsEnd(t *testing.T) {
	w, p := world(t, baton.Options{})
	ends := map[string]error{}
	wait := func(name string, ctx context.Context) {
		p.Go(func() { ends[name] = p.NewEvent().Wait(ctx) })
	}
	outer, cancel := p.WithCancel(context.Background())
	inner, _ := p.WithTimeout(context.WithValue(outer, contextKey{}, 1), time.Hour)
	wait("cancelled", inner)
	late, _ := p.WithTimeout(context.Background(), time.Minute)
	wait("timed out", late)
	longer, _ := p.WithTimeout(late, time.Hour)
	wait("timed out above", longer)
	p.Go(func() {
		assert.NoError(t, p.Sleep(context.Background(), time.Second))
		cancel()
	})
	run(w)
	assert.Equal(t, map[string]error{
		"cancelled": context.Canceled, "timed out": context.DeadlineExceeded,
		"timed out above": context.DeadlineExceeded,
	}, ends)
	assert.Equal(t, time.Minute, w.Now(), "nothing waits for the longer timeout")
	assert.Panics(t, func() { inner.Done() })
}

func TestEventWakesAll(t *testing.T) {
	w, p := world(t, baton.Options{Shuffle: true})
	e, n := p.NewEvent(), 0
	for range 3 {
		p.Go(func() {
			assert.NoError(t, e.Wait(context.Background()))
			n++
		})
	}
	for w.Step() {
	}
	require.Zero(t, n)
	p.Go(e.Set)
	run(w)
	assert.Equal(t, 3, n)
	assert.True(t, e.IsSet())
}

func TestKilledNeverRunsAgain(t *testing.T) {
	w, p := world(t, baton.Options{})
	left := false
	p.Go(func() {
		defer func() { left = true }()
		_ = p.Sleep(context.Background(), time.Second)
		t.Error("a killed process went on")
	})
	for w.Step() {
	}
	w.Kill(p)
	run(w)
	require.False(t, left)
	w.Unwind()
	assert.True(t, left, "unwinding runs what was deferred")
	assert.True(t, w.Ended())
}

func TestPreemption(t *testing.T) {
	for _, preempt := range []int{0, 1} {
		w, p := world(t, baton.Options{Preempt: preempt})
		var mu seam.Mutex
		var order []int
		for i := range 2 {
			p.Go(func() {
				for range 2 {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
				}
			})
		}
		run(w)
		require.NoError(t, w.Err())
		assert.Equal(t, [][]int{{0, 0, 1, 1}, {0, 1, 0, 1}}[preempt], order)
		w.Unwind()
	}
}

func TestMisbehaviourIsNoticed(t *testing.T) {
	var mu seam.Mutex
	for say, f := range map[string]func(p *baton.Process, stop chan struct{}){
		"mutexes held": func(p *baton.Process, _ chan struct{}) {
			mu.Lock()
			defer mu.Unlock()
			_ = p.Sleep(context.Background(), 1)
		},
		"past the seam": func(_ *baton.Process, stop chan struct{}) {
			go func() { <-stop }()
		},
		"panic in process 0: oh": func(*baton.Process, chan struct{}) { panic("oh") },
	} {
		// A goroutine on its way out, of a test before this, would be counted as one that
		// was there before, and hide a stray.
		goleak.VerifyNone(t)
		stop := make(chan struct{})
		w, p := world(t, baton.Options{})
		p.Go(func() { f(p, stop) })
		run(w)
		assert.ErrorContains(t, w.Err(), say)
		close(stop)
		w.Unwind()
	}
}

func TestSource(t *testing.T) {
	a, b, c := baton.Derive(1, 2), baton.Derive(1, 2), baton.Derive(1, 3)
	x := a.Next()
	assert.Equal(t, x, b.Next())
	assert.NotEqual(t, x, c.Next())
	assert.Equal(t, uint64(0xe2bbf3eb5675cf33), x, "the same on every machine")
	for range 100 {
		assert.Less(t, a.Below(3), 3)
	}
}
