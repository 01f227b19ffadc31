package main

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/load"
)

// job is one transaction that knows its keys.
type job struct {
	kind int
	// update are the keys that it reads and writes, read those that it only reads.
	update, read []int
	// lock says that it locks those, view that it is a View.
	lock, view bool
	// body is how long its function takes.
	body time.Duration
}

// jobs makes a scenario's steps of its jobs.
func jobs(of func(s settings, preload *int) func(w *load.Worker) job) func(
	s settings, preload *int,
) load.Step {
	return func(s settings, preload *int) load.Step {
		next := of(s, preload)
		return func(ctx context.Context, w *load.Worker) (int, error) {
			j := next(w)
			return j.kind, j.run(ctx, w.DB)
		}
	}
}

// run reads the keys, in parallel, and writes those that it updates.
func (j job) run(ctx context.Context, db *strictkv.DB) error {
	c := bucket.Collection(db)
	var keys []strictkv.Key
	for _, n := range slices.Concat(j.update, j.read) {
		keys = append(keys, c.Key(bucket.Key(n)))
	}
	body := func(tx *strictkv.Tx) error {
		for i, r := range tx.ReadMulti(keys...) {
			if r.Err != nil {
				return r.Err
			}
			if i >= len(j.update) {
				continue
			}
			r.Value[0]++
			if err := tx.Write(c, keys[i].Key, r.Value); err != nil {
				return err
			}
		}
		if j.lock {
			for _, k := range keys[len(j.update):] {
				if err := tx.Lock(c, k.Key); err != nil {
					return err
				}
			}
		}
		time.Sleep(j.body)
		return nil
	}
	if j.view {
		return db.View(ctx, body)
	}
	return db.Tx(ctx, body)
}

// upTo are the numbers below n.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// some are n different numbers, each chosen by pick.
func some(n int, pick func() int) []int {
	var all []int
	for len(all) < n {
		if x := pick(); !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}

// update: shared keys are 0 to Keys-1; those of each worker follow.
func update(s settings, preload *int) func(w *load.Worker) job {
	*preload = s.Keys * (1 + s.Processes*s.Workers)
	return func(w *load.Worker) job {
		keys := upTo(s.Keys)
		for i := range keys {
			if w.Random.IntN(100) >= s.Overlap {
				keys[i] += s.Keys * (1 + w.ID)
			}
		}
		return job{update: keys, body: s.Body}
	}
}

func first(s settings, preload *int) func(w *load.Worker) job {
	*preload = s.Keys
	return func(w *load.Worker) job {
		if w.Process > 0 {
			return job{kind: 1, update: upTo(s.Keys)}
		}
		return job{update: upTo(s.Keys), body: s.Body}
	}
}

func ten(_ settings, preload *int) func(w *load.Worker) job {
	const tenKeys = 10
	*preload = tenKeys
	return func(w *load.Worker) job {
		if w.Process > 0 {
			return job{kind: 1, update: []int{w.ID % tenKeys}}
		}
		return job{update: upTo(tenKeys)}
	}
}

func common(_ settings, preload *int) func(w *load.Worker) job {
	const own = 5000
	*preload = 1 + own
	return func(w *load.Worker) job { return job{update: []int{0, 1 + w.Random.IntN(own)}} }
}

func zipf(_ settings, preload *int) func(w *load.Worker) job {
	const keys, skew, least, most = 10_000, 0.99, 3, 5
	*preload = keys
	sum, below := 0.0, make([]float64, keys) // of the weights up to each key
	for i := range below {
		sum += math.Pow(float64(i+1), -skew)
		below[i] = sum
	}
	return func(w *load.Worker) job {
		return job{update: some(least+w.Random.IntN(most-least+1), func() int {
			i, _ := slices.BinarySearch(below, w.Random.Float64()*sum)
			return i
		})}
	}
}

func view(s settings, preload *int) func(w *load.Worker) job {
	const keys, viewed, updated, writers = 200, 100, 2, 10
	*preload = keys
	return func(w *load.Worker) job {
		any := func() int { return w.Random.IntN(keys) }
		if w.Process >= s.Processes-writers {
			return job{kind: 1, update: some(updated, any)}
		}
		return job{read: some(viewed, any), view: true}
	}
}

func read3(s settings, preload *int) func(w *load.Worker) job {
	const keys, size = 20, 4
	*preload = keys
	return func(w *load.Worker) job {
		all := some(size, func() int { return w.Random.IntN(keys) })
		return job{update: all[:1], read: all[1:], lock: s.Lock}
	}
}

// cold: no handle sees a key twice.
func cold(_ settings, preload *int) func(w *load.Worker) job {
	const keys, size = 6000, 6
	*preload = keys
	return func(w *load.Worker) job {
		at := w.Done * size % keys
		return job{update: []int{at}, read: upTo(at + size)[at+1:]}
	}
}
