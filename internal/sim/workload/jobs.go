package workload

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/sim/baton"
	"github.com/strictkv/strictkv/layers/queue"
)

// lease is what is known of a job: who had it last, until when, and whether it is complete.
type lease struct {
	holder string
	until  time.Time
	over   bool
}

// Limits of jobs.
const (
	// leaseTime is that of a job; consumers keep it for up to twice as long.
	leaseTime = queue.LeaseMin
	// drainMax is how often the last client asks whether there is a job left.
	drainMax = 60
)

// entropy draws what a queue needs from a process's runtime.
type entropy struct{ rt seam.Runtime }

func (e entropy) Read(b []byte) (int, error) {
	var bits []byte
	for len(bits) < len(b) {
		bits = binary.BigEndian.AppendUint64(bits, e.rt.Entropy())
	}
	return copy(b, bits), nil
}

// polled is a context that is asked for its error alone. A queue waits for its end where another of
// its consumers is listing jobs; that of a session has no other.
type polled struct{ context.Context }

func (polled) Done() <-chan struct{} { return nil }

// queue is the session's.
func (x *session) queue() *queue.Queue {
	if x.jobs == nil {
		var err error
		x.jobs, err = queue.New(x.db, x.named("queue"), queue.Options{
			Lease: leaseTime, Attempts: 4, Now: x.rt.Now, Rand: entropy{x.rt},
			Backoff: func(n int) time.Duration { return time.Duration(n) * 100 * time.Millisecond },
		})
		if err != nil {
			x.l.Fail("queue: %w", err)
		}
	}
	return x.jobs
}

// work enqueues jobs, and works on them.
func (x *session) work(r *baton.Source) {
	if r.Below(3) == 0 {
		payload, delay := x.l.unique(0, x.id), time.Duration(0)
		if r.Below(4) == 0 {
			delay = time.Duration(r.Below(3000)) * time.Millisecond
		}
		x.l.begins("job "+payload, 1)
		x.l.ends("job "+payload, 1, x.call(r, "enqueue", func(ctx context.Context) error {
			_, err := x.queue().Enqueue(ctx, []byte(payload), queue.After(delay))
			return err
		}))
		return
	}
	j, me, err := x.claim(r)
	if err != nil {
		return
	}
	if r.Below(3) == 0 {
		x.pause(r, 2*leaseTime)
	}
	if r.Below(4) == 0 {
		err := x.call(r, "extend", j.Extend)
		if err == nil {
			x.holds(j, me)
		}
		x.pause(r, leaseTime)
	}
	x.leave(r, j, me)
}

// claim takes a job, which nobody else then has.
func (x *session) claim(r *baton.Source) (j *queue.Job, me string, err error) {
	err = x.call(r, "claim", func(ctx context.Context) (err error) {
		j, err = x.queue().Claim(polled{ctx})
		return err
	})
	if err == nil {
		me = x.l.unique(0, x.id)
		x.holds(j, me)
	}
	return j, me, err
}

// holds checks that a job is nobody else's. One whose lease has ended meanwhile proves nothing.
func (x *session) holds(j *queue.Job, me string) {
	payload, now := string(j.Payload), x.rt.Now()
	if _, most := x.l.bounds("job " + payload); most != 1 {
		x.l.Fail("nobody has enqueued %s", payload)
	}
	x.l.mu.Lock()
	known := x.l.facts.jobs[payload]
	if known == nil {
		known = &lease{}
		x.l.facts.jobs = put(x.l.facts.jobs, payload, known)
	}
	was := *known
	lasts := j.Deadline().After(now)
	if lasts {
		known.holder, known.until = me, j.Deadline()
	}
	x.l.mu.Unlock()
	switch {
	case !lasts:
	case was.over:
		x.l.Fail("job %s is complete, and was claimed by %s", payload, me)
	case was.holder != "" && was.holder != me && was.until.After(now):
		x.l.Fail("job %s is with %s until %v, and with %s", payload, was.holder, was.until, me)
	}
}

// gives notes that a holder is about to give up a job, or how that has ended.
func (l *Ledger) gives(payload, me string, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.facts.jobs[payload]; known != nil {
		known.over = known.over || over
		if known.holder == me {
			known.holder = ""
		}
	}
}

// leave does with a job what a consumer may.
func (x *session) leave(r *baton.Source, j *queue.Job, me string) {
	how, failed := r.Below(9), errors.New("failed")
	if how == 0 {
		return // it forgets the job
	}
	x.l.gives(string(j.Payload), me, false)
	switch how {
	case 1:
		_ = x.call(r, "retry", func(ctx context.Context) error { return j.Retry(ctx, failed) })
	case 2:
		_ = x.call(r, "release", j.Release)
	case 3:
		_ = x.call(r, "bury", func(ctx context.Context) error { return j.Bury(ctx, failed) })
	default:
		x.complete(r, j, me)
	}
}

// complete does what a job is for, once.
func (x *session) complete(r *baton.Source, j *queue.Job, me string) {
	err := x.call(r, "complete", func(ctx context.Context) error {
		return x.db.Tx(ctx, func(tx *strictkv.Tx) error {
			if err := j.CompleteTx(tx); err != nil {
				return err
			}
			return tx.Insert(x.named("done"), j.Payload, nil)
		})
	})
	if errors.Is(err, strictkv.ErrExists) {
		x.l.Fail("job %s was completed twice", j.Payload)
	}
	if err == nil {
		x.l.gives(string(j.Payload), me, true)
		x.l.raise("done "+string(j.Payload), 1)
	}
}

// judgeJobs does all that is left, and checks that nothing was lost.
func (x *session) judgeJobs() {
	r := baton.Source(x.l.Seed)
	for n := 0; ; n++ {
		j, me, err := x.claim(nil)
		switch {
		case err == nil:
			x.complete(nil, j, me)
			continue
		case !errors.Is(err, queue.ErrEmpty), n == drainMax:
			x.l.Fail("drain the queue, %d times: %w", n, err)
			return
		}
		var left int64
		x.must("len", func(ctx context.Context) (err error) {
			left, err = x.queue().Len(ctx)
			return err
		})
		if left == 0 {
			break
		}
		x.pause(&r, 2*time.Second)
	}
	found := map[string]int{}
	x.must("done", func(ctx context.Context) error {
		for i, err := range x.named("done").Items(ctx, strictkv.Range{}) {
			if err != nil {
				return err
			}
			found[string(i.Key)]++
		}
		for letter, err := range x.queue().Dead(ctx) {
			if err != nil {
				return err
			}
			found[string(letter.Payload)]++
		}
		return nil
	})
	x.l.account(found)
}

// account checks how often each job was found in the end.
func (l *Ledger) account(found map[string]int) {
	for _, payload := range l.enqueued() {
		n := found[payload]
		least, most := l.bounds("job " + payload)
		if done, _ := l.bounds("done " + payload); n < max(least, done) || n > most {
			l.Fail("job %s ended %d times, not %d to %d", payload, n, max(least, done), most)
		}
	}
}
