package resolve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/contention"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Limits of waiting for an undecided attempt.
const (
	// pauseMin and pauseMax bound the time between two looks at it.
	pauseMin = 200 * time.Microsecond
	pauseMax = 500 * time.Millisecond
	// stagedHaste is how much shorter it is for a staged attempt.
	stagedHaste = 4
	// pauseDoublings bounds how often a pause doubles.
	pauseDoublings = 12
	// killsMax bounds how often a fence is sent that is refused, or of unknown outcome, at a
	// version at which the member stays: for 40 s or more.
	killsMax = 100
	// seenMax is how many undecided attempts a handle keeps the time of.
	seenMax = 4096
)

// Role is who meets an undecided attempt.
type Role struct {
	// Writer wants to replace the cell: it needs the attempt to be final. Others
	// only want to know the cell's value.
	Writer bool
	// Ranked is set for a writer and for a validator that holds intents:
	// wound-wait decides by Priority. A reader without intents waits as a younger
	// transaction does.
	Ranked   bool
	Priority txid.Priority
}

// Effective reads a cell and finds out its effective value, waiting for a pending
// attempt if there is one.
func (r *Resolver) Effective(ctx context.Context, name string, role Role) (Reading, error) {
	s, err := r.Read(ctx, name)
	if err != nil {
		return Reading{}, err
	}
	return r.Settle(ctx, s, role)
}

// Shared is Effective for a reader who may share the request with others: see
// store.ReadShared.
func (r *Resolver) Shared(ctx context.Context, name string, after uint64) (Reading, error) {
	s, err := r.st.ReadShared(ctx, name, after)
	if err != nil {
		return Reading{}, err
	}
	r.note(s)
	return r.Settle(ctx, s, Role{})
}

// Glance is Shared for a reader who does not wait: it also reports whether the cell's effective
// value can be told now.
func (r *Resolver) Glance(
	ctx context.Context, name string, after uint64,
) (rd Reading, told bool, err error) {
	s, err := r.st.ReadShared(ctx, name, after)
	if err != nil {
		return Reading{}, false, err
	}
	r.note(s)
	if in := s.Cell.Intent; in == nil || in.Action == cell.Lock {
		return r.Known(s), true, nil
	}
	if rd, err = r.status(ctx, s); err != nil {
		return Reading{}, false, err
	}
	return rd, rd.Final() || rd.readable(), nil
}

// status is Status, with what somebody else of this handle has found out meanwhile.
func (r *Resolver) status(ctx context.Context, s store.Snapshot) (Reading, error) {
	rd, err := r.Status(ctx, s)
	if err != nil || rd.Final() {
		return rd, err
	}
	fences := rd.fences
	rd = r.Known(rd.Snapshot)
	rd.fences = fences
	return rd, nil
}

// Kept is Shared for a cell at the version that a listing has shown, without a request, if the
// cache has it on disk: see store.Kept.
func (r *Resolver) Kept(name string, v backend.Version, asked store.Asked) (Reading, bool) {
	s, ok := r.st.Kept(name, v, asked)
	if !ok {
		return Reading{}, false
	}
	r.note(s)
	rd := r.Known(s)
	return rd, rd.Final()
}

// Settle finds out a cell's effective value. For a writer it returns only when the
// intent in it is final, for others when its value can be told.
//
// A writer grants an undecided staged attempt that is younger about the latency of
// a write, a pending one nothing, and one that is older its whole patience (its
// client may have crashed); then it kills the attempt. A reader waits only for a
// pending attempt whose intent is in its primary.
func (r *Resolver) Settle(ctx context.Context, s store.Snapshot, role Role) (Reading, error) {
	if s.Cell.Intent == nil {
		return r.Known(s), nil
	}
	w := r.st.Observer().Wait(observe.ForIntent, s.Name)
	rd, killed, err := r.settle(ctx, s, role, &w)
	switch {
	case err != nil:
		w.End(ctx, observe.GaveUp)
	case killed:
		w.End(ctx, observe.Killed)
	default:
		w.End(ctx, observe.Over)
	}
	return rd, err
}

func (r *Resolver) settle(
	ctx context.Context, s store.Snapshot, role Role, w *observe.Wait,
) (rd Reading, killed bool, err error) {
	kills := fencing{}
	for pause := r.firstPause(); ; pause = min(pause*3/2, pauseMax, max(r.patience/4, pauseMin)) {
		if in := s.Cell.Intent; in != nil && in.Action == cell.Lock && !role.Writer {
			return r.Known(s), false, nil
		}
		if rd, err = r.status(ctx, s); err != nil {
			return Reading{}, false, err
		}
		if rd.Final() || !role.Writer && rd.readable() {
			return rd, false, nil
		}
		w.Begin()
		wait := min(r.interval(rd, pause), r.grace(rd, role))
		if known := r.Known(rd.Snapshot); known.Final() { // found out meanwhile, and then forgotten
			r.seen.forget(rd.Cell.Intent.Tx)
			return known, false, nil
		}
		switch {
		case wait <= 0:
			if err = r.admitKill(ctx, &kills, rd.fences[0]); err != nil {
				break
			}
			settled, kerr := r.kill(ctx, rd, pause)
			if kerr != nil || settled.Cell != nil {
				return settled, kerr == nil, kerr
			}
			s, err = r.Read(ctx, rd.Name)
		case rd.Cell.Intent.Mode == cell.Staged: // its missing members tell
			s, err = rd.Snapshot, r.rt.Sleep(ctx, wait)
		default:
			s, err = r.again(ctx, rd.Snapshot, wait)
		}
		if err != nil {
			return Reading{}, false, err
		}
	}
}

// fencing counts the fences in vain at one version of one member.
type fencing struct {
	name    string
	version backend.Version
	tries   int
}

// admitKill pauses before a fence that was refused, or unknown, is sent again although the
// member is still at the same version, and gives up after a while: nobody was faster.
func (r *Resolver) admitKill(ctx context.Context, f *fencing, at store.Snapshot) error {
	if f.name != at.Name || f.version != at.Version {
		*f = fencing{name: at.Name, version: at.Version}
	}
	f.tries++
	if f.tries > killsMax {
		return r.outrun(at.Name, killsMax)
	}
	return r.Rest(ctx, f.tries-1)
}

// interval is the pause between two looks at an attempt: short for a staged one, which is a
// moment from committing.
func (r *Resolver) interval(rd Reading, pause time.Duration) time.Duration {
	if rd.Cell.Intent.Mode == cell.Staged {
		return pause / stagedHaste
	}
	return pause
}

// Rest pauses before a cell is tried again, longer each time.
func (r *Resolver) Rest(ctx context.Context, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	return r.rt.Sleep(ctx, min(r.firstPause()<<min(try-1, pauseDoublings), pauseMax))
}

func (r *Resolver) firstPause() time.Duration {
	return min(max(r.st.PutLatency()/2, pauseMin), pauseMax)
}

// grace is how long an undecided attempt still has before it is killed.
func (r *Resolver) grace(rd Reading, role Role) time.Duration {
	in := rd.Cell.Intent
	grace := contention.Meeting{
		Patience: r.patience, Latency: r.st.PutLatency(),
		Ranked: role.Ranked, Older: role.Priority.Older(in.Priority),
		Staged: in.Mode == cell.Staged,
	}.Grace()
	beat := backend.Version("")
	if in.Mode == cell.Pending {
		beat = rd.fences[0].Version
	}
	now := r.rt.Now()
	return grace - now.Sub(r.seen.first(in.Tx, beat, now))
}

// ErrHeld is what a reader gets who may not kill.
var ErrHeld = fmt.Errorf("an undecided transaction holds the key, and only who may write can "+
	"end it: %w", backend.ErrUnavailable)

// kill makes the commit of an undecided attempt impossible, by a fence: it rewrites
// a member at the version that the attempt expects of it, or drops the intent from
// a pending attempt's primary. If the fence is not accepted, nothing is known, and
// the returned Reading is empty; if its outcome is unknown, after a pause. (A refusal
// needs none: somebody was faster.)
func (r *Resolver) kill(
	ctx context.Context, rd Reading, pause time.Duration,
) (Reading, error) {
	if r.st.ReadOnly() {
		return Reading{}, fmt.Errorf("read %q: %w", r.st.FullName(rd.Name), ErrHeld)
	}
	in := rd.Cell.Intent
	at := rd.fences[0]
	next := cell.Fence(at.Cell)
	if at.Cell.Holds(in.Tx) {
		next = cell.Drop(at.Cell, in.Tx)
	}
	res, s, err := r.st.Send(ctx, r.st.Prepare(at, next))
	switch {
	case res == store.Applied:
		r.Dead(in.Tx)
		if at.Name != rd.Name {
			s = rd.Snapshot
		}
		return r.Known(s), nil
	case ctx.Err() != nil:
		return Reading{}, errors.Join(ctx.Err(), err)
	case res == store.NotApplied:
		return Reading{}, err
	case res == store.Unknown:
		return Reading{}, r.rt.Sleep(ctx, pause)
	}
	return Reading{}, nil
}

// firstSeen remembers since when undecided attempts have been met: an observer's own
// elapsed time, counted in parallel for all of them.
type firstSeen struct {
	mu    seam.Mutex // guards all below
	byTx  map[txid.ID]sighting
	order []txid.ID // oldest first
}

type sighting struct {
	at   time.Time
	beat backend.Version
}

func newFirstSeen() *firstSeen { return &firstSeen{byTx: map[txid.ID]sighting{}} }

// first returns when the attempt was first met. It begins anew when a pending
// attempt's primary has changed: its owner is alive.
func (m *firstSeen) first(tx txid.ID, beat backend.Version, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, ok := m.byTx[tx]
	if ok && x.beat == beat {
		return x.at
	}
	if !ok {
		if len(m.order) == seenMax {
			delete(m.byTx, m.order[0])
			m.order = m.order[1:]
		}
		m.order = append(m.order, tx)
	}
	m.byTx[tx] = sighting{at: now, beat: beat}
	return now
}

func (m *firstSeen) forget(tx txid.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.byTx[tx]; !ok {
		return
	}
	delete(m.byTx, tx)
	for i, x := range m.order {
		if x == tx {
			m.order = append(m.order[:i], m.order[i+1:]...)
			return
		}
	}
}
