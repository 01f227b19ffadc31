package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
)

const (
	// headStaleness is how old the head may be from which a listing begins: an older one
	// makes it longer, and nothing worse.
	headStaleness = 10 * time.Second
	// headMargin is how far the head stays behind the clock, so that it does not meet jobs
	// that are being enqueued.
	headMargin = 10 * time.Second
	// headTries bounds the attempts to move the head: somebody else does it instead.
	headTries = 4
)

var headKey = []byte("head")

// head is the key below which no job is. It only grows. Its value is stored as it is.
type head struct{ key []byte }

// next is the least stamp with which a job is not behind the head, whatever its id.
func (h head) next() stamp {
	s, _, err := parseKey(h.key)
	if err != nil {
		return 0 // there is none yet
	}
	return s + 1
}

// head reads the head in a transaction, which so commits only if it has not been moved.
func (q *Queue) head(tx *strictkv.Tx) (head, error) {
	return headOf(tx.Read(q.top, headKey))
}

// weakHead reads one that may be old.
func (q *Queue) weakHead(ctx context.Context) (head, error) {
	return headOf(q.top.ReadWeak(ctx, headKey, headStaleness))
}

func headOf(key []byte, err error) (head, error) {
	if errors.Is(err, strictkv.ErrNotFound) {
		return head{}, nil
	}
	if err != nil {
		return head{}, err
	}
	_, _, err = parseKey(key)
	return head{key}, err
}

// advance moves the head forward, up to a key or the first job before that. It reads in its
// transaction that there is no job in between, and every transaction that enqueues one reads
// the head: so none is ever behind it.
func (q *Queue) advance(ctx context.Context, to []byte) error {
	err := q.db.Tx(ctx, func(tx *strictkv.Tx) error {
		now, err := q.head(tx)
		if err != nil {
			return err
		}
		upTo := to
		between := strictkv.Range{From: now.key, To: to, Limit: 1, KeysOnly: true}
		for job, err := range tx.Scan(q.jobs, between) {
			if err != nil {
				return err
			}
			upTo = job.Key
		}
		if bytes.Compare(upTo, now.key) <= 0 {
			return nil
		}
		return tx.Write(q.top, headKey, upTo)
	}, strictkv.MaxAttempts(headTries))
	if errors.Is(err, strictkv.ErrConflict) || errors.Is(err, strictkv.ErrInDoubt) {
		return ctx.Err() // others are at it
	}
	if err != nil {
		return fmt.Errorf("move the head: %w", err)
	}
	return nil
}
