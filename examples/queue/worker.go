package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/internal/crew"
	"github.com/strictkv/strictkv/layers/queue"
)

const (
	// lease is how long a killed consumer's job waits.
	lease = 2 * time.Second
	// enqueuePause is the time between two jobs of a producer.
	enqueuePause = 10 * time.Millisecond
	poll         = 50 * time.Millisecond
)

// worker is a process that enqueues jobs, or works on them. It reports how many.
type worker struct {
	Consumes bool
	Place    crew.Place
}

// Run enqueues, or works, until stop.
func (w worker) Run(ctx context.Context, stop <-chan struct{}, tell crew.Report) error {
	db, err := w.Place.Open(ctx, "queue")
	if err != nil {
		return err
	}
	q, err := jobs(db.DB)
	if err == nil && w.Consumes {
		err = work(ctx, db.DB, q, stop, tell)
	} else if err == nil {
		err = produce(ctx, q, stop, tell)
	}
	return errors.Join(err, db.Close(ctx))
}

// jobs is the queue.
func jobs(db *strictkv.DB) (*queue.Queue, error) {
	return queue.New(db, db.Collection([]byte("jobs")), queue.Options{
		Lease: lease, Poll: poll, Attempts: 1000, // however often its consumers are killed
	})
}

// results is where the work on a job leaves its result.
func results(db *strictkv.DB) *strictkv.Collection { return db.Collection([]byte("results")) }

func produce(ctx context.Context, q *queue.Queue, stop <-chan struct{}, tell crew.Report) error {
	for n := 1; !crew.Over(stop); n++ {
		if _, err := q.Enqueue(ctx, fmt.Append(nil, n)); err != nil {
			return err
		}
		if err := tell(n); err != nil {
			return err
		}
		time.Sleep(enqueuePause)
	}
	return nil
}

// work squares numbers. The result is written in the transaction that completes the job: so
// there is one, whatever happens, and Insert would notice a second.
func work(
	ctx context.Context, db *strictkv.DB, q *queue.Queue, stop <-chan struct{}, tell crew.Report,
) error {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-working.Done():
		}
	}()
	done := 0
	err := q.Work(working, func(ctx context.Context, j *queue.Job) error {
		var n int
		if _, err := fmt.Sscan(string(j.Payload), &n); err != nil {
			return err
		}
		err := db.Tx(ctx, func(tx *strictkv.Tx) error {
			if err := j.CompleteTx(tx); err != nil {
				return err
			}
			return tx.Insert(results(db), []byte(j.ID), fmt.Append(nil, n*n))
		})
		if err != nil {
			return err
		}
		done++
		return tell(done)
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
