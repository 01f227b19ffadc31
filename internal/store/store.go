// Package store reads and writes cells through the cache. It turns the calls of a
// backend into what the protocol needs to know of them: a read is a snapshot of a
// cell with the logical time at which it was requested, and a write was applied,
// refused, not applied, or is unknown.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/txid"
)

// Limits of requests.
const (
	// timeoutMax is the longest timeout of a request: an attempt is over after a quarter of
	// an hour, and all of its requests with it.
	timeoutMax = 5 * time.Minute
	// triesMax is the largest number of times that a request is sent again.
	triesMax = 100
	// pauseMax bounds what a store may ask for in addition.
	pauseMax = 30 * time.Second
)

// ErrFormat: an object was written by a newer version of this library.
var ErrFormat = cell.ErrFormat

// Requests bounds single requests to a store. Fields that are zero have the defaults of
// DefaultRequests.
type Requests struct {
	// Timeout bounds one request, and twice that a wave of them; one that moves a large
	// value has more, by its size. A write that exceeds it is of unknown outcome. It is 5
	// minutes at most.
	Timeout time.Duration
	// Retries is how often a request is sent again that was certainly not applied, or a
	// read that failed; 100 at most. A negative number is none.
	Retries int
	// BackoffMin and BackoffMax bound the pause before it is, which doubles each time, with
	// jitter. A store that asks for a longer one gets it, up to half a minute.
	BackoffMin, BackoffMax time.Duration
}

// DefaultRequests are the bounds of who sets none.
var DefaultRequests = Requests{
	Timeout: 30 * time.Second, Retries: 8,
	BackoffMin: 50 * time.Millisecond, BackoffMax: 5 * time.Second,
}

// bounded fills in the defaults, and keeps to the limits.
func (r Requests) bounded() Requests {
	d := DefaultRequests
	if r.Timeout > 0 {
		d.Timeout = min(r.Timeout, timeoutMax)
	}
	if r.Retries != 0 {
		d.Retries = min(max(r.Retries, 0), triesMax)
	}
	if r.BackoffMin > 0 {
		d.BackoffMin = min(r.BackoffMin, timeoutMax)
	}
	if r.BackoffMax > 0 {
		d.BackoffMax = min(r.BackoffMax, timeoutMax)
	}
	d.BackoffMax = max(d.BackoffMax, d.BackoffMin)
	return d
}

// Options configures a Store.
type Options struct {
	Backend backend.Backend
	Runtime seam.Runtime
	Cache   *cache.Cache
	// Prefix is the database's folder: names of cells are relative to it.
	Prefix string
	// Concurrency is how many requests may be under way at once.
	Concurrency int
	// Requests bounds each of them.
	Requests Requests
	// Probe says when the store is probed.
	Probe Probe
	// MustExist makes Open fail with ErrNoDatabase where there is none. ReadOnly does so
	// too: no write or delete is ever sent, nor is the store probed.
	MustExist, ReadOnly bool
	// Logger, if not nil, is warned of the first request of Open that fails, and of what a
	// probe finds that does not forbid to go on.
	Logger *slog.Logger
	// Observer, if not nil, is told of every request.
	Observer *observe.Observer
}

// Store is one database's objects in a bucket.
type Store struct {
	bounds  Requests
	backend backend.Backend
	batcher backend.Batcher // the backend, if it is one
	near    bool            // what its Capabilities say
	rt      seam.Runtime
	cache   *cache.Space
	prefix  string
	id      txid.ID
	limit   *seam.Limiter
	atOnce  int // what limit bounds
	counts  Counts
	putTime latency
	flights flights
	changes changeRate
	deletes bool // the store is known to honour the condition of a Delete
	// readOnly says that no write or delete is sent.
	readOnly bool
	// asked says that AskClock has sent its write.
	asked atomic.Bool
	// opening says that the logger is to be told of the next failure, be it the first.
	opening atomic.Bool
	opened  metaTime
	log     *slog.Logger
	// observer may be nil.
	observer *observe.Observer
}

// Snapshot is a cell as a request saw it, or as the cache remembers it.
type Snapshot struct {
	// Name is the cell's name, relative to the database.
	Name string
	// Cell is never nil: without an object it is the zero cell.
	Cell *cell.Cell
	// Version is empty if there is no object.
	Version backend.Version
	// Proved is the logical time at which the request that proved this state was
	// sent: the cell was so at an instant after it.
	Proved uint64
	// Since and Until bound the interval in which the cell is known to have been
	// so: the answer of the first request that saw it, the sending of the last.
	Since, Until time.Time
	// Told is the store's time in the answer; zero if there was none, or it did not tell.
	Told time.Time
}

// ID is the database's own, which copies of its objects share.
func (s *Store) ID() txid.ID { return s.id }

// Runtime is the door to goroutines and time.
func (s *Store) Runtime() seam.Runtime { return s.rt }

// Observer is who is told of what the handle does; it may be nil.
func (s *Store) Observer() *observe.Observer { return s.observer }

// Log is where the handle tells what an operator should know; it is never nil.
func (s *Store) Log() *slog.Logger { return s.log }

// Tick advances the logical clock, which orders requests and knowledge.
func (s *Store) Tick() uint64 { return s.cache.Tick() }

// Counts are the requests so far.
func (s *Store) Counts() *Counts { return &s.counts }

// PutLatency is a moving average of how long a write takes.
func (s *Store) PutLatency() time.Duration { return s.putTime.mean() }

// FullName is the name of an object in the bucket.
func (s *Store) FullName(name string) string { return s.prefix + name }

// Cached returns what the cache remembers of a cell, without a request.
func (s *Store) Cached(name string) (Snapshot, bool) {
	e, ok := s.cache.Lookup(name)
	if !ok {
		return Snapshot{}, false
	}
	return snapshot(name, e), true
}

func snapshot(name string, e cache.Entry) Snapshot {
	return Snapshot{
		Name: name, Cell: e.Cell, Version: e.Version,
		Proved: e.Proved, Since: e.Since, Until: e.Until,
	}
}

var noObject = &cell.Cell{}

// NoObject is the snapshot of a cell that is taken to have no object.
func NoObject(name string) Snapshot { return Snapshot{Name: name, Cell: noObject} }

// Read reads a cell: one conditional request, sent again if it fails.
func (s *Store) Read(ctx context.Context, name string) (Snapshot, error) {
	known, cached := s.cache.Lookup(name)
	if !cached {
		known, _ = s.cache.Recall(name)
	}
	seen, err := s.read(ctx, name, known, cached)
	if !cached && known.Version != "" && errors.Is(err, backend.ErrInvalid) {
		// Its form is another store's, from which the objects were copied here.
		return s.Fetch(ctx, name)
	}
	return seen, err
}

// Fetch reads a cell's bytes, whatever the cache remembers.
func (s *Store) Fetch(ctx context.Context, name string) (Snapshot, error) {
	return s.read(ctx, name, cache.Entry{}, false)
}

// read is Read for a state that was so once, or the zero entry; cached says that memory has it,
// with the interval in which it was.
func (s *Store) read(
	ctx context.Context, name string, known cache.Entry, cached bool,
) (Snapshot, error) {
	e := cache.Entry{Cell: noObject}
	var data []byte
	var told, written time.Time
	err := s.retry(ctx, func(ctx context.Context) error {
		e.Proved = s.Tick()
		o, at, err := s.timedGet(ctx, name, known.Version)
		e.Until, e.Since, told, written = at.sent, at.came, o.Time, o.Modified
		switch {
		case err == nil:
			e.Version, e.Size = o.Version, cap(o.Data)
			e.Cell, err = cell.Decode(o.Data)
			if err != nil {
				return s.damaged(name, err)
			}
			data = o.Data
		case known.Version != "" && errors.Is(err, backend.ErrNotModified):
			e.Cell, e.Version, e.Size = known.Cell, known.Version, known.Size
		case errors.Is(err, backend.ErrNotFound):
		default:
			return err
		}
		return nil
	})
	if err != nil {
		return Snapshot{}, fmt.Errorf("read %q: %w", s.FullName(name), err)
	}
	e.Settled = e.Proved
	s.cache.Saw(told, e.Until, e.Since)
	s.cache.AtLeast(written)
	if cached {
		s.changes.observe(e.Until.Sub(known.Until), known.Version != e.Version)
	}
	if cached && known.Version == e.Version && e.Version != "" {
		e.Since = known.Since
	}
	s.cache.Learn(name, e)
	switch {
	case data != nil:
		s.cache.Keep(name, e, data)
	case !cached && e.Version != "":
		s.counts.DiskHits.Add(1)
	}
	seen := snapshot(name, e)
	seen.Told = told
	return seen, nil
}

// retry sends a request until it is answered, or fails for good: reads after any
// passing error, writes after one that means "not applied". It bounds the number
// of requests under way and the time of each.
func (s *Store) retry(ctx context.Context, send func(ctx context.Context) error) error {
	return s.retryFor(ctx, s.bounds.Timeout, send)
}

// retryFor is retry for requests that may take longer.
func (s *Store) retryFor(
	ctx context.Context, limit time.Duration, send func(ctx context.Context) error,
) error {
	pause := s.bounds.BackoffMin
	for try := 0; ; try++ {
		err := s.once(ctx, limit, send)
		switch {
		case err == nil:
			return nil
		case final(err):
			s.warnDamage(err)
			return err
		case ctx.Err() != nil:
			return errors.Join(ctx.Err(), err)
		case try == s.bounds.Retries && errors.Is(err, backend.ErrThrottled):
			s.warn(try, err)
			return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
		case try == s.bounds.Retries:
			s.warn(try, err)
			return NotTheCallers(err)
		}
		s.counts.Retried.Add(1)
		if s.opening.Swap(false) {
			s.log.Warn(unreachable, "tries", try+1, "err", err)
		}
		s.warn(try, err)
		wait := min(backend.PauseAsked(err), pauseMax) + seam.Jitter(s.rt, pause)
		s.observer.Resend(ctx, try+1, wait, err)
		if serr := s.rt.Sleep(ctx, wait); serr != nil {
			return errors.Join(serr, err)
		}
		pause = min(2*pause, s.bounds.BackoffMax)
	}
}

// warnTries is how often a request fails before that is worth a warning: single failures are part
// of a store's life.
const warnTries = 3

// unreachable is what the logger is told, at the first failure of those of Open.
const unreachable = "the store cannot be reached"

// warn tells the logger of a request that has failed in passing.
func (s *Store) warn(try int, err error) {
	switch {
	case errors.Is(err, backend.ErrThrottled):
		s.log.Warn("the store throttles requests", "err", err)
	case try+1 >= min(warnTries, s.bounds.Retries+1):
		s.log.Warn(unreachable, "tries", try+1, "err", err)
	}
}

// NotTheCallers turns the end of a context that was not the caller's into
// backend.ErrUnavailable, which is what it means to the caller.
func NotTheCallers(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &timeoutError{err}
	}
	return err
}

// timeoutError hides the end of a context, but not what else an error matches.
type timeoutError struct{ err error }

func (e *timeoutError) Error() string { return e.err.Error() }

func (e *timeoutError) Is(target error) bool {
	switch target {
	case context.DeadlineExceeded, context.Canceled:
		return false
	case backend.ErrUnavailable:
		return !errors.Is(e.err, backend.ErrOutcomeUnknown)
	}
	return errors.Is(e.err, target)
}

// boundedKey marks contexts made by Bounded.
type boundedKey struct{}

// Bounded derives a context for a wave of requests: one timeout serves them all.
func (s *Store) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := s.rt.WithTimeout(ctx, 2*s.bounds.Timeout)
	return context.WithValue(ctx, boundedKey{}, true), cancel
}

func (s *Store) once(
	ctx context.Context, limit time.Duration, send func(ctx context.Context) error,
) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("not sent: %w", err)
	}
	if err := s.limit.Acquire(ctx); err != nil {
		return fmt.Errorf("not sent: %w", err)
	}
	defer s.limit.Release()
	if ctx.Value(boundedKey{}) == nil {
		short, cancel := s.rt.WithTimeout(ctx, limit)
		defer cancel()
		ctx = short
	}
	return send(ctx)
}

// final reports whether sending the same read again is of no use.
func final(err error) bool {
	return errors.Is(err, backend.ErrBucketNotFound) || errors.Is(err, backend.ErrDenied) ||
		errors.Is(err, backend.ErrCorrupt) || errors.Is(err, backend.ErrInvalid) ||
		errors.Is(err, ErrFormat)
}

// warnDamage tells the logger of an object that is damaged.
func (s *Store) warnDamage(err error) {
	if errors.Is(err, backend.ErrCorrupt) {
		s.log.Warn("an object is damaged", "err", err)
	}
}

// damaged names the object that could not be decoded. One of a newer format is
// not corrupt.
func (s *Store) damaged(name string, err error) error {
	if errors.Is(err, ErrFormat) {
		return fmt.Errorf("object %q: %w", s.FullName(name), err)
	}
	return &backend.CorruptError{Object: s.FullName(name), Err: err}
}
