package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/internal/crew"
)

const (
	// checkPause is the time between two checks of the total while workers run.
	checkPause = 20 * time.Millisecond
	// grace is what a crash may delay a transaction by, beyond the patience.
	grace = 5 * time.Second
)

// bank starts workers, kills them, and checks their work.
type bank struct {
	place    crew.Place
	shift    crew.Shift
	workers  int
	accounts int
	out      io.Writer

	a       *accounts
	running []*crew.Process[report]
	// counts are the transfers of each worker when its process was started.
	counts []int64
	tally  tally
}

// tally is what has happened.
type tally struct {
	transfers int64
	kills     int
	// unsaid counts killed workers that had committed more than they had said.
	unsaid int
	// checks counts those of the total while workers ran.
	checks int
	// stats is what all workers have done, as far as they have said.
	stats strictkv.Stats
	// slowest is what the slowest write took after all.
	slowest time.Duration
}

// run lets workers run, until ctx ends if that is earlier; it is an error if anything is
// wrong then.
func (b *bank) run(interrupted context.Context) (err error) {
	ctx := context.WithoutCancel(interrupted)
	if b.accounts < 2 || b.workers < 1 {
		return errors.New("there must be 2 accounts and 1 worker at least")
	}
	db, err := b.place.Open(ctx, "bank")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	b.a = newAccounts(db.DB, b.accounts)
	if err := b.a.open(ctx); err != nil {
		return fmt.Errorf("open the accounts: %w", err)
	}
	if err := b.a.check(ctx); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%d workers transfer between %d accounts %v\n",
		b.workers, b.accounts, b.shift)
	start := time.Now()
	err = b.crew(ctx, interrupted.Done())
	b.tell(time.Since(start))
	if err != nil {
		return err
	}
	fmt.Fprintln(b.out, "the total is right, nothing acknowledged is lost, all objects are sound")
	return nil
}

// crew lets workers run for the time, or until stop, and checks what they leave.
func (b *bank) crew(ctx context.Context, stop <-chan struct{}) error {
	b.running = make([]*crew.Process[report], b.workers)
	b.counts = make([]int64, b.workers)
	before := int64(0)
	for i := range b.running {
		if err := b.start(ctx, i); err != nil {
			return errors.Join(err, b.finish(ctx))
		}
		before += b.counts[i]
	}
	err := errors.Join(b.watch(ctx, stop), b.finish(ctx))
	if err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, b.place.Patience+grace)
	defer cancel()
	if b.tally.slowest, err = b.a.touch(short); err != nil {
		return err
	}
	for i := range b.running {
		n, err := b.a.count(ctx, i)
		if err != nil {
			return err
		}
		b.tally.transfers += n
	}
	b.tally.transfers -= before
	return errors.Join(b.a.check(ctx), b.a.sound(ctx))
}

func (b *bank) start(ctx context.Context, i int) (err error) {
	if b.counts[i], err = b.a.count(ctx, i); err != nil {
		return err
	}
	b.running[i], err = crew.Start[report](fmt.Sprintf("worker %d", i),
		worker{ID: i, Place: b.place, Accounts: b.accounts})
	return err
}

// watch kills workers until the time is over, or stop, and checks the total meanwhile.
func (b *bank) watch(ctx context.Context, stop <-chan struct{}) error {
	watched, cancel := context.WithCancel(ctx)
	var auditor errgroup.Group
	auditor.Go(func() error { return b.audit(watched) })
	err := b.shift.Pass(stop, func() error { return b.replace(ctx, rand.IntN(b.workers)) })
	cancel()
	return errors.Join(err, auditor.Wait())
}

// audit checks the total again and again. A check is a long transaction among many short
// ones: it may have to be run many times until nobody comes between.
func (b *bank) audit(ctx context.Context) error {
	for {
		switch err := b.a.check(ctx); {
		case errors.Is(err, errViolation):
			return err
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		b.tally.checks++
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(checkPause):
		}
	}
}

// replace kills a worker, and starts another in its place.
func (b *bank) replace(ctx context.Context, i int) error {
	if err := b.running[i].Kill(); err != nil {
		return err
	}
	b.tally.kills++
	if err := b.settle(ctx, i); err != nil {
		return err
	}
	return b.start(ctx, i)
}

// settle compares what a worker has said with what it has done, once it has ended.
func (b *bank) settle(ctx context.Context, i int) error {
	r := b.running[i].Last()
	b.running[i] = nil
	b.tally.stats = sum(b.tally.stats, r.Stats)
	more, err := r.compare(ctx, b.a, i, b.counts[i])
	if more {
		b.tally.unsaid++
	}
	return err
}

// finish ends the workers that run.
func (b *bank) finish(ctx context.Context) error {
	var errs []error
	for i, p := range b.running {
		if p != nil {
			errs = append(errs, p.Finish(), b.settle(ctx, i))
		}
	}
	return errors.Join(errs...)
}

func (b *bank) tell(took time.Duration) {
	t, s := b.tally, b.tally.stats
	fmt.Fprintf(b.out, "transfers: %d in %v, %.0f per second\n",
		t.transfers, took.Round(time.Millisecond), float64(t.transfers)/took.Seconds())
	fmt.Fprintf(b.out, "retries:   %d on stale reads, %d writes refused, %d in doubt\n",
		s.StaleReads, s.Refused, s.InDoubt)
	fmt.Fprintf(b.out, "requests:  %d reads, %d writes\n", s.Gets, s.Puts)
	fmt.Fprintf(b.out, "killed:    %d, of whom %d had committed without having said so\n",
		t.kills, t.unsaid)
	fmt.Fprintf(b.out, "checks:    %d of the total; afterwards the slowest write took %v\n",
		t.checks, t.slowest.Round(time.Millisecond))
}
