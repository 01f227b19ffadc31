package main

import (
	"context"
	"encoding/binary"
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
)

const (
	// valueSize is that of all values, in bytes: the first eight number the write.
	valueSize = 100
	// workers are those of each writer.
	workers = 32
	// restMax is how long followers may take for what was written last.
	restMax = 30 * time.Second
)

// settings are one measurement.
type settings struct {
	Bucket                   bucket.Options
	Keys, Writers, Followers int
	Rate                     float64
	Feed                     bool
	Every, Warm, Time        time.Duration
}

// row is what came of it.
type row struct {
	Store     string  `json:"store" show:"title"`
	Keys      int     `json:"keys"`
	Writers   int     `json:"writers" short:"wr"`
	Followers int     `json:"followers" short:"fol"`
	Feed      string  `json:"feed"`
	Every     float64 `json:"every_s" short:"ev"`
	Seed      int     `json:"seed"`
	PerSecond float64 `json:"writes_per_s" short:"wr/s"`
	P50       float64 `json:"lag_p50_ms" short:"p50"`
	P99       float64 `json:"lag_p99_ms" short:"p99"`
	Max       float64 `json:"lag_max_ms" short:"max"`
	Lists     float64 `json:"lists_per_s_and_follower" short:"list"`
	Gets      float64 `json:"gets_per_s_and_follower" short:"get"`
	Hints     float64 `json:"hints_per_s_and_writer" short:"put"`
	Removed   float64 `json:"deletes_per_s_and_writer" short:"del"`
	Failed    int64   `json:"failed" show:"nonzero"`
}

// measure runs writers and followers once.
func measure(t *testing.T, s settings, seed int, out io.Writer) (r row, err error) {
	began := time.Now()
	err = s.Bucket.Run(t, func(ctx context.Context) (err error) {
		r, err = s.run(ctx, seed)
		return err
	})
	if err != nil {
		return r, fmt.Errorf("measure followers of %d writers: %w", s.Writers, err)
	}
	fmt.Fprintf(out, "%s, feed %s, every %v, seed %d: p99 %.0f ms (took %.1f s)\n", s.Bucket,
		r.Feed, s.Every, seed, r.P99, time.Since(began).Seconds())
	return r, nil
}

// bench is one run. What its goroutines share is guarded by mu.
type bench struct {
	settings
	writers, followers []*strictkv.DB
	next               []time.Time // when a worker writes next

	mu     sync.Mutex          // guards all below
	ended  map[int64]time.Time // when a write that counts has returned
	lags   []float64           // in ms
	number int64
	opened bool
	begun  sync.WaitGroup // followers that have not been through everything once
}

func (s settings) run(ctx context.Context, seed int) (r row, err error) {
	b, err := bucket.Open(ctx, s.Bucket)
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	if err := b.Preload(ctx, s.Keys, make([]byte, valueSize)); err != nil {
		return row{}, err
	}
	x := bench{settings: s, ended: map[int64]time.Time{}}
	x.next = make([]time.Time, s.Writers*workers)
	if err := x.open(ctx, b); err != nil {
		return row{}, err
	}
	within, stop := context.WithCancel(ctx)
	defer stop()
	var group errgroup.Group
	x.begun.Add(s.Followers)
	for _, db := range x.followers {
		group.Go(func() error { return x.follow(within, db) })
	}
	x.begun.Wait()
	result, before, after, err := x.load(ctx, seed)
	if err == nil {
		x.rest()
	}
	stop()
	if err := errors.Join(err, group.Wait()); err != nil {
		return row{}, err
	}
	return x.row(result, after.sub(before), seed), nil
}

// open opens the handles.
func (b *bench) open(ctx context.Context, from *bucket.Bucket) error {
	for i := range b.Writers + b.Followers {
		var opts []strictkv.Option
		if b.Feed {
			opts = append(opts, strictkv.WithFeed(strictkv.FeedOptions{}))
		}
		db, err := from.Handle(ctx, opts...)
		if err != nil {
			return err
		}
		if i < b.Writers {
			b.writers = append(b.writers, db)
		} else {
			b.followers = append(b.followers, db)
		}
	}
	return nil
}

// load has the writers write, and counts requests while that counts.
func (b *bench) load(
	ctx context.Context, seed int,
) (r *load.Result, before, after sums, err error) {
	start := time.AfterFunc(b.Warm, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.opened, before = true, b.sums()
	})
	defer start.Stop()
	end := time.AfterFunc(b.Warm+b.Time, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.opened, after = false, b.sums()
	})
	defer end.Stop()
	r, err = load.Run(ctx, load.Options{
		Handles: b.writers, Workers: workers, Warm: b.Warm, Measure: b.Time, Seed: uint64(seed),
	}, []string{"write"}, b.step)
	b.mu.Lock()
	defer b.mu.Unlock()
	return r, before, after, err
}

// step is a worker's next write.
func (b *bench) step(ctx context.Context, w *load.Worker) (kind int, err error) {
	if b.next[w.ID].IsZero() {
		b.next[w.ID] = time.Now()
	}
	mean := float64(len(b.next)) / b.Rate * float64(time.Second)
	b.next[w.ID] = b.next[w.ID].Add(time.Duration(w.Random.ExpFloat64() * mean))
	time.Sleep(time.Until(b.next[w.ID]))
	b.mu.Lock()
	b.number++
	number := b.number
	b.mu.Unlock()
	value := binary.LittleEndian.AppendUint64(make([]byte, 0, valueSize), uint64(number))
	key := bucket.Key(w.Random.IntN(b.Keys))
	err = bucket.Collection(w.DB).Write(ctx, key, value[:valueSize])
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && b.opened {
		b.ended[number] = time.Now()
	}
	return 0, err
}

// follow is a follower's life.
func (b *bench) follow(ctx context.Context, db *strictkv.DB) error {
	begun := false
	c := bucket.Collection(db)
	for change, err := range c.Follow(ctx, strictkv.Position{}, strictkv.FollowEvery(b.Every)) {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case change.Pass != nil && !begun:
			begun = true
			b.begun.Done()
		case change.Pass == nil && begun:
			b.saw(int64(binary.LittleEndian.Uint64(change.Value)))
		}
	}
	return nil
}

// saw takes note of a write that a follower has seen. One that has not returned yet does not count.
func (b *bench) saw(number int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at, ok := b.ended[number]; ok {
		b.lags = append(b.lags, float64(time.Since(at))/float64(time.Millisecond))
	}
}

// rest waits until followers have seen what was written last.
func (b *bench) rest() { time.Sleep(min(5*b.Every+b.Time, restMax)) }

// sums are requests of followers, and those of writers for the feed.
type sums struct{ lists, gets, hints, removed int64 }

func (s sums) sub(o sums) sums {
	return sums{s.lists - o.lists, s.gets - o.gets, s.hints - o.hints, s.removed - o.removed}
}

func (b *bench) sums() (s sums) {
	for _, db := range b.followers {
		x := db.Stats()
		s.lists += x.Lists
		s.gets += x.Gets
	}
	for _, db := range b.writers {
		x := db.Stats()
		s.hints += x.FeedWritten
		s.removed += x.Deletes
	}
	return s
}

func (b *bench) row(result *load.Result, s sums, seed int) row {
	slices.Sort(b.lags)
	lag := func(q float64) float64 {
		if len(b.lags) == 0 {
			return 0
		}
		return b.lags[int(q*float64(len(b.lags)-1))]
	}
	each := func(n int64, of int) float64 {
		return float64(n) / result.Time.Seconds() / float64(of)
	}
	return row{
		Store: b.Bucket.String(), Keys: b.Keys, Writers: b.Writers, Followers: b.Followers,
		Feed: map[bool]string{true: "yes", false: "no"}[b.Feed], Every: b.Every.Seconds(),
		Seed: seed, PerSecond: result.PerSecond(), P50: lag(0.5), P99: lag(0.99), Max: lag(1),
		Lists: each(s.lists, b.Followers), Gets: each(s.gets, b.Followers),
		Hints: each(s.hints, b.Writers), Removed: each(s.removed, b.Writers),
		Failed: result.Failed,
	}
}
