package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/load"
)

// valueSize is that of all values, in bytes.
const valueSize = 100

// scenario is a way to contend.
type scenario struct {
	name, help string
	// kinds are the kinds of its transactions; the first is the one that counts.
	kinds []string
	// step makes the workers' transactions; keys that exist beforehand are preload.
	step func(s settings, preload *int) load.Step
}

// tenKeys is the size of the transaction that eight direct writers disturb.
const tenKeys = 10

var scenarios = []scenario{
	{"update", "each worker updates -keys keys, shared or its own by -overlap",
		[]string{"update"}, update},
	{"ten", "one process updates 10 keys, the others one of them each",
		[]string{"update of 10 keys", "direct write"}, ten},
	{"insert", "each worker makes new keys", []string{"insert"}, insert},
	{"read", "the first process reads, of the -keys that the others update",
		[]string{"strong read", "update"}, read},
}

func scenarioOf(name string) (scenario, error) {
	for _, s := range scenarios {
		if s.name == name {
			return s, nil
		}
	}
	return scenario{}, fmt.Errorf("no scenario %q", name)
}

// update: shared keys are 0 to Keys-1; those of each worker follow.
func update(s settings, preload *int) load.Step {
	*preload = s.Keys * (1 + s.Processes*s.Workers)
	return func(ctx context.Context, w *load.Worker) (int, error) {
		keys := make([]int, s.Keys)
		for i := range keys {
			keys[i] = i
			if w.Random.IntN(100) >= s.Overlap {
				keys[i] += s.Keys * (1 + w.ID)
			}
		}
		return 0, updateKeys(ctx, w.DB, keys...)
	}
}

func ten(_ settings, preload *int) load.Step {
	*preload = tenKeys
	all := make([]int, tenKeys)
	for i := range all {
		all[i] = i
	}
	return func(ctx context.Context, w *load.Worker) (int, error) {
		if w.Process == 0 {
			return 0, updateKeys(ctx, w.DB, all...)
		}
		return 1, updateKeys(ctx, w.DB, w.ID%tenKeys)
	}
}

func insert(_ settings, _ *int) load.Step {
	next := atomic.Int64{}
	value := make([]byte, valueSize)
	return func(ctx context.Context, w *load.Worker) (int, error) {
		return 0, bucket.Collection(w.DB).Insert(ctx, bucket.Key(int(next.Add(1))), value)
	}
}

func read(s settings, preload *int) load.Step {
	*preload = s.Keys
	keys := make([]int, s.Keys)
	for i := range keys {
		keys[i] = i
	}
	return func(ctx context.Context, w *load.Worker) (int, error) {
		if w.Process == 0 {
			_, err := bucket.Collection(w.DB).Read(ctx, bucket.Key(w.Done%s.Keys))
			return 0, err
		}
		return 1, updateKeys(ctx, w.DB, keys...)
	}
}

// updateKeys reads keys, in parallel, and writes them.
func updateKeys(ctx context.Context, db *strictkv.DB, numbers ...int) error {
	c := bucket.Collection(db)
	keys := make([]strictkv.Key, len(numbers))
	for i, n := range numbers {
		keys[i] = c.Key(bucket.Key(n))
	}
	return db.Tx(ctx, func(tx *strictkv.Tx) error {
		for i, r := range tx.ReadMulti(keys...) {
			if r.Err != nil {
				return r.Err
			}
			r.Value[0]++
			if err := tx.Write(c, keys[i].Key, r.Value); err != nil {
				return err
			}
		}
		return nil
	})
}
