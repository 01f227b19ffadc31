package commit

import (
	"context"
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// Limits of heartbeats.
const (
	// beatMin and beatMax bound the time between two heartbeats. The latter is for handles
	// with less patience than this one; a store may take no more than one write per second of
	// an object.
	beatMin = 10 * time.Millisecond
	beatMax = time.Second
	// beatPart is the part of that time after which a heartbeat counts as lost, or
	// beatLatencies latencies of a write, if that is longer. beatAgain is the part after which
	// another follows one that came to nothing.
	beatPart, beatLatencies = 2, 4
	beatAgain               = 8
	// graceLatencies is how many latencies of a write the end of an attempt waits for a
	// heartbeat that is under way.
	graceLatencies = 2
)

// heart rewrites the primary of a pending attempt from time to time, while something else
// keeps it from committing: others wait for it until their patience has run out, and begin
// anew when its primary has changed.
type heart struct {
	a *attempt
	// at is the primary as it was last seen to hold the intent; gone says that it does not any
	// more, and lost is called then.
	at   store.Snapshot
	gone bool
	lost func()
	// cancel ends the heartbeats at once, halt after the one that is under way.
	cancel        func()
	halt, stopped seam.Event
}

// beat begins the heartbeats of an attempt whose intent has landed in its primary. They end by
// stop, or after a while. If the intent is found to be gone, lost is called, if it is not nil: the
// attempt is dead, as its commit write has not been sent.
func (a *attempt) beat(primary store.Snapshot, most time.Duration, lost func()) *heart {
	ctx, cancel := a.rt.WithCancel(a.ctx)
	h := &heart{
		a: a, at: primary, lost: lost,
		cancel: cancel, halt: a.rt.NewEvent(), stopped: a.rt.NewEvent(),
	}
	a.rt.Go(func() {
		defer h.stopped.Set()
		h.run(ctx, a.rt.Now().Add(most))
	})
	return h
}

// interval is the time between two heartbeats.
func (h *heart) interval() time.Duration {
	return min(max(h.a.rs.Patience()/2, beatMin), beatMax)
}

func (h *heart) run(ctx context.Context, until time.Time) {
	rt := h.a.rt
	for pause := h.interval(); rt.Now().Before(until); {
		short, cancel := rt.WithTimeout(ctx, pause)
		err := h.halt.Wait(short)
		cancel()
		if err == nil || ctx.Err() != nil {
			return
		}
		if pause = h.interval(); !h.once(ctx) {
			pause /= beatAgain
		}
		if h.gone {
			if h.lost != nil {
				h.lost()
			}
			return
		}
	}
}

// once rewrites the primary, and reports whether that was seen to have landed. If it does not
// hold the intent any more, the attempt is dead, as its commit write has not been sent.
func (h *heart) once(ctx context.Context) (landed bool) {
	rt, st := h.a.rt, h.a.st
	limit := max(h.interval()/beatPart, beatLatencies*st.PutLatency())
	short, cancel := rt.WithTimeout(ctx, limit)
	res, s, _ := h.a.rs.Send(short, st.Prepare(h.at, cell.Fence(h.at.Cell)))
	cancel()
	switch res {
	case store.Applied:
		h.at = s
		return true
	case store.NotApplied:
		return false
	}
	short, cancel = rt.WithTimeout(ctx, limit)
	defer cancel()
	s, err := h.a.rs.Fetch(short, h.at.Name)
	if err != nil {
		return false
	}
	if !s.Cell.Holds(h.a.id) {
		h.gone = true
		return false
	}
	landed, h.at = s.Version != h.at.Version, s
	return landed
}

// stop ends the heartbeats, at once or after the one that is under way, and returns the primary as
// it was last seen to hold the intent, unless it is found to be gone. A heartbeat that gets no
// answer is not waited for: if it lands later, the attempt's next write is refused, and finds that
// out.
func (h *heart) stop(now bool) (primary store.Snapshot, gone bool) {
	h.halt.Set()
	if !now {
		grace := graceLatencies * h.a.st.PutLatency()
		ctx, cancel := h.a.rt.WithTimeout(context.Background(), grace)
		_ = h.stopped.Wait(ctx)
		cancel()
	}
	h.cancel()
	_ = h.stopped.Wait(context.Background())
	return h.at, h.gone
}
