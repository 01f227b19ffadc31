package queue

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/strictkv/strictkv"
)

// Letter is a dead letter: a job that nobody claims any more.
type Letter struct {
	ID       string
	Payload  []byte
	Attempts int
	// Enqueued is when the job was enqueued, by its producer's clock.
	Enqueued time.Time
	// Failure is why its last attempt has failed.
	Failure string
}

// bury makes a job a dead letter.
func (q *Queue) bury(tx *strictkv.Tx, key []byte, id string, r record) error {
	if err := tx.Delete(q.jobs, key); err != nil {
		return err
	}
	return tx.Insert(q.dying, []byte(id), r.free().encode())
}

// Dead yields the dead letters, in the order of their ids, as strictkv.Collection.Items does:
// it is not a transaction. An error ends the loop.
func (q *Queue) Dead(ctx context.Context) iter.Seq2[Letter, error] {
	return func(yield func(Letter, error) bool) {
		for item, err := range q.dying.Items(ctx, strictkv.Range{}) {
			var l Letter
			if err == nil {
				l, err = letter(item)
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

func letter(item strictkv.Item) (Letter, error) {
	id := string(item.Key)
	r, err := decode(id, item.Value)
	return Letter{
		ID: id, Payload: r.payload, Attempts: r.attempts, Enqueued: r.enqueued, Failure: r.failure,
	}, err
}

// Revive makes a dead letter a job again, that is due at once and has had no attempts. Errors:
// strictkv.ErrNotFound, those of strictkv.DB.Tx.
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
