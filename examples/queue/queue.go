package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/internal/crew"
)

const (
	// drainPause is the time between two looks whether the queue is empty, and drainMax how
	// long that may take after the last job was enqueued.
	drainPause = 100 * time.Millisecond
	drainMax   = 2 * time.Minute
)

// run starts processes, kills them, and checks their work.
type run struct {
	place                crew.Place
	shift                crew.Shift
	producers, consumers int
	out                  io.Writer

	running []*crew.Process[int] // producers first
	// said is how many jobs producers have enqueued, as they have reported.
	said, kills int
}

func (r *run) run(interrupted context.Context) (err error) {
	ctx := context.WithoutCancel(interrupted)
	if r.producers < 1 || r.consumers < 1 {
		return errors.New("there must be a producer and a consumer at least")
	}
	db, err := r.place.Open(ctx, "queue")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	before, err := r.count(ctx, db.DB)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%d producers and %d consumers work %v\n", r.producers, r.consumers, r.shift)
	r.running = make([]*crew.Process[int], r.producers+r.consumers)
	for i := range r.running {
		err = errors.Join(err, r.start(i))
	}
	if err == nil {
		err = r.shift.Pass(interrupted.Done(), r.replace)
	}
	err = errors.Join(err, r.finish(0, r.producers))
	if err == nil {
		err = r.drain(ctx, db.DB)
	}
	if err = errors.Join(err, r.finish(r.producers, len(r.running))); err != nil {
		return err
	}
	after, err := r.count(ctx, db.DB)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "enqueued:  %d that producers have told of\n", r.said)
	fmt.Fprintf(r.out, "done:      %d, each once\n", after-before)
	fmt.Fprintf(r.out, "killed:    %d processes\n", r.kills)
	if after-before < r.said || after-before > r.said+r.kills {
		return fmt.Errorf("VIOLATION: %d jobs were done, not %d (and %d at most that killed "+
			"producers have not told of)", after-before, r.said, r.kills)
	}
	return nil
}

// count is how many results there are. What a day before has left in the queue is none yet.
func (r *run) count(ctx context.Context, db *strictkv.DB) (n int, err error) {
	for _, err := range results(db).Items(ctx, strictkv.Range{KeysOnly: true}) {
		if err != nil {
			return 0, err
		}
		n++
	}
	q, err := jobs(db)
	if err != nil {
		return 0, err
	}
	left, err := q.Len(ctx)
	return n + int(left), err
}

func (r *run) start(i int) (err error) {
	w := worker{Consumes: i >= r.producers, Place: r.place}
	r.running[i], err = crew.Start[int](fmt.Sprintf("process %d", i), w)
	return err
}

// replace kills a process, and starts another in its place.
func (r *run) replace() error {
	i := rand.IntN(len(r.running))
	p := r.running[i]
	if err := p.Kill(); err != nil {
		return err
	}
	r.kills++
	r.tally(i, p)
	return r.start(i)
}

// tally notes what a process has said that has ended.
func (r *run) tally(i int, p *crew.Process[int]) {
	if i < r.producers {
		r.said += p.Last()
	}
	r.running[i] = nil
}

// finish ends some of the processes that run.
func (r *run) finish(from, to int) error {
	var errs []error
	for i := from; i < to; i++ {
		if p := r.running[i]; p != nil {
			errs = append(errs, p.Finish())
			r.tally(i, p)
		}
	}
	return errors.Join(errs...)
}

// drain waits until all jobs are done.
func (r *run) drain(ctx context.Context, db *strictkv.DB) error {
	q, err := jobs(db)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(drainMax); ; time.Sleep(drainPause) {
		n, err := q.Len(ctx)
		if err != nil || n == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("VIOLATION: %d jobs are not done after %v", n, drainMax)
		}
	}
}
