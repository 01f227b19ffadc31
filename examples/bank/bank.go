package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
)

const (
	// killPauseMax bounds the random time between two kills.
	killPauseMax = 120 * time.Millisecond
	// checkPause is the time between two checks of the total while workers run.
	checkPause = 20 * time.Millisecond
	// grace is what a crash may delay a transaction by, beyond the patience.
	grace = 5 * time.Second
)

// bank starts workers, kills them, and checks their work.
type bank struct {
	place   place
	workers int
	time    time.Duration
	kill    bool
	kills   int
	out     io.Writer

	a       *accounts
	running []*process
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
	if b.place.Accounts < 2 || b.workers < 1 {
		return errors.New("there must be 2 accounts and 1 worker at least")
	}
	if strings.HasPrefix(b.place.Bucket, "mem:") {
		return errors.New("workers are processes, which share no memory: want another bucket")
	}
	db, err := b.place.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	b.a = newAccounts(db.DB, b.place.Accounts)
	if err := b.a.open(ctx); err != nil {
		return fmt.Errorf("open the accounts: %w", err)
	}
	if err := b.a.check(ctx); err != nil {
		return err
	}
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
	b.running, b.counts = make([]*process, b.workers), make([]int64, b.workers)
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
	b.running[i], err = start(worker{ID: i, Place: b.place})
	return err
}

// watch kills workers until the time is over, or stop, and checks the total meanwhile.
func (b *bank) watch(ctx context.Context, stop <-chan struct{}) error {
	watched, cancel := context.WithCancel(ctx)
	checked := make(chan error, 1)
	go func() { checked <- b.audit(watched) }()
	err := b.disturb(ctx, stop)
	cancel()
	return errors.Join(err, <-checked)
}

// disturb kills workers, if that is asked for, until the time is over, or stop.
func (b *bank) disturb(ctx context.Context, stop <-chan struct{}) error {
	var over <-chan time.Time
	if b.kills == 0 {
		over = time.After(b.time)
	}
	for b.kills == 0 || b.tally.kills < b.kills {
		var next <-chan time.Time
		if b.kill || b.kills > 0 {
			next = time.After(rand.N(killPauseMax))
		}
		select {
		case <-stop:
			return nil
		case <-over:
			return nil
		case <-next:
		}
		if err := b.replace(ctx, rand.IntN(b.workers)); err != nil {
			return err
		}
	}
	return nil
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
	if err := b.running[i].kill(); err != nil {
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
	p := b.running[i]
	b.running[i] = nil
	b.tally.stats = sum(b.tally.stats, p.report().Stats)
	more, err := p.compare(ctx, b.a, b.counts[i])
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
			errs = append(errs, p.finish(), b.settle(ctx, i))
		}
	}
	return errors.Join(errs...)
}

func (b *bank) tell(took time.Duration) {
	t, s := b.tally, b.tally.stats
	fmt.Fprintf(b.out, "%d transfers by %d workers in %v: %.0f per second\n",
		t.transfers, b.workers, took.Round(time.Millisecond), float64(t.transfers)/took.Seconds())
	fmt.Fprintf(b.out, "retries: %d runs on stale reads, %d writes refused, %d in doubt\n",
		s.StaleReads, s.Refused, s.InDoubt)
	fmt.Fprintf(b.out, "requests: %d reads, %d writes\n", s.Gets, s.Puts)
	fmt.Fprintf(b.out, "killed: %d, of which %d had committed a transfer without having said so\n",
		t.kills, t.unsaid)
	fmt.Fprintf(b.out, "checks of the total: %d; afterwards the slowest write took %v\n",
		t.checks, t.slowest.Round(time.Millisecond))
}
