package queue

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/strictkv/strictkv"
)

const (
	// extendsPer is how often a lease is extended in its time.
	extendsPer = 3
	// farewellMax is how long a consumer tries at least to say what has become of its job, also
	// when it is to stop; a lease, if that is longer.
	farewellMax = 5 * time.Second
)

// Work claims one job after another, and calls f on each, until ctx ends; run it in several
// goroutines to work on several jobs at once. If f returns nil, the job is completed, unless f
// has done so itself; if it returns an error, the job is retried, or released if ctx has ended.
// While f runs, the lease is extended; should it end nevertheless, because another has the job or
// the store can't be reached, f's context ends with ErrLost as its cause.
//
// What the store refuses for a while (strictkv.ErrUnavailable, strictkv.ErrInDoubt), or does not
// answer, is tried again. Work returns the context's error, or any other error of Claim or of a
// transaction; the job under way is then due again when its lease ends. A job that can't be read
// ends it only when nothing else is due: it may be called again.
func (q *Queue) Work(ctx context.Context, f func(ctx context.Context, j *Job) error) error {
	for ctx.Err() == nil {
		job, err := q.Claim(ctx)
		if err == nil {
			err = q.run(ctx, job, f)
		}
		if err == nil || errors.Is(err, errTaken) {
			continue // there may be more: what others have is not looked at again for a lease
		}
		if !errors.Is(err, ErrEmpty) && !passing(err) {
			return err
		}
		pause := time.NewTimer(q.o.Poll/2 + rand.N(q.o.Poll))
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
	return ctx.Err()
}

// passing reports whether an error is one to be tried again after a while, if Work's context
// has not ended. A deadline that has passed is then that of farewellMax.
func passing(err error) bool {
	return errors.Is(err, strictkv.ErrUnavailable) || errors.Is(err, strictkv.ErrInDoubt) ||
		errors.Is(err, context.DeadlineExceeded)
}

// run calls f on a job, and does with the job what f's result asks for.
func (q *Queue) run(
	ctx context.Context, j *Job, f func(ctx context.Context, j *Job) error,
) error {
	failed := q.hold(ctx, j, f)
	stopped := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(farewellMax, q.o.Lease))
	defer cancel()
	var err error
	switch {
	case failed == nil:
		err = j.Complete(ctx)
	case stopped:
		err = j.Release(ctx)
	default:
		err = j.Retry(ctx, failed)
	}
	if errors.Is(err, ErrLost) {
		return nil
	}
	return err
}

// hold calls f on a job, and extends the lease meanwhile.
func (q *Queue) hold(
	ctx context.Context, j *Job, f func(ctx context.Context, j *Job) error,
) error {
	held, lose := context.WithCancelCause(ctx)
	var extending sync.WaitGroup
	defer extending.Wait()
	defer lose(nil)
	extending.Go(func() {
		every := time.NewTicker(q.o.Lease / extendsPer)
		defer every.Stop()
		for {
			select {
			case <-held.Done():
				return
			case <-every.C:
			}
			if err := j.Extend(held); errors.Is(err, ErrLost) {
				lose(ErrLost)
			}
		}
	})
	// Whatever Extend is waiting for: when the lease ends, somebody else may begin.
	extending.Go(func() {
		for left := j.left(); left > 0; left = j.left() {
			select {
			case <-held.Done():
				return
			case <-time.After(left):
			}
		}
		lose(ErrLost)
	})
	return f(held, j)
}

// left is how long the lease lasts, unless it is extended.
func (j *Job) left() time.Duration { return j.Deadline().Sub(j.q.o.Now()) }
