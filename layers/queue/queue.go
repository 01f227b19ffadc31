// Package queue is a queue of jobs in a database: durable, for any number of producers and
// consumers in any processes, with leases, retries, delays and dead letters. It is made of
// transactions of package strictkv alone.
//
//	q, err := queue.New(db, db.Collection([]byte("mail")), queue.Options{})
//	id, err := q.Enqueue(ctx, payload)
//	err = q.Work(ctx, func(ctx context.Context, j *queue.Job) error {
//		return send(ctx, j.Payload)
//	})
//
// # Guarantees
//
// A job whose transaction has committed is claimed until a consumer completes it, or it has
// failed as often as Options.Attempts allows and is a dead letter. It is completed once: who has
// lost its lease to another can't complete, extend or retry the job (ErrLost), since each of
// these is a transaction that reads whose the lease is. An effect in the same database can be
// made exactly once: Job.CompleteTx completes the job in the transaction that makes the effect.
// Other effects, a mail for example, may be made twice, by a consumer that dies, or takes longer
// than its lease, between the effect and its completion.
//
// # Clocks
//
// Leases and delays are judged by the clocks of the processes. If those differ, a lease ends
// early or late, and a job waits longer or less, by as much; two consumers may then work on a
// job at the same time. That a job is completed once, that none is lost, and that a consumer
// finds what a producer has enqueued, does not depend on any clock.
//
// # How it works
//
// A job is a key that begins with the time at which it is due, so that a listing begins with
// the eldest. Claiming it writes the lease into it, completing it deletes it. What is deleted
// stays in the way of listings until a sweep has passed. So there is a head: a key below which
// no job is, and from which listings begin. Consumers move it forward, over whole ranges of
// finished jobs, and every transaction that enqueues reads it, and so can't slip behind it.
package queue

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/strictkv/strictkv"
)

// Limits and defaults.
const (
	// DefaultLease is how long a claimed job is its consumer's, unless that extends it.
	DefaultLease = 30 * time.Second
	// LeaseMin is the shortest lease: extending it takes a write or two, in a third of it.
	LeaseMin = time.Second
	// LeaseMax is the longest lease; who needs longer extends it.
	LeaseMax = 10 * time.Minute
	// DefaultAttempts is how often a job is claimed before it becomes a dead letter.
	DefaultAttempts = 10
	// PayloadMax is the size of the largest payload, in bytes. Each claim writes it again: put
	// what is large into a key of its own, and the key into the payload.
	PayloadMax = 256 << 10
	// DefaultPoll is how long Work waits when there is no job.
	DefaultPoll = time.Second
)

// The errors of this package, beside those of package strictkv. Each means that nothing has
// been changed.
var (
	// ErrEmpty: there is no job that is due and that nobody else has; or, seldom, others had
	// each of a dozen that Claim has tried, and there may be more. Try again later.
	ErrEmpty = errors.New("queue: no job is due")
	// ErrLost: the job is not the caller's any more: the lease has ended and somebody else has
	// claimed it, or it has been completed or given back. Don't retry.
	ErrLost = errors.New("queue: the lease of the job is lost")

	// errTaken is the ErrEmpty after which there may be more.
	errTaken = fmt.Errorf("%w that others have not taken", ErrEmpty)
)

// Options configures a Queue. All processes that use a queue should have the same.
type Options struct {
	// Lease is how long a claimed job is its consumer's, from LeaseMin to LeaseMax; 0 is
	// DefaultLease.
	Lease time.Duration
	// Attempts is how often a job is claimed before it becomes a dead letter; 0 is
	// DefaultAttempts.
	Attempts int
	// Backoff is how long a job rests after its n-th attempt has failed; nil is
	// DefaultBackoff.
	Backoff func(n int) time.Duration
	// Poll is how long Work waits when there is no job, on average; 0 is DefaultPoll.
	Poll time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Rand is where ids, the tokens of leases, and choices among jobs come from; nil is
	// crypto/rand.Reader. It is for tests that are to repeat: two queues with equal bytes would
	// take each other's jobs. It must be safe for concurrent use.
	Rand io.Reader
}

// DefaultBackoff is a second after the first attempt, twice as long after each further one,
// and an hour at most.
func DefaultBackoff(n int) time.Duration {
	const most = time.Hour
	if n > 12 {
		return most
	}
	return min(time.Second<<max(n-1, 0), most)
}

// Queue is a queue. It is safe for concurrent use.
type Queue struct {
	db               *strictkv.DB
	top, jobs, dying *strictkv.Collection
	o                Options
	ready            candidates
}

// New returns the queue in a collection, which it has for itself. The queue needs no creation.
// db is the handle that the collection is of. It sends no request. Errors: strictkv.ErrInvalid,
// those of Options.Rand.
func New(db *strictkv.DB, c *strictkv.Collection, o Options) (*Queue, error) {
	switch {
	case db == nil || c == nil:
		return nil, fmt.Errorf("queue: nil handle or collection: %w", strictkv.ErrInvalid)
	case o.Lease != 0 && (o.Lease < LeaseMin || o.Lease > LeaseMax):
		return nil, fmt.Errorf("queue: lease of %v, not %v to %v: %w",
			o.Lease, LeaseMin, LeaseMax, strictkv.ErrInvalid)
	case o.Attempts < 0 || o.Poll < 0:
		return nil, fmt.Errorf("queue: %d attempts, poll %v: %w",
			o.Attempts, o.Poll, strictkv.ErrInvalid)
	}
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.Attempts == 0 {
		o.Attempts = DefaultAttempts
	}
	if o.Backoff == nil {
		o.Backoff = DefaultBackoff
	}
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	seed, err := draw(o.Rand)
	if err != nil {
		return nil, err
	}
	return &Queue{
		db: db, o: o, top: c, jobs: c.Collection([]byte("jobs")),
		dying: c.Collection([]byte("dead")), ready: newCandidates(seed),
	}, nil
}

// draw draws a token.
func draw(r io.Reader) (t token, err error) {
	if _, err = io.ReadFull(r, t[:]); err != nil {
		err = fmt.Errorf("queue: draw random bytes: %w", err)
	}
	return t, err
}

// ids are what the text of an id is made of.
var ids = base32.StdEncoding.WithPadding(base32.NoPadding)

// EnqueueOption configures one Enqueue.
type EnqueueOption func(*time.Time)

// After delays a job: it is due that long after it has been enqueued.
func After(d time.Duration) EnqueueOption {
	return func(due *time.Time) { *due = due.Add(d) }
}

// At delays a job until a time. A time that is past is now.
func At(t time.Time) EnqueueOption {
	return func(due *time.Time) {
		if t.After(*due) {
			*due = t
		}
	}
}

// Enqueue adds a job, and returns its id. It is a strictkv.DB.Tx of its own: after
// strictkv.ErrInDoubt the job may be there or not.
func (q *Queue) Enqueue(
	ctx context.Context, payload []byte, opts ...EnqueueOption,
) (id string, err error) {
	return strictkv.Do(ctx, q.db, func(tx *strictkv.Tx) (string, error) {
		return q.EnqueueTx(tx, payload, opts...)
	})
}

// EnqueueTx adds a job in a transaction of the caller's, and returns its id. The job is there
// if that commits. The transaction reads the queue's head, and so commits in three rounds of
// requests instead of one, if it has read nothing else that it does not write. Errors:
// strictkv.ErrTooLarge, strictkv.ErrInvalid, those of strictkv.Tx.Read and Insert.
func (q *Queue) EnqueueTx(
	tx *strictkv.Tx, payload []byte, opts ...EnqueueOption,
) (id string, err error) {
	if len(payload) > PayloadMax {
		return "", fmt.Errorf("enqueue: %w", &strictkv.SizeError{
			What: "payload", Size: len(payload), Limit: PayloadMax,
		})
	}
	now := q.o.Now()
	due := now
	for _, opt := range opts {
		if opt == nil {
			return "", fmt.Errorf("enqueue: nil option: %w", strictkv.ErrInvalid)
		}
		opt(&due)
	}
	unique, err := draw(q.o.Rand)
	if err != nil {
		return "", fmt.Errorf("enqueue: %w", err)
	}
	id = ids.EncodeToString(unique[:])
	if _, err := q.place(tx, id, record{due: due, enqueued: now, payload: payload}); err != nil {
		return "", fmt.Errorf("enqueue: %w", err)
	}
	return id, nil
}

// place puts a job where it is found when it is due, and returns its key.
func (q *Queue) place(tx *strictkv.Tx, id string, r record) (key []byte, err error) {
	head, err := q.head(tx)
	if err != nil {
		return nil, err
	}
	key = keyOf(max(stampOf(r.due), head.next()), id)
	return key, tx.Insert(q.jobs, key, r.encode())
}

// Len counts the jobs that are waiting, delayed or claimed, by listing them: a request for
// each 1000. It is not a transaction.
func (q *Queue) Len(ctx context.Context) (n int64, err error) {
	head, err := q.weakHead(ctx)
	if err != nil {
		return 0, fmt.Errorf("count jobs: %w", err)
	}
	for _, err := range q.jobs.Items(ctx, strictkv.Range{From: head.key, KeysOnly: true}) {
		if err != nil {
			return 0, fmt.Errorf("count jobs: %w", err)
		}
		n++
	}
	return n, nil
}
