package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/observe"
)

// Result is how the sending of a write ended.
type Result uint8

// The results of a write.
const (
	// Unknown: it may have been applied, may still be applied, or never will be.
	Unknown Result = iota
	// Applied: the cell is, or was, at the new version.
	Applied
	// Refused: it was sent once, and its condition did not hold. It never will
	// be applied. (A refusal of bytes that were sent twice is Unknown.)
	Refused
	// NotApplied: it certainly was not applied, and never will be: it was not
	// sent, or the store said so until the patience for it ran out.
	NotApplied
)

// Write is one CAS of a cell. It may be sent several times, always with the same
// bytes.
type Write struct {
	// At is what the write replaces.
	At Snapshot
	// Next is what it writes.
	Next *cell.Cell

	data  []byte
	doubt bool // some earlier copy ended unknown
}

// Prepare makes the write that replaces at by next.
func (s *Store) Prepare(at Snapshot, next *cell.Cell) *Write {
	return &Write{At: at, Next: next, data: cell.Encode(next, s.rt.Entropy())}
}

// condition holds while the cell is at what the write replaces.
func (w *Write) condition() backend.Condition {
	if w.At.Version == "" {
		return backend.IfAbsent()
	}
	return backend.IfVersion(w.At.Version)
}

// SendsOnce reports whether a refusal is no duplicate for certain: nobody on the way to the store
// can have sent the write twice.
func (s *Store) SendsOnce() bool { return s.backend.Capabilities().SendsOnce }

// Send sends the write, again while it certainly was not applied. If it was
// Applied, the snapshot is the cell's new state; otherwise the error tells why.
func (s *Store) Send(ctx context.Context, w *Write) (Result, Snapshot, error) {
	cond := w.condition()
	e := cache.Entry{Cell: w.Next, Size: len(w.data), Wrote: true, Replaces: w.At.Version}
	result := NotApplied
	var cause error
	var told time.Time
	var at times
	notApplied := s.retry(ctx, func(ctx context.Context) error {
		if errors.Is(cause, backend.ErrThrottled) && s.outrun(ctx, w) {
			result, cause = Refused, errOutrun
			return nil
		}
		e.Proved = s.Tick()
		var made backend.Stamp
		made, at, cause = s.timedPut(ctx, w.At.Name, w.data, cond)
		e.Version, e.Until, told = made.Version, at.sent, made.Time
		result = classify(cause)
		if result == NotApplied {
			return cause
		}
		return nil
	})
	if notApplied != nil {
		result, cause = NotApplied, notApplied
	}
	if known := !w.At.Until.IsZero(); known && (result == Applied || result == Refused) {
		s.changes.observe(e.Until.Sub(w.At.Until), result == Refused)
	}
	if result == Applied {
		e.Since, e.Settled = at.came, s.Tick()
		s.cache.Keep(w.At.Name, e, w.data)
		return Applied, s.applied(w.At.Name, e, told), nil
	}
	if w.doubt {
		result = Unknown
	}
	w.doubt = result == Unknown
	return result, Snapshot{}, fmt.Errorf("write %q: %w", s.FullName(w.At.Name), cause)
}

// errOutrun says that a write that was throttled has become pointless.
var errOutrun = fmt.Errorf("the object has changed meanwhile: %w", backend.ErrPrecondition)

// outrun reports whether the cell has changed that a write is to replace. Of writers whom the
// store holds up at one object, those who have lost should not spend what it still takes.
func (s *Store) outrun(ctx context.Context, w *Write) bool {
	o, err := s.get(ctx, w.At.Name, w.At.Version)
	return err == nil && o.Version != w.At.Version ||
		errors.Is(err, backend.ErrNotFound) && w.At.Version != ""
}

// applied makes the answer of a write known to the cache.
func (s *Store) applied(name string, e cache.Entry, told time.Time) Snapshot {
	s.cache.Saw(told, e.Until, e.Since)
	s.putTime.add(e.Since.Sub(e.Until))
	s.cache.Learn(name, e)
	seen := snapshot(name, e)
	seen.Told = told
	return seen
}

// classify maps an error of Put. What it does not know for certain to mean "not
// applied" is unknown.
func classify(err error) Result {
	switch {
	case err == nil:
		return Applied
	case errors.Is(err, backend.ErrOutcomeUnknown):
		return Unknown
	case errors.Is(err, backend.ErrPrecondition):
		return Refused
	case errors.Is(err, backend.ErrThrottled), errors.Is(err, backend.ErrUnavailable),
		errors.Is(err, backend.ErrBucketNotFound), errors.Is(err, backend.ErrDenied),
		errors.Is(err, backend.ErrInvalid), errors.Is(err, backend.ErrCorrupt):
		return NotApplied
	}
	return Unknown
}

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
	switch {
	case notApplied != nil:
		result, cause = NotApplied, notApplied
	case result == Applied && len(made) != len(writes):
		result, cause = Unknown, fmt.Errorf("%d versions of %d writes", len(made), len(writes))
	}
	refused = min(max(refused, 0), len(writes)-1)
	if w := writes[refused]; result == Refused && !w.At.Until.IsZero() {
		s.changes.observe(at.sent.Sub(w.At.Until), true)
	}
	if result != Applied {
		return result, nil, refused, fmt.Errorf("write %q and %d more: %w",
			all[0].Name, len(all)-1, cause)
	}
	settled := s.Tick()
	seen = make([]Snapshot, len(writes))
	for i, w := range writes {
		e := cache.Entry{
			Cell: w.Next, Size: len(w.data), Wrote: true, Replaces: w.At.Version,
			Version: made[i].Version, Proved: proved, Settled: settled,
			Until: at.sent, Since: at.came,
		}
		s.cache.Keep(w.At.Name, e, w.data)
		seen[i] = s.applied(w.At.Name, e, made[i].Time)
		if !w.At.Until.IsZero() {
			s.changes.observe(at.sent.Sub(w.At.Until), false)
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
