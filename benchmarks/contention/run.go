package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"testing"
	"time"

	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/load"
	"github.com/strictkv/strictkv/benchmarks/internal/price"
	"github.com/strictkv/strictkv/benchmarks/internal/progress"
)

// settings are one measurement.
type settings struct {
	Bucket             bucket.Options
	Scenario           string
	Processes, Workers int
	Keys, Overlap      int
	Warm, Time         time.Duration
	// Body is how long functions take, Far how many times as long the requests of the first
	// process; Lock is for read3.
	Body time.Duration
	Far  float64
	Lock bool
	// Than, if it is not nil, is measured as well, to be compared.
	Than *settings
	// Only, if it is not nil, chooses among the goals.
	Only *regexp.Regexp
	// PutMs is the mean latency of a write.
	PutMs float64
}

// row is what came of it.
type row struct {
	Store     string  `json:"store"`
	Scenario  string  `json:"scenario"`
	Processes int     `json:"processes"`
	Workers   int     `json:"workers"`
	Keys      int     `json:"keys"`
	Overlap   int     `json:"overlap" show:"nonzero"`
	Seed      int     `json:"seed"`
	Seconds   float64 `json:"seconds"`
	Commits   int64   `json:"commits"`
	PerSecond float64 `json:"per_s"`
	PerPut    float64 `json:"per_put"`
	Groups    float64 `json:"groups_per_s" show:"nonzero"`
	Others    float64 `json:"others_per_s" show:"nonzero"`
	Than      float64 `json:"compared_per_s" show:"nonzero"`
	Lasting   float64 `json:"last_10s" show:"nonzero"`
	Mean      float64 `json:"mean_ms"`
	P10       float64 `json:"p10_ms"`
	P50       float64 `json:"p50_ms"`
	P90       float64 `json:"p90_ms"`
	P95       float64 `json:"p95_ms"`
	P99       float64 `json:"p99_ms"`
	Max       float64 `json:"max_ms"`
	Slowest   float64 `json:"slowest"`
	Fastest   float64 `json:"fastest"`
	Retries   float64 `json:"retries"`
	Gets      int64   `json:"gets" show:"nonzero"`
	Unchanged int64   `json:"not_modified" show:"nonzero"`
	Puts      int64   `json:"puts"`
	PutsPer   float64 `json:"puts_per_commit"`
	Requests  float64 `json:"requests"`
	CostGCS   float64 `json:"usd_per_million_gcs"`
	Failed    int64   `json:"failed" show:"nonzero"`
	OfRaw     float64 `json:"of_raw" show:"nonzero"`
	Throttled int64   `json:"throttled" show:"nonzero"`
}

// measure runs one scenario once.
func measure(t *testing.T, s settings, seed int, out io.Writer) (r row, err error) {
	run := func(ctx context.Context) (err error) {
		r, err = s.run(ctx, seed, out)
		return err
	}
	than := 0.0
	if s.Than != nil {
		c, err := measure(t, *s.Than, seed, out)
		if err != nil {
			return r, err
		}
		than = c.PerSecond + c.Others
	}
	began := time.Now()
	if err = s.Bucket.Run(t, run); err != nil {
		return r, fmt.Errorf("measure %s %dx%d: %w", s.Scenario, s.Processes, s.Workers, err)
	}
	fmt.Fprintf(out, "%s, %s, %d x %d, %d keys, seed %d: %.1f/s (took %.1f s)\n", s.Bucket,
		s.Scenario, s.Processes, s.Workers, s.Keys, seed, r.PerSecond, time.Since(began).Seconds())
	r.Than = than
	return r, nil
}

func (s settings) run(ctx context.Context, seed int, out io.Writer) (r row, err error) {
	kind, err := scenarioOf(s.Scenario)
	if err != nil {
		return row{}, err
	}
	b, err := bucket.Open(ctx, s.Bucket)
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	preload := 0
	step := kind.step(s, &preload)
	if err := b.Preload(ctx, preload, make([]byte, valueSize)); err != nil {
		return row{}, fmt.Errorf("preload: %w", err)
	}
	for i := range s.Processes {
		if i == 0 && s.Far > 0 {
			_, err = b.FarHandle(ctx, s.Far)
		} else {
			_, err = b.Handle(ctx)
		}
		if err != nil {
			return row{}, err
		}
	}
	if s.PutMs, err = b.PutMs(ctx, valueSize); err != nil {
		return row{}, err
	}
	bar := progress.New(out, fmt.Sprintf("%s, seed %d", s.Scenario, seed), int64(s.Warm+s.Time))
	defer bar.Close()
	result, err := load.Run(ctx, load.Options{
		Handles: b.Handles(), Workers: s.Workers, Warm: s.Warm, Measure: s.Time, Seed: uint64(seed),
		Progress: func(passed, _ time.Duration) { bar.Set(int64(passed)) },
	}, kind.kinds, step)
	if err != nil {
		return row{}, err
	}
	r = s.row(result, seed)
	r.Throttled = b.Throttled()
	r.OfRaw, err = b.Fraction(ctx, result, s.Keys, valueSize)
	return r, err
}

// lastSeconds is how many seconds at the end are compared to as many at the beginning.
const lastSeconds = 10

// row makes a row of the kind of transactions that counts. Fairness is among the workers of
// that kind; requests are those of all.
func (s settings) row(result *load.Result, seed int) row {
	k, all := result.Kinds[0], result.Stats
	workers := result.Workers
	if len(result.Kinds) > 1 {
		workers = workers[:s.Workers]
	}
	slowest, fastest := load.Fairness(workers)
	seconds := result.Time.Seconds()
	rate := float64(k.Count) / seconds
	per := func(n int64) float64 { return float64(n) / float64(max(result.Count(), 1)) }
	paid := price.Requests{Gets: all.Gets, Puts: all.Puts, Lists: all.Lists}
	return row{
		Store: s.Bucket.String(), Scenario: s.Scenario, Processes: s.Processes,
		Workers: s.Workers, Keys: s.Keys, Overlap: s.Overlap, Seed: seed,
		Seconds: seconds, Commits: k.Count, PerSecond: rate, PerPut: rate * s.PutMs / 1000,
		Groups:  float64(all.Groups) / seconds,
		Others:  float64(result.Count()-k.Count) / seconds,
		Lasting: k.Lasting(lastSeconds, result.Time),
		Mean:    k.Mean(), P10: k.Quantile(0.1), P50: k.Quantile(0.5), P90: k.Quantile(0.9),
		P95: k.Quantile(0.95), P99: k.Quantile(0.99),
		Max: k.Max(), Slowest: slowest, Fastest: fastest, Retries: per(all.Retries),
		Gets: all.Gets, Unchanged: all.NotModified, Puts: all.Puts, PutsPer: per(all.Puts),
		Requests: per(all.Requests()), CostGCS: price.Lists[0].PerMillion(paid, result.Count()),
		Failed: result.Failed,
	}
}
