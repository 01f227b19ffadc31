// Package raw measures what a store does without this library: the limit that every other
// figure can be compared with.
package raw

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv/backend"
)

// Sizes are those of the objects, in bytes.
var Sizes = []int{1 << 10, 100 << 10, 1 << 20}

// Row is one kind of request with objects of one size. Latencies are in ms.
type Row struct {
	Store     string  `json:"store" show:"title"`
	Request   string  `json:"request"`
	Bytes     int     `json:"bytes"`
	Count     int     `json:"count"`
	Mean      float64 `json:"mean_ms" short:"mean"`
	Deviation float64 `json:"sd_ms" short:"sd"`
	Median    float64 `json:"median_ms" short:"p50"`
	P90       float64 `json:"p90_ms" short:"p90"`
}

// The kinds of requests. An Unchanged is a read of an object whose version is known, so that
// the store answers without its data, as to a request for metadata.
const (
	Get       = "download"
	Unchanged = "not modified"
	Put       = "upload"
)

// Store is where the requests go.
type Store struct {
	// Backend is asked, for objects below Prefix; those it has made it removes.
	Backend backend.Backend
	Prefix  string
}

// object is one that was made.
type object struct {
	name    string
	version backend.Version
}

// Latency sends n requests of each kind for objects of a size, one after another: uploads of
// new objects, and downloads of each.
func (s Store) Latency(ctx context.Context, size, n int) (rows []Row, err error) {
	objects := make([]object, n)
	defer func() { err = errors.Join(err, s.remove(ctx, objects)) }()
	kinds := []struct {
		name string
		call func(o *object, i int) error
	}{
		{Put, func(o *object, i int) error {
			o.name = fmt.Sprintf("%s/%d-%d", s.Prefix, size, i)
			at, err := s.Backend.Put(ctx, o.name, make([]byte, size), backend.IfAbsent())
			o.version = at.Version
			return err
		}},
		{Get, func(o *object, _ int) error {
			_, err := s.Backend.Get(ctx, o.name, "")
			return err
		}},
		{Unchanged, func(o *object, _ int) error { return s.unchanged(ctx, *o) }},
	}
	for _, k := range kinds {
		var all []float64
		for i := range objects {
			began := time.Now()
			if err := k.call(&objects[i], i); err != nil {
				return rows, fmt.Errorf("%s %d bytes: %w", k.name, size, err)
			}
			all = append(all, float64(time.Since(began).Microseconds())/1000)
		}
		rows = append(rows, summary(k.name, size, all))
	}
	return rows, nil
}

func (s Store) unchanged(ctx context.Context, o object) error {
	if _, err := s.Backend.Get(ctx, o.name, o.version); !errors.Is(err, backend.ErrNotModified) {
		return fmt.Errorf("want %w, not: %w", backend.ErrNotModified, err)
	}
	return nil
}

func (s Store) remove(ctx context.Context, objects []object) (failed error) {
	for _, o := range objects {
		if o.version != "" {
			failed = errors.Join(failed, s.Backend.Delete(ctx, o.name, o.version))
		}
	}
	return failed
}

// summary makes the row of some latencies in ms.
func summary(request string, size int, all []float64) Row {
	sum, squares := 0.0, 0.0
	for _, x := range all {
		sum += x
	}
	mean := sum / float64(len(all))
	for _, x := range all {
		squares += (x - mean) * (x - mean)
	}
	slices.Sort(all)
	return Row{
		Request: request, Bytes: size, Count: len(all), Mean: mean,
		Deviation: math.Sqrt(squares / float64(len(all))),
		Median:    all[len(all)/2], P90: all[len(all)*9/10],
	}
}

// Mix are shares of requests, of any sum.
type Mix struct{ Gets, Unchanged, Puts float64 }

// Rate is how many requests per second the store answers to some workers that send them in
// the shares of the mix, each on an object of its own of a size, for a time.
func (s Store) Rate(
	ctx context.Context, m Mix, workers, size int, d time.Duration,
) (perSecond float64, err error) {
	objects := make([]object, workers)
	defer func() { err = errors.Join(err, s.remove(ctx, objects)) }()
	var count atomic.Int64
	each := func(f func(i int) error) error {
		var group errgroup.Group
		for i := range workers {
			group.Go(func() error { return f(i) })
		}
		return group.Wait()
	}
	err = each(func(i int) error {
		objects[i].name = fmt.Sprintf("%s/rate-%d", s.Prefix, i)
		at, err := s.Backend.Put(ctx, objects[i].name, make([]byte, size), backend.IfAbsent())
		objects[i].version = at.Version
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("rate: make objects: %w", err)
	}
	began := time.Now()
	err = each(func(i int) error {
		for turn := 0; time.Since(began) < d; turn++ {
			if err := s.request(ctx, m.pick(i, turn), &objects[i], size); err != nil {
				return fmt.Errorf("rate: %w", err)
			}
			count.Add(1)
		}
		return nil
	})
	return float64(count.Load()) / time.Since(began).Seconds(), err
}

// pick chooses the kind of the next request, so that in each run of 100 turns of a worker
// each kind has its share.
func (m Mix) pick(worker, turn int) string {
	const stride = 61 // has no factor in common with 100, so that kinds alternate
	x := float64((worker+turn*stride)%100) / 100 * (m.Gets + m.Unchanged + m.Puts)
	switch {
	case x < m.Puts:
		return Put
	case x < m.Puts+m.Unchanged:
		return Unchanged
	}
	return Get
}

func (s Store) request(ctx context.Context, kind string, o *object, size int) error {
	switch kind {
	case Put:
		data := make([]byte, size)
		at, err := s.Backend.Put(ctx, o.name, data, backend.IfVersion(o.version))
		if err == nil {
			o.version = at.Version
		}
		return err
	case Unchanged:
		return s.unchanged(ctx, *o)
	}
	_, err := s.Backend.Get(ctx, o.name, "")
	return err
}
