package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"testing"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/load"
	"github.com/strictkv/strictkv/benchmarks/internal/price"
	"github.com/strictkv/strictkv/benchmarks/internal/progress"
	"github.com/strictkv/strictkv/cache"
)

// settings are one measurement.
type settings struct {
	Bucket            bucket.Options
	Keys              int
	Clients, Parallel int
	Warm, Time        time.Duration
	ValueSize         int // bytes
	// Shared gives all clients one cache, of the default size.
	Shared bool
}

// row is what came of it. Counts of requests are per transaction.
type row struct {
	Store      string  `json:"store"`
	Keys       int     `json:"keys"`
	Clients    int     `json:"clients"`
	Parallel   int     `json:"parallel"`
	Seed       int     `json:"seed"`
	Seconds    float64 `json:"seconds"`
	Count      int64   `json:"transactions"`
	PerSecond  float64 `json:"per_s"`
	UpdateRate float64 `json:"update_per_s"`
	ReadRate   float64 `json:"read_per_s"`
	WeakRate   float64 `json:"weak_per_s"`
	UpdateP10  float64 `json:"update_p10_ms"`
	UpdateP50  float64 `json:"update_p50_ms"`
	UpdateP90  float64 `json:"update_p90_ms"`
	UpdateP99  float64 `json:"update_p99_ms"`
	ReadP10    float64 `json:"read_p10_ms"`
	ReadP50    float64 `json:"read_p50_ms"`
	ReadP90    float64 `json:"read_p90_ms"`
	ReadP99    float64 `json:"read_p99_ms"`
	WeakP10    float64 `json:"weak_p10_ms"`
	WeakP50    float64 `json:"weak_p50_ms"`
	WeakP90    float64 `json:"weak_p90_ms"`
	WeakP99    float64 `json:"weak_p99_ms"`
	Retries    float64 `json:"retries"`
	Requests   float64 `json:"requests"`
	Gets       float64 `json:"gets"`
	Unchanged  float64 `json:"not_modified"`
	Puts       float64 `json:"puts"`
	Deletes    float64 `json:"deletes" show:"nonzero"`
	Lists      float64 `json:"lists" show:"nonzero"`
	CostGCS    float64 `json:"usd_per_million_gcs"`
	CostS3     float64 `json:"usd_per_million_s3"`
	CostAzure  float64 `json:"usd_per_million_azure"`
	Resident   float64 `json:"rss_mib" show:"nonzero"`
	Failed     int64   `json:"failed" show:"nonzero"`
	Wall       float64 `json:"took_s"`
	OfRaw      float64 `json:"of_raw" show:"nonzero"`
}

// Runs of so many clients take long, and are shorter: enough transactions end in shortMax.
// With most clients there is one run only: it takes minutes, and figures hardly vary.
const (
	manyClients = 200
	mostClients = 500
	shortMax    = 10 * time.Second
)

// A run has a memory limit (GOMEMLIMIT), as a service has: without one, a Go heap grows to
// twice what lives. All clients' caches are in this one process, and the store too.
const (
	memoryBase   = 32 << 20
	memoryClient = 13 << 19 // 6.5 MiB
)

func seedsOf(clients, seeds int) int {
	if clients >= mostClients {
		return 1
	}
	return seeds
}

// The kinds of transactions, and their shares in percent; the rest are weak reads.
const (
	kindUpdate = iota
	kindRead
	kindWeak

	keysMax     = 2 // of a transaction
	updateShare = 10
	readShare   = 60
	staleness   = 10 * time.Second
)

var kinds = []string{"update of 2 keys", "strong read of 2 keys", "weak read of 1 key"}

// measure runs the mix once.
func measure(t *testing.T, s settings, seed int, out io.Writer) (r row, err error) {
	debug.SetMemoryLimit(memoryBase + int64(s.Clients)*memoryClient)
	debug.FreeOSMemory() // what the run before has left is not this one's
	run := func(ctx context.Context) (err error) {
		r, err = s.run(ctx, seed, out)
		return err
	}
	began := time.Now()
	if err = s.Bucket.Run(t, run); err != nil {
		return r, fmt.Errorf("measure %d clients: %w", s.Clients, err)
	}
	r.Wall = time.Since(began).Seconds()
	fmt.Fprintf(out, "%s, %d clients, seed %d: %.0f/s (took %.1f s)\n", s.Bucket,
		s.Clients, seed, r.PerSecond, r.Wall)
	return r, nil
}

func (s settings) run(ctx context.Context, seed int, out io.Writer) (r row, err error) {
	b, err := bucket.Open(ctx, s.Bucket)
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	if err := b.Preload(ctx, s.Keys, make([]byte, s.ValueSize)); err != nil {
		return row{}, fmt.Errorf("preload: %w", err)
	}
	var opts []strictkv.Option
	if s.Shared {
		opts = append(opts, strictkv.WithCache(cache.New(cache.DefaultSize())))
	}
	for range s.Clients {
		if _, err := b.Handle(ctx, opts...); err != nil {
			return row{}, err
		}
	}
	if s.Clients >= manyClients {
		s.Time = min(s.Time, shortMax)
	}
	resident := 0.0
	what := fmt.Sprintf("%d clients, seed %d", s.Clients, seed)
	bar := progress.New(out, what, int64(s.Warm+s.Time))
	defer bar.Close()
	result, err := load.Run(ctx, load.Options{
		Handles: b.Handles(), Workers: s.Parallel, Warm: s.Warm, Measure: s.Time,
		Seed: uint64(seed), Progress: func(passed, _ time.Duration) {
			resident = max(resident, load.Resident())
			bar.Set(int64(passed))
		},
	}, kinds, s.step)
	if err != nil {
		return row{}, err
	}
	r = s.row(result, seed)
	r.Resident = resident
	r.OfRaw, err = b.Fraction(ctx, result, keysMax, s.ValueSize)
	return r, err
}

// step makes one transaction of the mix.
func (s settings) step(ctx context.Context, w *load.Worker) (int, error) {
	c := bucket.Collection(w.DB)
	first, second := w.Random.IntN(s.Keys), w.Random.IntN(s.Keys-1)
	if second >= first {
		second++
	}
	keys := []strictkv.Key{c.Key(bucket.Key(first)), c.Key(bucket.Key(second))}
	switch p := w.Random.IntN(100); {
	case p < updateShare:
		return kindUpdate, w.DB.Tx(ctx, func(tx *strictkv.Tx) error { return update(tx, keys) })
	case p < updateShare+readShare:
		return kindRead, w.DB.View(ctx, func(tx *strictkv.Tx) error {
			r := tx.ReadMulti(keys...)
			return errors.Join(r[0].Err, r[1].Err)
		})
	}
	_, err := c.ReadWeak(ctx, keys[0].Key, staleness)
	return kindWeak, err
}

func update(tx *strictkv.Tx, keys []strictkv.Key) error {
	for i, r := range tx.ReadMulti(keys...) {
		if r.Err != nil {
			return r.Err
		}
		r.Value[0]++
		if err := tx.Write(keys[i].Collection, keys[i].Key, r.Value); err != nil {
			return err
		}
	}
	return nil
}

func (s settings) row(result *load.Result, seed int) row {
	all, n := result.Stats, result.Count()
	per := func(x int64) float64 { return float64(x) / float64(max(n, 1)) }
	r := row{
		Store: s.Bucket.String(), Keys: s.Keys, Clients: s.Clients, Parallel: s.Parallel,
		Seed: seed, Seconds: result.Time.Seconds(), Count: n, PerSecond: result.PerSecond(),
		Retries: per(all.Retries), Requests: per(all.Requests()),
		Gets: per(all.Gets), Unchanged: per(all.NotModified), Puts: per(all.Puts),
		Deletes: per(all.Deletes), Lists: per(all.Lists), Failed: result.Failed,
	}
	quantiles := func(kind int) (p10, p50, p90, p99 float64) {
		k := result.Kinds[kind]
		return k.Quantile(0.1), k.Quantile(0.5), k.Quantile(0.9), k.Quantile(0.99)
	}
	rate := func(kind int) float64 {
		return float64(result.Kinds[kind].Count) / result.Time.Seconds()
	}
	r.UpdateRate, r.ReadRate, r.WeakRate = rate(kindUpdate), rate(kindRead), rate(kindWeak)
	r.UpdateP10, r.UpdateP50, r.UpdateP90, r.UpdateP99 = quantiles(kindUpdate)
	r.ReadP10, r.ReadP50, r.ReadP90, r.ReadP99 = quantiles(kindRead)
	r.WeakP10, r.WeakP50, r.WeakP90, r.WeakP99 = quantiles(kindWeak)
	cost := map[string]float64{}
	for _, l := range price.Lists {
		paid := price.Requests{Gets: all.Gets, Puts: all.Puts, Lists: all.Lists}
		cost[l.Name] = l.PerMillion(paid, n)
	}
	r.CostGCS, r.CostS3, r.CostAzure = cost["gcs"], cost["s3"], cost["azure"]
	return r
}
