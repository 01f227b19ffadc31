package queue

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/strictkv/strictkv"
)

const (
	// window is how many jobs a listing looks for.
	window = 500
	// crowdMax is for how many listings after it has met others a consumer chooses among the
	// jobs at random, so that they seldom meet again. Else the eldest comes first.
	crowdMax = 20
	// candidatesMax is how long the jobs of a listing are tried.
	candidatesMax = 5 * time.Second
	// missesMax is how many jobs in a row may have been gone before they are listed again.
	missesMax = 3
	// passedMax is how many keys of finished jobs a listing passes over, at least, before the
	// head is moved; up to as many more, at random, so that not all consumers move it at once.
	passedMax = 250
	// skipMax bounds what a queue remembers of jobs that others have.
	skipMax = 10_000
)

// candidates are the jobs that the last listing has found.
type candidates struct {
	turn chan struct{} // holds one value: who takes it may list

	mu     sync.Mutex // guards all below
	rand   *rand.Rand
	keys   [][]byte
	listed time.Time // when the listing began
	more   bool      // it has not found all
	misses int
	crowd  int // listings after which the eldest come first again
	passed int // when the head is to be moved
	// skip tells until when nobody needs to look at a job.
	skip map[string]time.Time
	// unread is why a job can't be read, until somebody has been told.
	unread error
}

func newCandidates(seed token) candidates {
	r := rand.New(rand.NewPCG(
		binary.BigEndian.Uint64(seed[:]), binary.BigEndian.Uint64(seed[8:]),
	))
	return candidates{
		turn: make(chan struct{}, 1), skip: map[string]time.Time{}, rand: r,
		passed: passedMax + r.IntN(passedMax),
	}
}

// take returns the key of a job that may be claimed, or nil if they must be listed. Until tried
// tells more, nobody else of this process looks at it.
func (c *candidates) take(now time.Time) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.misses >= missesMax || now.Sub(c.listed) > candidatesMax {
		c.keys = nil
	}
	n := len(c.keys)
	if n == 0 {
		return nil
	}
	key := c.keys[n-1]
	c.keys = c.keys[:n-1]
	c.skipLocked(key, now.Add(LeaseMax))
	return key
}

// tried notes what came of a candidate: until tells for how long it needs no look.
func (c *candidates) tried(key []byte, claimed bool, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if claimed {
		c.misses = 0
	} else {
		c.misses++
		c.crowd = crowdMax
	}
	c.skipLocked(key, until)
}

// damaged notes that a job can't be read.
func (c *candidates) damaged(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unread = err
}

// idle is what Claim returns when there is nothing to do.
func (c *candidates) idle() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.unread
	c.unread = nil
	if err == nil {
		return ErrEmpty
	}
	return fmt.Errorf("claim: %w", err)
}

// skipLocked makes a job be looked at again not before a time.
func (c *candidates) skipLocked(key []byte, until time.Time) {
	if until.IsZero() {
		delete(c.skip, string(key))
	} else if len(c.skip) < skipMax {
		c.skip[string(key)] = until
	}
}

// since reports whether a listing that began after a time has found all jobs.
func (c *candidates) since(t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listed.After(t) && !c.more
}

// found takes the result of a listing, and whether there may be more jobs.
func (c *candidates) found(at time.Time, keys [][]byte, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	skip := map[string]time.Time{}
	c.keys, c.listed, c.more, c.misses = nil, at, more, 0
	for _, key := range keys {
		if until, known := c.skip[string(key)]; known && at.Before(until) {
			skip[string(key)] = until
		} else {
			c.keys = append(c.keys, key)
		}
	}
	c.skip = skip
	if c.crowd == 0 {
		slices.Reverse(c.keys) // take takes the last
		return
	}
	c.crowd--
	c.rand.Shuffle(len(c.keys), func(i, k int) { c.keys[i], c.keys[k] = c.keys[k], c.keys[i] })
}

// candidate returns the key of a job that may be claimed. If there is none among those found,
// it lists them, unless somebody has since a time.
func (q *Queue) candidate(ctx context.Context, since time.Time) ([]byte, error) {
	if key := q.ready.take(q.o.Now()); key != nil {
		return key, nil
	}
	select {
	case q.ready.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-q.ready.turn }()
	if key := q.ready.take(q.o.Now()); key != nil {
		return key, nil
	}
	if q.ready.since(since) {
		return nil, ErrEmpty
	}
	if err := q.list(ctx); err != nil {
		return nil, err
	}
	if key := q.ready.take(q.o.Now()); key != nil {
		return key, nil
	}
	return nil, ErrEmpty
}

// list looks for jobs that are due, and moves the head if that pays.
func (q *Queue) list(ctx context.Context) error {
	head, err := q.weakHead(ctx)
	if err != nil {
		return fmt.Errorf("list jobs: %w", err)
	}
	now := q.o.Now()
	// A head that is ahead of this clock must not hide the jobs that are placed behind it.
	due := keyOf(max(stampOf(now), head.next())+1, "")
	var keys [][]byte
	var seen strictkv.WalkProgress
	r := strictkv.Range{From: head.key, To: due, KeysOnly: true, Limit: window + q.ready.skipped()}
	told := strictkv.Progress(func(p strictkv.WalkProgress) { seen = p })
	for job, err := range q.jobs.Items(ctx, r, told) {
		if err != nil {
			return fmt.Errorf("list jobs: %w", err)
		}
		keys = append(keys, job.Key)
	}
	q.ready.found(now, keys, len(keys) == r.Limit)
	if !q.ready.pays(int(seen.Listed - seen.Done)) {
		return nil
	}
	to := keyOf(stampOf(now.Add(-headMargin)), "")
	if len(keys) > 0 {
		to = keys[0]
	}
	return q.advance(ctx, to)
}

// skipped is how many jobs need no look.
func (c *candidates) skipped() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.skip)
}

// pays reports whether so many keys of finished jobs are worth moving the head.
func (c *candidates) pays(passed int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if passed < c.passed {
		return false
	}
	c.passed = passedMax + c.rand.IntN(passedMax)
	return true
}
