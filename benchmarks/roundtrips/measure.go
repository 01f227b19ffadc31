package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
)

const (
	staleness = 10 * time.Second
	// rest is the time in which everything comes to rest before and after a transaction. It
	// is shorter than staleness, so that what is warm is fresh enough for a weak read.
	rest = 3 * time.Second
	// unit is what each request takes where rounds are counted.
	unit = 50 * time.Millisecond
)

// value is that of all keys.
var value = make([]byte, 100)

// row is one kind of transaction in one state. Requests are those of one transaction; Later
// are writes after it has returned.
type row struct {
	Kind      string  `json:"transaction" show:"title"`
	State     string  `json:"state"`
	Rounds    float64 `json:"rounds"`
	Gets      float64 `json:"gets" column:"reads"`
	Unchanged float64 `json:"not_modified" column:"not modified" short:"unchanged"`
	Puts      float64 `json:"puts" column:"writes"`
	Later     float64 `json:"later" column:"later"`
	Mean      float64 `json:"mean_ms" column:"ms, mean" short:"mean"`
	P50       float64 `json:"p50_ms" column:"median" short:"p50"`
	P90       float64 `json:"p90_ms" column:"p90"`
}

// measure counts rounds and requests where each request takes the same time, and measures
// milliseconds with the latencies of the options.
func measure(t *testing.T, o bucket.Options, k kind, s state, runs int) (row, error) {
	var r row
	err := o.Run(t, func(ctx context.Context) (err error) {
		even := o
		even.Constant = unit
		if r, err = repeat(ctx, even, k, s, 1); err != nil {
			return err
		}
		spread, err := repeat(ctx, o, k, s, runs)
		r.Mean, r.P50, r.P90 = spread.Mean, spread.P50, spread.P90
		return err
	})
	if err != nil {
		return row{}, fmt.Errorf("measure %s, %s: %w", k.name, s, err)
	}
	r.Rounds /= float64(unit.Milliseconds())
	return r, nil
}

// scene is a handle that is measured, and another one.
type scene struct {
	db, other *strictkv.DB
}

// repeat runs the transaction some times, each on keys of its own. Rounds are the mean, in ms.
func repeat(
	ctx context.Context, o bucket.Options, k kind, s state, runs int,
) (r row, err error) {
	b, err := bucket.Open(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	if !k.absent {
		if err := b.Preload(ctx, runs*k.keys, value); err != nil {
			return r, err
		}
	}
	other, err := b.Handle(ctx)
	if err != nil {
		return r, err
	}
	r = row{Kind: k.name, State: string(s)}
	var took []float64
	for i := range runs {
		db, err := b.Handle(ctx) // one that has not learnt yet how fast others change the keys
		if err != nil {
			return r, err
		}
		ms, err := scene{db, other}.once(ctx, k, s, keysOf(i, k.keys), &r)
		if err != nil {
			return r, err
		}
		took = append(took, ms)
		r.Mean += ms / float64(runs)
	}
	slices.Sort(took)
	r.P50, r.P90, r.Rounds = took[runs/2], took[runs*9/10], r.Mean
	return r, nil
}

// once brings the handle into the state, runs the transaction, and adds its requests to r. It
// returns how many milliseconds it took.
func (sc scene) once(
	ctx context.Context, k kind, s state, keys [][]byte, r *row,
) (ms float64, err error) {
	c := bucket.Collection(sc.db)
	if s != cold {
		if err := view(ctx, c, sc.db, keys); err != nil {
			return 0, err
		}
	}
	if s == stale {
		if err := write(ctx, bucket.Collection(sc.other), sc.other, keys); err != nil {
			return 0, err
		}
	}
	time.Sleep(rest)
	if s == backToBack {
		if err := k.run(ctx, c, sc.db, keys); err != nil {
			return 0, err
		}
	}
	before, began := sc.db.Stats(), time.Now()
	if err := k.run(ctx, c, sc.db, keys); err != nil {
		return 0, err
	}
	ms = float64(time.Since(began)) / float64(time.Millisecond)
	done := sc.db.Stats()
	time.Sleep(rest)
	now, later := done.Sub(before), sc.db.Stats().Sub(done)
	r.Gets += float64(now.Gets)
	r.Unchanged += float64(now.NotModified)
	r.Puts += float64(now.Puts)
	r.Later += float64(later.Puts)
	return ms, nil
}
