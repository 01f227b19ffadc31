package queue

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/strictkv/strictkv"
)

// Letter is a dead letter: a job that nobody claims any more. Unread yields jobs as letters too.
type Letter struct {
	ID       string
	Payload  []byte
	Attempts int
	// Enqueued is when the job was enqueued, by its producer's clock.
	Enqueued time.Time
	// Failure is why its last attempt has failed.
	Failure string
	// Damage, if not nil, is why it can't be read: strictkv.ErrCorrupt if it is damaged,
	// strictkv.ErrFormat if a later version wrote it. Then Payload is all that is stored of it,
	// and nothing else is known but its ID.
	Damage error
}

// bury makes a job a dead letter.
func (q *Queue) bury(tx *strictkv.Tx, key []byte, id string, r record) error {
	return q.moveToDead(tx, key, id, r.free().encode())
}

// moveToDead puts a dead letter in the place of a job.
func (q *Queue) moveToDead(tx *strictkv.Tx, key []byte, id string, value []byte) error {
	if err := tx.Delete(q.jobs, key); err != nil {
		return err
	}
	return tx.Insert(q.dying, []byte(id), value)
}

// Dead yields the dead letters, in the order of their ids, as strictkv.Collection.Items does:
// it is not a transaction. An error ends the loop.
func (q *Queue) Dead(ctx context.Context) iter.Seq2[Letter, error] {
	return func(yield func(Letter, error) bool) {
		for item, err := range q.dying.Items(ctx, strictkv.Range{}) {
			var l Letter
			if err == nil {
				l = letter(string(item.Key), item.Value)
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

func letter(id string, value []byte) Letter {
	r, err := decode(id, value)
	if err != nil {
		return Letter{ID: id, Payload: value, Damage: err}
	}
	return Letter{
		ID: id, Payload: r.payload, Attempts: r.attempts, Enqueued: r.enqueued, Failure: r.failure,
	}
}

// Unread yields the jobs that can't be read, each with its Damage: those that Claim passes over,
// and returns the error of. It reads all jobs, and is no transaction. An error ends the loop.
func (q *Queue) Unread(ctx context.Context) iter.Seq2[Letter, error] {
	return func(yield func(Letter, error) bool) {
		for item, err := range q.jobs.Items(ctx, strictkv.Range{}) {
			if err != nil {
				yield(Letter{}, err)
				return
			}
			l := letter(idOf(item.Key), item.Value)
			if _, _, err := parseKey(item.Key); err != nil {
				l = Letter{ID: l.ID, Payload: item.Value, Damage: err}
			}
			if l.Damage != nil && !yield(l, nil) {
				return
			}
		}
	}
}

// idOf is the id of a job, or what stands for it if its key is damaged as well.
func idOf(key []byte) string {
	if len(key) > stampSize {
		return string(key[stampSize:])
	}
	return string(key)
}

// BuryUnread makes a job a dead letter that can't be read, as it is: out of the way of others,
// with nothing lost. Discard removes it for good; Revive makes it a job again as soon as it can be
// read, by a later version for example. A job that a later version has written may be claimed just
// now by one of its consumers, who then loses it: rather use that version everywhere.
//
// It lists all jobs. Errors: strictkv.ErrNotFound if there is no such job, or if it can be read;
// those of strictkv.DB.Tx.
func (q *Queue) BuryUnread(ctx context.Context, id string) error {
	err := fmt.Errorf("no such job: %w", strictkv.ErrNotFound)
	for item, failed := range q.jobs.Items(ctx, strictkv.Range{KeysOnly: true}) {
		if failed != nil {
			err = failed
		} else if idOf(item.Key) == id {
			err = q.db.Tx(ctx, func(tx *strictkv.Tx) error {
				return q.buryUnread(tx, item.Key, id)
			})
			break
		}
	}
	if err != nil {
		return fmt.Errorf("bury unread job %s: %w", id, err)
	}
	return nil
}

func (q *Queue) buryUnread(tx *strictkv.Tx, key []byte, id string) error {
	value, err := tx.Read(q.jobs, key)
	if err != nil {
		return err
	}
	if _, _, damaged := parseKey(key); damaged == nil {
		if _, err := decode(id, value); err == nil {
			return fmt.Errorf("it can be read: %w", strictkv.ErrNotFound)
		}
	}
	return q.moveToDead(tx, key, id, value)
}

// Revive makes a dead letter a job again, that is due at once and has had no attempts. Errors:
// strictkv.ErrNotFound; strictkv.ErrCorrupt or strictkv.ErrFormat if it can't be read, and then it
// stays; those of strictkv.DB.Tx.
func (q *Queue) Revive(ctx context.Context, id string) error {
	err := q.db.Tx(ctx, func(tx *strictkv.Tx) error {
		value, err := tx.Read(q.dying, []byte(id))
		if err != nil {
			return err
		}
		r, err := decode(id, value)
		if err != nil {
			return err
		}
		if err := tx.Delete(q.dying, []byte(id)); err != nil {
			return err
		}
		r.attempts, r.due = 0, q.o.Now()
		_, err = q.place(tx, id, r)
		return err
	})
	if err != nil {
		return fmt.Errorf("revive job %s: %w", id, err)
	}
	return nil
}

// Discard removes a dead letter; it is nil if there is none.
func (q *Queue) Discard(ctx context.Context, id string) error {
	if err := q.dying.Delete(ctx, []byte(id)); err != nil {
		return fmt.Errorf("discard job %s: %w", id, err)
	}
	return nil
}
