package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/strictkv/strictkv"
)

const (
	// triesMax is how many jobs one Claim tries that others then have.
	triesMax = 12
	// doubtsMax is how often a claim is tried again that is in doubt.
	doubtsMax = 3
	// stayMax is how long after it was due a job that is extended, or claimed again, stays where
	// it is: then it moves, so that long jobs, and those whose consumers die, don't hold the head.
	stayMax = time.Minute
)

// Job is a job that the caller has claimed. It is safe for concurrent use; Payload must not
// be changed.
type Job struct {
	// ID is what Enqueue has returned.
	ID      string
	Payload []byte
	// Attempt is the number of this attempt: 1 for the first.
	Attempt int
	// Enqueued is when the job was enqueued, by its producer's clock.
	Enqueued time.Time
	// Failure is why the attempt before has failed, as far as its consumer has told.
	Failure string

	q     *Queue
	token token

	// mu is not held during transactions: others of the handle may wait for that.
	mu   sync.Mutex // guards all below
	keys [][]byte   // where it is: the last, or an earlier one if that move has not committed
	end  time.Time
}

// where returns the keys at which the job may be.
func (j *Job) where() [][]byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.keys
}

// moves notes where the job will be if a transaction commits, before that does.
func (j *Job) moves(to []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.keys = append(j.keys[:len(j.keys):len(j.keys)], to)
}

// Deadline is when the lease ends, by this process's clock.
func (j *Job) Deadline() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end
}

// Claim gives the caller a job that is due, for the time of a lease: the eldest, or while other
// processes claim jobs as well, one of the eldest 500 or so. If the caller neither completes nor
// extends it until then, somebody else gets it. With nothing to do it returns ErrEmpty. It costs
// a read and a write, some more for a job that has been tried before, and now and then a listing.
// Other errors: those of strictkv.DB.Tx and strictkv.Collection.Items. After an error the job
// that was being claimed, if any, is due again when the lease ends.
//
// A job that can't be read, because it is damaged or of a later version, is passed over for
// LeaseMax. When nothing else is due, Claim returns its error once instead of ErrEmpty:
// strictkv.ErrCorrupt or strictkv.ErrFormat. BuryUnread takes it out of the way.
func (q *Queue) Claim(ctx context.Context) (*Job, error) {
	for since, tries := q.o.Now(), 0; ; tries++ {
		key, err := q.candidate(ctx, since)
		if errors.Is(err, ErrEmpty) {
			return nil, q.ready.idle()
		}
		if err != nil {
			return nil, err
		}
		job, until, err := q.claim(ctx, key)
		if errors.Is(err, strictkv.ErrCorrupt) || errors.Is(err, strictkv.ErrFormat) {
			until = q.o.Now().Add(LeaseMax)
			q.ready.damaged(err)
			err = nil
		}
		q.ready.tried(key, job != nil, until)
		if err != nil {
			return nil, fmt.Errorf("claim: %w", err)
		}
		if job != nil {
			for _, key := range job.where()[1:] { // it has moved
				q.ready.tried(key, true, until)
			}
			return job, nil
		}
		if tries == triesMax {
			return nil, errTaken
		}
		since = q.o.Now()
	}
}

// claim claims the job with a key, or tells until when that needs no further look.
func (q *Queue) claim(ctx context.Context, key []byte) (j *Job, until time.Time, err error) {
	_, id, err := parseKey(key)
	if err != nil {
		return nil, until, err
	}
	j = &Job{ID: id, q: q, keys: [][]byte{key}}
	if j.token, err = draw(q.o.Rand); err != nil {
		return nil, until, err
	}
	for range doubtsMax {
		until, err = strictkv.Do(ctx, q.db, j.take)
		if !errors.Is(err, strictkv.ErrInDoubt) || ctx.Err() != nil {
			break
		}
	}
	if err != nil || j.end.IsZero() {
		return nil, until, err
	}
	return j, until, nil
}

// take is the transaction of a claim. It sets the end of the lease if there is one.
func (j *Job) take(tx *strictkv.Tx) (until time.Time, err error) {
	j.end = time.Time{}
	q := j.q
	key, r, err := j.read(tx)
	if err != nil || key == nil {
		return until, err
	}
	now := q.o.Now()
	switch {
	case r.token == j.token: // what was in doubt has committed
	case r.leased(now):
		return r.until, nil
	case r.due.After(now):
		return r.due, nil
	case r.attempts >= q.o.Attempts:
		return until, q.bury(tx, key, j.ID, r.failed("the lease of the last attempt has ended"))
	default:
		again := r.attempts > 0
		r.attempts++
		r.token, r.until = j.token, now.Add(q.o.Lease)
		if again {
			_, err = j.keep(tx, key, r, now)
		} else {
			err = tx.Write(q.jobs, key, r.encode())
		}
		if err != nil {
			return until, err
		}
	}
	j.Payload, j.Attempt, j.Enqueued, j.Failure = r.payload, r.attempts, r.enqueued, r.failure
	j.end = r.until
	return j.end, nil
}

// read reads the job, whoever has it. The key is nil if there is none.
func (j *Job) read(tx *strictkv.Tx) (key []byte, r record, err error) {
	keys := j.where()
	for i := len(keys) - 1; i >= 0; i-- {
		value, err := tx.Read(j.q.jobs, keys[i])
		if errors.Is(err, strictkv.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, r, err
		}
		r, err = decode(j.ID, value)
		return keys[i], r, err
	}
	return nil, r, nil
}

// find reads the job, if it still is the caller's.
func (j *Job) find(tx *strictkv.Tx) (key []byte, r record, err error) {
	key, r, err = j.read(tx)
	if err == nil && (key == nil || r.token != j.token) {
		err = ErrLost
	}
	return key, r, err
}

// keep writes the job with its lease, at a later key if it has long been at this one, and
// returns where.
func (j *Job) keep(tx *strictkv.Tx, key []byte, r record, now time.Time) ([]byte, error) {
	since, _, err := parseKey(key)
	if err != nil || now.Sub(since.time()) <= stayMax {
		return key, errors.Join(err, tx.Write(j.q.jobs, key, r.encode()))
	}
	r.due = now
	to, err := j.q.move(tx, key, j.ID, r)
	if err == nil {
		j.moves(to)
	}
	return to, err
}

// Complete ends the job. It costs one write. Errors: ErrLost, those of strictkv.DB.Tx. After
// strictkv.ErrInDoubt the job is complete, or is due again when the lease ends.
func (j *Job) Complete(ctx context.Context) error { return j.q.db.Tx(ctx, j.CompleteTx) }

// CompleteTx ends the job in a transaction of the caller's, which must be of the queue's
// handle: what else that writes is written if and only if this consumer completes the job, once.
// Errors: ErrLost, with which the transaction should end; those of strictkv.Tx.
func (j *Job) CompleteTx(tx *strictkv.Tx) error {
	key, _, err := j.find(tx)
	if err == nil {
		err = tx.Delete(j.q.jobs, key)
	}
	if err != nil {
		return fmt.Errorf("complete job %s: %w", j.ID, err)
	}
	return nil
}

// Extend makes the lease end a lease from now. It costs one write, and more about once a
// minute. Errors: ErrLost, those of strictkv.DB.Tx.
func (j *Job) Extend(ctx context.Context) error {
	now := j.q.o.Now()
	end := now.Add(j.q.o.Lease)
	var key []byte
	err := j.q.db.Tx(ctx, func(tx *strictkv.Tx) (err error) {
		var r record
		if key, r, err = j.find(tx); err != nil {
			return err
		}
		r.until = end
		key, err = j.keep(tx, key, r, now)
		return err
	})
	if err != nil {
		return fmt.Errorf("extend job %s: %w", j.ID, err)
	}
	j.mu.Lock()
	j.keys, j.end = [][]byte{key}, end
	j.mu.Unlock()
	j.q.ready.tried(key, true, end)
	return nil
}

// move puts a job where it is found when it is due.
func (q *Queue) move(tx *strictkv.Tx, from []byte, id string, r record) (key []byte, err error) {
	if err := tx.Delete(q.jobs, from); err != nil {
		return nil, err
	}
	return q.place(tx, id, r)
}

// Retry gives the job back after an attempt that has failed: it is due again after a pause
// (Options.Backoff), or becomes a dead letter if this was its last attempt. The text of the
// cause is kept, up to 1 KiB. Errors: ErrLost, those of strictkv.DB.Tx.
func (j *Job) Retry(ctx context.Context, cause error) error {
	return j.giveBack(ctx, "retry", func(tx *strictkv.Tx, key []byte, r record) error {
		if cause != nil {
			r = r.failed(cause.Error())
		}
		if r.attempts >= j.q.o.Attempts {
			return j.q.bury(tx, key, j.ID, r)
		}
		r.due = j.q.o.Now().Add(j.q.o.Backoff(r.attempts))
		_, err := j.q.move(tx, key, j.ID, r.free())
		return err
	})
}

// Release gives the job back, for a consumer that is to stop: this attempt is not counted, and
// the job is due now, but comes after those that have been waiting. Errors: ErrLost, those of
// strictkv.DB.Tx.
func (j *Job) Release(ctx context.Context) error {
	return j.giveBack(ctx, "release", func(tx *strictkv.Tx, key []byte, r record) error {
		r.attempts--
		// Others have seen it here, and don't look again until the lease ends: so it moves.
		r.due = j.q.o.Now()
		_, err := j.q.move(tx, key, j.ID, r.free())
		return err
	})
}

// Bury makes the job a dead letter at once: for one that can't succeed. Errors: ErrLost, those
// of strictkv.DB.Tx.
func (j *Job) Bury(ctx context.Context, cause error) error {
	return j.giveBack(ctx, "bury", func(tx *strictkv.Tx, key []byte, r record) error {
		if cause != nil {
			r = r.failed(cause.Error())
		}
		return j.q.bury(tx, key, j.ID, r)
	})
}

func (j *Job) giveBack(
	ctx context.Context, step string, f func(tx *strictkv.Tx, key []byte, r record) error,
) error {
	err := j.q.db.Tx(ctx, func(tx *strictkv.Tx) error {
		key, r, err := j.find(tx)
		if err != nil {
			return err
		}
		return f(tx, key, r)
	})
	if err != nil {
		return fmt.Errorf("%s job %s: %w", step, j.ID, err)
	}
	for _, key := range j.where() {
		j.q.ready.tried(key, true, time.Time{}) // it may be found there again
	}
	return nil
}
