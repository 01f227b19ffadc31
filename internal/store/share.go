package store

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/strictkv/strictkv/internal/seam"
)

// joinMax is how long a read that somebody else has begun is waited for: if that hangs, not
// all are to hang with it.
const joinMax = 2 * time.Second

// flights are the reads that are under way and may be joined, by object.
type flights struct {
	mu     seam.Mutex // guards byName
	byName map[string]*flight
}

// flight is a read that is under way.
type flight struct {
	done seam.Event // nil until somebody joins it; guarded by flights.mu
	seen Snapshot   // of a cell
	data []byte     // of an external value
	err  error
}

// ReadShared reads a cell as Read does, or joins who is reading it: so that concurrent
// reads of one cell make one request. What it returns was asked for after the logical
// time given; with 0 it may be older than the call, and must be validated by whoever
// needs better.
func (s *Store) ReadShared(ctx context.Context, name string, after uint64) (Snapshot, error) {
	if s.near { // the read itself takes no longer
		return s.Read(ctx, name)
	}
	for {
		f, landed := s.flights.join(s.rt, name)
		if landed == nil {
			return s.lead(ctx, f, name)
		}
		short, cancel := s.rt.WithTimeout(ctx, joinMax)
		err := landed.Wait(short)
		cancel()
		switch {
		case ctx.Err() != nil && err != nil:
			return Snapshot{}, ctx.Err()
		case err != nil || f.err != nil: // perhaps since the one who asked has left
			return s.Read(ctx, name)
		case f.seen.Proved > after:
			return f.seen, nil
		}
	}
}

func (s *Store) lead(ctx context.Context, f *flight, name string) (Snapshot, error) {
	f.err = errNoAnswer
	defer s.flights.leave(name, f)
	f.seen, f.err = s.Read(ctx, name)
	return f.seen, f.err
}

// errNoAnswer is what others see of a read whose goroutine has ended otherwise.
var errNoAnswer = errors.New("no answer")

// join returns the read of an object that is under way, and when it will have ended; or a new
// one, for the caller to make.
func (f *flights) join(rt seam.Runtime, name string) (x *flight, landed seam.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.byName[name]; x != nil {
		if x.done == nil {
			x.done = rt.NewEvent()
		}
		return x, x.done
	}
	x = &flight{}
	if f.byName == nil {
		f.byName = map[string]*flight{}
	}
	f.byName[name] = x
	return x, nil
}

// leave ends a read, and lets those go on who have joined it.
func (f *flights) leave(name string, x *flight) {
	f.mu.Lock()
	delete(f.byName, name)
	done := x.done
	f.mu.Unlock()
	if done != nil {
		done.Set()
	}
}

const (
	// nearMax is how long reads follow each other. If one takes longer, it waits for somebody, as
	// the others may have to.
	nearMax = 2 * time.Millisecond
	// nearAtOnce is how many are then made at the same time.
	nearAtOnce = 16
)

// Wave calls f(0) to f(n-1), each of which reads, waits for all, and returns the error of the
// lowest index that failed: as many at the same time as requests may be under way, unless the
// store answers a read as soon as a goroutine would have begun.
func (s *Store) Wave(n int, f func(i int) error) error {
	if !s.near {
		return seam.Some(s.rt, n, s.atOnce, f)
	}
	var first error
	began := s.rt.Now()
	for i := range n {
		if err := f(i); err != nil && first == nil {
			first = err
		}
		now := s.rt.Now()
		if now.Sub(began) > nearMax {
			rest := seam.Some(s.rt, n-i-1, nearAtOnce, func(j int) error { return f(i + 1 + j) })
			return cmp.Or(first, rest)
		}
		began = now
	}
	return first
}
