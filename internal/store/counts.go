package store

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/observe"
)

// Counts are the requests of a Store, and what they moved.
type Counts struct {
	// Gets counts reads of objects; NotModified those of them that were answered
	// so.
	Gets, NotModified atomic.Int64
	// Puts counts writes; Unknown those of them whose outcome was unknown.
	Puts, Unknown atomic.Int64
	// DiskHits counts cells and external values that were read without moving their bytes,
	// since the cache's disk had them.
	DiskHits atomic.Int64
	// Deletes counts removals of objects, and Lists pages of listings.
	Deletes, Lists atomic.Int64
	// Retried counts requests that were sent again after a passing error.
	Retried atomic.Int64
	// BytesRead and BytesWritten count the bytes of objects.
	BytesRead, BytesWritten atomic.Int64
}

// latencyStart is the average before anything was measured.
const latencyStart = 50 * time.Millisecond

// latency is a moving average in nanoseconds; each sample weighs an eighth.
type latency struct{ v atomic.Int64 }

func (l *latency) mean() time.Duration {
	if v := l.v.Load(); v != 0 {
		return time.Duration(v)
	}
	return latencyStart
}

func (l *latency) add(d time.Duration) {
	old := l.v.Load()
	if old == 0 {
		old = int64(d)
	}
	l.v.Store(max(1, old+(int64(d)-old)/8))
}

// times are when a request was sent and answered, by the handle's clock. They are read once, for
// the cache and for the observer.
type times struct{ sent, came time.Time }

// All requests go through timedGet, timedPut, list and remove, which count them, and tell the
// observer.

func (s *Store) timedGet(
	ctx context.Context, name string, known backend.Version,
) (o backend.Object, at times, err error) {
	full := s.FullName(name)
	at.sent = s.rt.Now()
	ctx, r := s.observer.Request(ctx, observe.Get, name, full, at.sent)
	o, err = s.backend.Get(ctx, full, known)
	at.came = s.rt.Now()
	s.counts.Gets.Add(1)
	s.counts.BytesRead.Add(int64(len(o.Data)))
	if errors.Is(err, backend.ErrNotModified) {
		s.counts.NotModified.Add(1)
	}
	if r.Observed() {
		r.Read, r.Result, r.Err = len(o.Data), observe.ResultOf(err), err
		r.End(ctx, at.came)
	}
	return o, at, err
}

func (s *Store) get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	o, _, err := s.timedGet(ctx, name, known)
	return o, err
}

func (s *Store) timedPut(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (made backend.Stamp, at times, err error) {
	full := s.FullName(name)
	at.sent = s.rt.Now()
	ctx, r := s.observer.Request(ctx, observe.Put, name, full, at.sent)
	made, err = s.backend.Put(ctx, full, data, c)
	at.came = s.rt.Now()
	s.counts.Puts.Add(1)
	s.counts.BytesWritten.Add(int64(len(data)))
	r.Written = len(data)
	s.wrote(ctx, &r, at.came, err)
	return made, at, err
}

func (s *Store) put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	made, _, err := s.timedPut(ctx, name, data, c)
	return made, err
}

func (s *Store) remove(ctx context.Context, name string, v backend.Version) error {
	full := s.FullName(name)
	ctx, r := s.observer.Request(ctx, observe.Delete, name, full, s.rt.Now())
	err := s.backend.Delete(ctx, full, v)
	s.counts.Deletes.Add(1)
	s.wrote(ctx, &r, s.rt.Now(), err)
	return err
}

// wrote ends a write or a removal.
func (s *Store) wrote(ctx context.Context, r *observe.Request, came time.Time, err error) {
	unknown := err != nil && classify(err) == Unknown
	if unknown {
		s.counts.Unknown.Add(1)
	}
	if !r.Observed() {
		return
	}
	if r.Err, r.Result = err, observe.ResultOf(err); unknown {
		r.Result = observe.Unknown
	}
	r.End(ctx, came)
}

// list is given names, and gives them back, in full.
func (s *Store) list(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	name := strings.TrimPrefix(o.Prefix, s.prefix)
	ctx, r := s.observer.Request(ctx, observe.List, name, o.Prefix, s.rt.Now())
	page, err := s.backend.List(ctx, o)
	s.counts.Lists.Add(1)
	if r.Observed() {
		r.Result, r.Err = observe.ResultOf(err), err
		r.End(ctx, s.rt.Now())
	}
	return page, err
}
