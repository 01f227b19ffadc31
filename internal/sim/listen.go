package sim

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/strictkv/strictkv"
)

// heard is what the observers of a run were told, in a hash: two runs that are the same have
// told the same.
type heard struct {
	events int
	hash   hash.Hash64
}

func newHeard() heard { return heard{hash: fnv.New64a()} }

// String is a digest.
func (h heard) String() string { return fmt.Sprintf("%d events %x", h.events, h.hash.Sum64()) }

// errHeld: whatever an observer does would be done under a lock of the engine.
var errHeld = errors.New("an observer was called with a mutex held")

// hear takes note of an event.
func (s *Sim) hear(e any) {
	if s.world.Holds() {
		s.world.Fail(fmt.Errorf("%w: %T", errHeld, e))
	}
	s.heard.events++
	_, _ = fmt.Fprintf(s.heard.hash, "%T %v\n", e, e)
}

// listener is an observer that takes note of what differs if anything does.
func (s *Sim) listener() strictkv.Observer {
	return strictkv.Observer{
		TxBegin: func(ctx context.Context, e strictkv.TxBegin) context.Context {
			s.hear(e.Start)
			return ctx
		},
		TxEnd: func(_ context.Context, e strictkv.TxEnd) {
			e.Err = nil
			s.hear(e)
		},
		TxAttempt: func(_ context.Context, e strictkv.TxAttempt) { s.hear(e.Lost.Key) },
		TxRetry:   func(_ context.Context, e strictkv.TxRetry) { s.hear(e.Lost.Key) },
		WaitEnd:   func(_ context.Context, e strictkv.WaitEnd) { s.hear(e.Duration) },
		RequestBegin: func(ctx context.Context, e strictkv.RequestBegin) context.Context {
			s.hear(e.Object)
			return ctx
		},
		RequestEnd: func(_ context.Context, e strictkv.RequestEnd) { s.hear(e.Result) },
		Resend:     func(_ context.Context, e strictkv.Resend) { s.hear(e.Pause) },
		WorkBegin: func(ctx context.Context, e strictkv.WorkBegin) context.Context {
			s.hear(e.Task)
			return ctx
		},
		WorkEnd: func(_ context.Context, e strictkv.WorkEnd) { s.hear(e.Duration) },
	}
}
