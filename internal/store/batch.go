package store

import (
	"context"
	"fmt"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/seam"
)

// SendsTogether reports whether the store can take all writes in one request, which takes effect at
// one instant. Each must have been prepared for this, and not been sent.
func (s *Store) SendsTogether(writes []*Write) bool {
	if s.batcher == nil || !s.SendsOnce() {
		return false
	}
	size := 0
	for _, w := range writes {
		size += len(w.data)
	}
	return size <= s.batcher.BatchMax()
}

// Batches reports whether the store can take any writes together.
func (s *Store) Batches() bool { return s.batcher != nil && s.SendsOnce() }

// SendAll sends writes in one request, again while it certainly was not applied. If it was Applied,
// the snapshots are the cells' new states; of a Refused one refused is the index of a write whose
// condition did not hold.
func (s *Store) SendAll(
	ctx context.Context, writes []*Write,
) (result Result, seen []Snapshot, refused int, err error) {
	all := make([]backend.Write, len(writes))
	for i, w := range writes {
		all[i] = backend.Write{Name: s.FullName(w.At.Name), Data: w.data, If: w.condition()}
	}
	result = NotApplied
	var cause error
	var made []backend.Stamp
	var at times
	proved := uint64(0)
	notApplied := s.retry(ctx, func(ctx context.Context) error {
		proved = s.Tick()
		made, refused, at, cause = s.timedPutAll(ctx, writes[0].At.Name, all)
		if result = classify(cause); result == NotApplied {
			return cause
		}
		return nil
	})
	if notApplied != nil {
		result, cause = NotApplied, notApplied
	}
	if result != Applied {
		return result, nil, refused, fmt.Errorf("write %q and %d more: %w",
			all[0].Name, len(all)-1, cause)
	}
	settled := s.Tick()
	seen = make([]Snapshot, len(writes))
	for i, w := range writes {
		seen[i] = s.applied(w.At.Name, cache.Entry{
			Cell: w.Next, Size: len(w.data), Wrote: true, Replaces: w.At.Version,
			Version: made[i].Version, Proved: proved, Settled: settled,
			Until: at.sent, Since: at.came,
		}, made[i].Time)
		if !w.At.Until.IsZero() {
			s.churn.observe(at.sent.Sub(w.At.Until), false)
		}
	}
	return Applied, seen, 0, nil
}

func (s *Store) timedPutAll(
	ctx context.Context, name string, all []backend.Write,
) (made []backend.Stamp, refused int, at times, err error) {
	at.sent = s.rt.Now()
	ctx, r := s.observer.Request(ctx, observe.Put, name, all[0].Name, at.sent)
	made, refused, err = s.batcher.PutAll(ctx, all)
	at.came = s.rt.Now()
	for _, w := range all {
		r.Written += len(w.Data)
	}
	s.counts.Puts.Add(1)
	s.counts.BytesWritten.Add(int64(r.Written))
	s.wrote(ctx, &r, at.came, err)
	return made, refused, at, err
}

// Wave calls f(0) to f(n-1), each of which reads, waits for all, and returns the error of the
// lowest index that failed: at the same time, unless the store answers a read as soon as a
// goroutine would have begun.
func (s *Store) Wave(n int, f func(i int) error) error {
	if !s.near {
		return seam.Each(s.rt, n, f)
	}
	var first error
	for i := range n {
		if err := f(i); err != nil && first == nil {
			first = err
		}
	}
	return first
}
