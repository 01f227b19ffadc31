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
	// lockBeatsMax is how long heartbeats protect the locks of one attempt, while its function
	// runs; validateBeatsMax is how long they protect an attempt that is being validated.
	lockBeatsMax     = 30 * time.Second
	validateBeatsMax = 5 * time.Minute
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
	// m is the primary, of which the heart alone uses what has landed until it is stopped.
	m *member
	// lost is called when the primary does not hold the intent any more; gone is set then.
	lost func()
	gone bool
	// cancel ends the heartbeats at once, halt after the one that is under way.
	cancel        func()
	halt, stopped seam.Event
}

// beat begins the heartbeats of an attempt whose primary has landed. They end by stop, at the
// latest after a while.
func (a *attempt) beat(most time.Duration, lost func()) *heart {
	rt := a.t.e.rt
	ctx, cancel := rt.WithCancel(a.ctx)
	h := &heart{
		a: a, m: a.members[0], lost: lost,
		cancel: cancel, halt: rt.NewEvent(), stopped: rt.NewEvent(),
	}
	rt.Go(func() {
		defer h.stopped.Set()
		h.run(ctx, rt.Now().Add(most))
	})
	return h
}

// interval is the time between two heartbeats.
func (h *heart) interval() time.Duration {
	return min(max(h.a.t.e.rs.Patience()/2, beatMin), beatMax)
}

func (h *heart) run(ctx context.Context, until time.Time) {
	rt := h.a.t.e.rt
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
	rs, st, m := h.a.t.e.rs, h.a.t.e.st, h.m
	limit := max(h.interval()/beatPart, beatLatencies*st.PutLatency())
	short, cancel := st.Runtime().WithTimeout(ctx, limit)
	res, s, _ := rs.Send(short, st.Prepare(m.landed, cell.Fence(m.landed.Cell)))
	cancel()
	switch res {
	case store.Applied:
		m.landed = s
		return true
	case store.NotApplied:
		return false
	}
	short, cancel = st.Runtime().WithTimeout(ctx, limit)
	defer cancel()
	s, err := rs.Fetch(short, m.landed.Name)
	if err != nil {
		return false
	}
	if !s.Cell.Holds(h.a.id) {
		h.gone = true
		return false
	}
	landed, m.landed = s.Version != m.landed.Version, s
	return landed
}

// stop ends the heartbeats, at once or after the one that is under way. One that gets no answer
// is not waited for: if it lands later, the attempt's next write is refused, and finds that out.
func (h *heart) stop(now bool) {
	h.halt.Set()
	if rt := h.a.t.e.rt; !now {
		ctx, cancel := rt.WithTimeout(context.Background(), graceLatencies*h.a.t.e.st.PutLatency())
		_ = h.stopped.Wait(ctx)
		cancel()
	}
	h.cancel()
	_ = h.stopped.Wait(context.Background())
}
