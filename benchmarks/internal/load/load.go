// Package load runs the workers of a benchmark for a time, and records what they did and
// how long it took.
package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
)

// Options say who works, and for how long.
type Options struct {
	// Handles are the processes, each with Workers goroutines.
	Handles []*strictkv.DB
	Workers int
	// Warm is the time before what is done counts, Measure that in which it does.
	Warm, Measure time.Duration
	// Seed makes the workers' random choices.
	Seed uint64
	// Progress, if it is not nil, is told some times how much of the time has passed.
	Progress func(passed, all time.Duration)
}

// Worker is one of the goroutines.
type Worker struct {
	// ID counts from 0, over all handles.
	ID int
	// Process is the index of the worker's handle.
	Process int
	// DB is that handle.
	DB *strictkv.DB
	// Random is the worker's own.
	Random *rand.Rand
	// Done is how many steps the worker has made.
	Done int
}

// Step makes a worker's next transaction, and returns which kind it was: an index of
// Result.Kinds.
type Step func(ctx context.Context, w *Worker) (kind int, err error)

// run is one under way.
type run struct {
	o      Options
	step   Step
	result *Result

	mu     sync.Mutex // guards all below, and result
	open   bool       // what ends now counts
	began  time.Time  // of the time that counts
	closed bool       // no worker begins anything more
	failed error
}

// Run runs the workers. What has begun when the time is over is waited for: it counts in the
// latencies, so that who starves is not overlooked, but not in the throughput. A transaction
// that is in doubt, or that the store has refused for too long, counts as failed; any other
// error of a step ends the run.
func Run(ctx context.Context, o Options, kinds []string, step Step) (*Result, error) {
	r := &run{o: o, step: step, result: newResult(kinds, len(o.Handles)*o.Workers)}
	var wg sync.WaitGroup
	for p, db := range o.Handles {
		for i := range o.Workers {
			id := p*o.Workers + i
			random := rand.New(rand.NewPCG(o.Seed, uint64(id)))
			w := &Worker{ID: id, Process: p, DB: db, Random: random}
			wg.Go(func() { r.work(ctx, w) })
		}
	}
	r.time(ctx)
	wg.Wait()
	return r.result, r.failed
}

// steps of the progress.
const steps = 10

// time waits, and says when it counts.
func (r *run) time(ctx context.Context) {
	all := r.o.Warm + r.o.Measure
	wait := func(from, d time.Duration) {
		for i := range steps {
			if r.over(ctx) {
				return
			}
			time.Sleep(d / steps)
			if r.o.Progress != nil {
				r.o.Progress(from+d*time.Duration(i+1)/steps, all)
			}
		}
	}
	wait(0, r.o.Warm)
	before := r.stats()
	r.mu.Lock()
	r.open, r.began = true, time.Now()
	r.mu.Unlock()
	wait(r.o.Warm, r.o.Measure)
	r.mu.Lock()
	r.open, r.closed = false, true
	r.result.Time = time.Since(r.began)
	r.mu.Unlock()
	r.result.Stats = r.stats().Sub(before)
}

func (r *run) over(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = r.closed || ctx.Err() != nil
	return r.closed
}

func (r *run) work(ctx context.Context, w *Worker) {
	for !r.over(ctx) {
		began := time.Now()
		kind, err := r.step(ctx, w)
		w.Done++
		if err = r.record(w, kind, began, err); err != nil {
			return
		}
	}
}

// record counts a step that has ended.
func (r *run) record(w *Worker, kind int, began time.Time, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case errors.Is(err, strictkv.ErrInDoubt), errors.Is(err, strictkv.ErrUnavailable),
		errors.Is(err, backend.ErrThrottled):
		if r.open {
			r.result.Failed++
		}
		return nil
	case err != nil:
		if r.failed == nil {
			r.failed = fmt.Errorf("worker %d: %w", w.ID, err)
		}
		r.closed = true
		return err
	}
	if r.open {
		r.result.Kinds[kind].Count++
		r.result.Kinds[kind].ended(time.Since(r.began))
		r.result.Workers[w.ID]++
	}
	if r.open || r.closed {
		took := time.Since(began)
		_ = r.result.Kinds[kind].latencies.RecordValue(took.Microseconds())
	}
	return nil
}

// stats adds up those of all handles.
func (r *run) stats() (sum Stats) {
	for _, db := range r.o.Handles {
		sum = sum.add(statsOf(db.Stats()))
	}
	return sum
}
