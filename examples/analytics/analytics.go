package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/internal/crew"
	"github.com/strictkv/strictkv/layers/snapshot"
)

// analytics starts workers, kills them, and checks their work.
type analytics struct {
	place                 crew.Place
	shift                 crew.Shift
	ingesters, compactors int
	out                   io.Writer

	e       *events
	names   []string // of those that run: the ingesters, then the compactors
	running []*crew.Process[sum]
	// acked are the sums that ingesters which have ended had been acknowledged.
	acked map[string]sum
	// killed counts ingesters and compactors.
	killed [2]int
}

// run lets workers run, until ctx ends if that is earlier; it is an error if anything is
// wrong then.
func (a *analytics) run(interrupted context.Context) (err error) {
	ctx := context.WithoutCancel(interrupted)
	if a.ingesters < 1 || a.compactors < 1 {
		return errors.New("there must be 1 ingester and 1 compactor at least")
	}
	db, err := a.place.Open(ctx, "analytics")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	a.e, a.acked = newEvents(db.DB), map[string]sum{}
	fmt.Fprintf(a.out, "%d workers append events, %d roll them up %v\n",
		a.ingesters, a.compactors, a.shift)
	asked, err := a.asked(ctx, db.DB, func() error {
		return errors.Join(a.crew(interrupted.Done()), a.finish())
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "snapshots: %d, in each of which the sums were equal\n", asked)
	b, left, err := a.rest(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "killed:    %d that appended, %d that rolled up; events left: %d\n",
		a.killed[0], a.killed[1], left)
	return a.compare(b)
}

// asked takes snapshots, and asks them, while others work, and returns how many.
func (a *analytics) asked(ctx context.Context, db *strictkv.DB, work func() error) (int, error) {
	dir, err := os.MkdirTemp("", "analytics-")
	if err != nil {
		return 0, err
	}
	analyst := &analyst{db: db, store: snapshot.Dir(dir)}
	over, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- analyst.work(over) }()
	err = work()
	stop()
	return analyst.taken, errors.Join(err, <-done, os.RemoveAll(dir))
}

// crew starts the workers, and lets their shift pass.
func (a *analytics) crew(stop <-chan struct{}) error {
	n := a.ingesters + a.compactors
	a.running, a.names = make([]*crew.Process[sum], n), make([]string, n)
	for i := range n {
		if err := a.start(i); err != nil {
			return err
		}
	}
	return a.shift.Pass(stop, func() error { return a.replace(rand.IntN(n)) })
}

func (a *analytics) compacts(i int) bool { return i >= a.ingesters }

func (a *analytics) start(i int) (err error) {
	name := fmt.Sprintf("%016x", rand.Uint64())
	a.names[i] = name
	a.running[i], err = crew.Start[sum]("process "+name,
		worker{Name: name, Compacts: a.compacts(i), Place: a.place})
	return err
}

// replace kills a worker, and starts another in its place.
func (a *analytics) replace(i int) error {
	if err := a.running[i].Kill(); err != nil {
		return err
	}
	a.ended(i)
	if a.compacts(i) {
		a.killed[1]++
	} else {
		a.killed[0]++
	}
	return a.start(i)
}

// ended notes what a worker that has ended had been acknowledged.
func (a *analytics) ended(i int) {
	if !a.compacts(i) {
		a.acked[a.names[i]] = a.running[i].Last()
	}
	a.running[i] = nil
}

// finish ends the workers that run.
func (a *analytics) finish() error {
	var errs []error
	for i, p := range a.running {
		if p != nil {
			errs = append(errs, p.Finish())
			a.ended(i)
		}
	}
	return errors.Join(errs...)
}

// rest rolls up what the compactors have left, and returns how many events that were. (What
// a killed process had sent may arrive a little later.)
func (a *analytics) rest(ctx context.Context) (b books, left int, err error) {
	for {
		n, err := a.e.compact(ctx)
		if left += n; err != nil {
			return b, left, err
		}
		if b, err = a.e.books(ctx); err != nil || b.log.Events == 0 {
			return b, left, err
		}
	}
}

// compare prints both sums, and compares them with each other and with what the ingesters
// had been acknowledged.
func (a *analytics) compare(b books) error {
	in, out := total(b.appended), total(b.rolledUp)
	fmt.Fprintf(a.out, "appended:  %8d events of %10d seconds by %d processes\n",
		in.Events, in.Seconds, len(b.appended))
	fmt.Fprintf(a.out, "rolled up: %8d events of %10d seconds on %d pages\n",
		out.Events, out.Seconds, len(b.rolledUp))
	for name, acked := range a.acked {
		if has := b.appended[name]; has.Events < acked.Events || has.Seconds < acked.Seconds {
			return violation("process %s has appended %v, not %v as acknowledged", name, has, acked)
		}
	}
	if err := b.balance(); err != nil {
		return err
	}
	fmt.Fprintln(a.out, "the sums are equal: no event was lost, none was counted twice")
	return nil
}
