package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/load"
	"github.com/strictkv/strictkv/layers/queue"
)

const (
	// payloadSize is that of all jobs, in bytes.
	payloadSize = 100
	// batch is how many of the jobs that went before were in the queue at once; workers did
	// that work, and pause went by between two batches.
	batch   = 1000
	workers = 32
	pause   = 15 * time.Second
)

// settings are one measurement.
type settings struct {
	Bucket               bucket.Options
	Producers, Consumers int
	Rate                 float64
	Before               int
	Warm, Time           time.Duration
}

// row is what came of it.
type row struct {
	Store     string  `json:"store" show:"title"`
	Producers int     `json:"producers" short:"prod"`
	Consumers int     `json:"consumers" short:"cons"`
	Rate      float64 `json:"rate" show:"nonzero"`
	Before    int     `json:"before"`
	Seed      int     `json:"seed"`
	PerSecond float64 `json:"jobs_per_s" short:"jobs/s"`
	P50       float64 `json:"claim_p50_ms" short:"p50"`
	P99       float64 `json:"claim_p99_ms" short:"p99"`
	Max       float64 `json:"claim_max_ms" short:"max"`
	Requests  float64 `json:"requests_per_claim" short:"req"`
	WaitP50   float64 `json:"wait_p50_ms" short:"wait p50"`
	WaitP99   float64 `json:"wait_p99_ms" short:"p99"`
	Failed    int64   `json:"failed" show:"nonzero"`
}

// The kinds of steps.
const (
	enqueued = iota
	claimed
	completed
	vain
)

// measure runs the queue once.
func measure(t *testing.T, s settings, seed int, out io.Writer) (r row, err error) {
	began := time.Now()
	err = s.Bucket.Run(t, func(ctx context.Context) (err error) {
		r, err = s.run(ctx, seed)
		return err
	})
	if err != nil {
		return r, fmt.Errorf("measure queue, %d x %d: %w", s.Producers, s.Consumers, err)
	}
	fmt.Fprintf(out, "%s, %d x %d, %d before, seed %d: %.1f/s (took %.1f s)\n", s.Bucket,
		s.Producers, s.Consumers, s.Before, seed, r.PerSecond, time.Since(began).Seconds())
	return r, nil
}

// process is a producer or a consumer.
type process struct {
	q   *queue.Queue
	db  *strictkv.DB
	job *queue.Job
	// next is when a producer enqueues its next job.
	next time.Time
}

func newQueue(db *strictkv.DB) (*queue.Queue, error) {
	return queue.New(db, db.Collection([]byte("queue")), queue.Options{})
}

// bench is one run. What its workers share is guarded by mu.
type bench struct {
	settings
	processes []*process
	counts    time.Time // from when on it counts

	mu       sync.Mutex // guards all below
	waits    []float64  // in ms
	requests int64
}

func (s settings) run(ctx context.Context, seed int) (r row, err error) {
	b, err := bucket.Open(ctx, s.Bucket)
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	if err := s.before(ctx, b); err != nil {
		return row{}, err
	}
	x := bench{settings: s}
	for range s.Producers + s.Consumers {
		db, err := b.Handle(ctx)
		if err != nil {
			return row{}, err
		}
		q, err := newQueue(db)
		if err != nil {
			return row{}, err
		}
		x.processes = append(x.processes, &process{q: q, db: db, next: time.Now()})
	}
	x.counts = time.Now().Add(s.Warm)
	result, err := load.Run(ctx, load.Options{
		Handles: b.Handles(), Workers: 1, Warm: s.Warm, Measure: s.Time, Seed: uint64(seed),
	}, []string{"enqueue", "claim", "complete", "vain claim"}, x.step)
	if err != nil {
		return row{}, err
	}
	return x.row(result, seed), nil
}

// before lets jobs go through the queue, without latency.
func (s settings) before(ctx context.Context, b *bucket.Bucket) error {
	db, err := b.Direct(ctx)
	if err != nil {
		return err
	}
	q, err := newQueue(db)
	for done := 0; done < s.Before && err == nil; done += batch {
		var group errgroup.Group
		group.SetLimit(workers)
		for range min(batch, s.Before-done) {
			group.Go(func() error {
				_, err := q.Enqueue(ctx, make([]byte, payloadSize))
				return err
			})
		}
		err = group.Wait()
		for range min(batch, s.Before-done) {
			group.Go(func() error {
				job, err := q.Claim(ctx)
				if err != nil {
					return err
				}
				return job.Complete(ctx)
			})
		}
		if err = errors.Join(err, group.Wait()); s.Bucket.Virtual() {
			time.Sleep(pause)
		}
	}
	return errors.Join(err, db.Close(ctx))
}

// step is a worker's next: producers are the first of them.
func (b *bench) step(ctx context.Context, w *load.Worker) (kind int, err error) {
	p := b.processes[w.ID]
	switch {
	case w.ID < b.Producers:
		if b.Rate > 0 {
			time.Sleep(time.Until(p.next))
			mean := float64(b.Producers) / b.Rate * float64(time.Second)
			p.next = p.next.Add(time.Duration(w.Random.ExpFloat64() * mean))
		}
		_, err := p.q.Enqueue(ctx, make([]byte, payloadSize))
		return enqueued, err
	case p.job != nil:
		job := p.job
		p.job = nil
		return completed, job.Complete(ctx)
	}
	before := requests(p.db)
	p.job, err = p.q.Claim(ctx)
	if !time.Now().Before(b.counts) {
		b.claimed(p, requests(p.db)-before)
	}
	if errors.Is(err, queue.ErrEmpty) {
		time.Sleep(queue.DefaultPoll/2 + time.Duration(w.Random.Int64N(int64(queue.DefaultPoll))))
		return vain, nil
	}
	return claimed, err
}

func (b *bench) claimed(p *process, requests int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests += requests
	if p.job != nil {
		wait := time.Since(p.job.Enqueued)
		b.waits = append(b.waits, float64(wait)/float64(time.Millisecond))
	}
}

func requests(db *strictkv.DB) int64 {
	s := db.Stats()
	return s.Gets + s.Puts + s.Deletes + s.Lists
}

func (b *bench) row(result *load.Result, seed int) row {
	claims := result.Kinds[claimed]
	slices.Sort(b.waits)
	wait := func(q float64) float64 {
		if len(b.waits) == 0 {
			return 0
		}
		return b.waits[int(q*float64(len(b.waits)-1))]
	}
	return row{
		Store: b.Bucket.String(), Producers: b.Producers, Consumers: b.Consumers, Rate: b.Rate,
		Before: b.Before, Seed: seed,
		PerSecond: float64(result.Kinds[completed].Count) / result.Time.Seconds(),
		P50:       claims.Quantile(0.5), P99: claims.Quantile(0.99), Max: claims.Max(),
		Requests: float64(b.requests) / float64(max(len(b.waits), 1)),
		WaitP50:  wait(0.5), WaitP99: wait(0.99), Failed: result.Failed,
	}
}
