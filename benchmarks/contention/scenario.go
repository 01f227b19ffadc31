package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

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

var scenarios = []scenario{
	{"update", "each worker updates -keys keys, shared or its own by -overlap",
		[]string{"update"}, jobs(update)},
	{"ten", "one process updates 10 keys, the others one of them each",
		[]string{"update of 10 keys", "direct write"}, jobs(ten)},
	{"insert", "each worker makes new keys", []string{"insert"}, insert},
	{"read", "the first process reads, of the -keys that the others update",
		[]string{"strong read", "update"}, read},
	{"first", "all update; the first process is slow, by -far and -body",
		[]string{"update of the first", "update"}, jobs(first)},
	{"common", "each updates one key that all share, and one of 5000",
		[]string{"update"}, jobs(common)},
	{"zipf", "each updates 3 to 5 of 10 000 keys, some of them hot",
		[]string{"update"}, jobs(zipf)},
	{"view", "the last 10 update 2 of 200 keys, the others view 100",
		[]string{"view", "update"}, jobs(view)},
	{"claim", "each takes the first job that a scan finds", []string{"claim"}, claim},
	{"queue", "half put into a queue with head and tail, half get",
		[]string{"get", "put"}, queue},
	{"read3", "each reads 3 of 20 keys and updates one, with Lock by -lock",
		[]string{"update"}, jobs(read3)},
	{"cold", "each reads 5 unseen keys, and updates a sixth",
		[]string{"update"}, jobs(cold)},
}

func scenarioOf(name string) (scenario, error) {
	for _, s := range scenarios {
		if s.name == name {
			return s, nil
		}
	}
	return scenario{}, fmt.Errorf("no scenario %q", name)
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
	keys := upTo(s.Keys)
	return func(ctx context.Context, w *load.Worker) (int, error) {
		if w.Process == 0 {
			_, err := bucket.Collection(w.DB).Read(ctx, bucket.Key(w.Done%s.Keys))
			return 0, err
		}
		return 1, job{update: keys}.run(ctx, w.DB)
	}
}

// jobMax is how many jobs there are to claim: more than anybody can.
const jobMax = 5000

// claim takes a job as many do who have no better queue: it looks for the first, and moves it
// elsewhere.
func claim(_ settings, preload *int) load.Step {
	*preload = jobMax
	return func(ctx context.Context, w *load.Worker) (int, error) {
		todo, done := bucket.Collection(w.DB), w.DB.Collection([]byte("claimed"))
		return 0, w.DB.Tx(ctx, func(tx *strictkv.Tx) error {
			for item, err := range tx.Scan(todo, strictkv.Range{Limit: 1}) {
				if err != nil {
					return err
				}
				if err := tx.Delete(todo, item.Key); err != nil {
					return err
				}
				return tx.Insert(done, item.Key, item.Value)
			}
			return nil
		})
	}
}

// queue: two keys count what was put and what was got. Who finds nothing tries again later.
func queue(s settings, _ *int) load.Step {
	const pause = 100 * time.Millisecond
	head, tail := []byte("head"), []byte("tail")
	count := func(tx *strictkv.Tx, c *strictkv.Collection, key []byte) (n int, err error) {
		v, err := tx.Read(c, key)
		switch {
		case errors.Is(err, strictkv.ErrNotFound):
			return 0, nil
		case err != nil:
			return 0, err
		}
		return strconv.Atoi(string(v))
	}
	put := func(tx *strictkv.Tx, c *strictkv.Collection) error {
		n, err := count(tx, c, tail)
		if err != nil {
			return err
		}
		return errors.Join(tx.Insert(c, bucket.Key(n), make([]byte, valueSize)),
			tx.Write(c, tail, []byte(strconv.Itoa(n+1))))
	}
	get := func(tx *strictkv.Tx, c *strictkv.Collection) (empty bool, err error) {
		n, err := count(tx, c, head)
		if err != nil {
			return false, err
		}
		if end, err := count(tx, c, tail); err != nil || n >= end {
			return true, err
		}
		if _, err := tx.Read(c, bucket.Key(n)); err != nil {
			return false, err
		}
		return false, errors.Join(tx.Delete(c, bucket.Key(n)),
			tx.Write(c, head, []byte(strconv.Itoa(n+1))))
	}
	return func(ctx context.Context, w *load.Worker) (int, error) {
		c := bucket.Collection(w.DB)
		if w.Process >= s.Processes/2 {
			return 1, w.DB.Tx(ctx, func(tx *strictkv.Tx) error { return put(tx, c) })
		}
		for ctx.Err() == nil {
			empty := false
			err := w.DB.Tx(ctx, func(tx *strictkv.Tx) (err error) {
				empty, err = get(tx, c)
				return err
			})
			if err != nil || !empty {
				return 0, err
			}
			time.Sleep(pause)
		}
		return 0, ctx.Err()
	}
}
