package commit

import (
	"context"
	"slices"
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/cleanup"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// attempt is one try to commit: a set of writes with an id of its own.
//
// Its states, and what an observer sees who meets its intents meanwhile:
//
//	parallel            intents on their way; some member at its expected version  undecided
//	                    all landed. Commit point.                                  committed
//	                    one refused, so it never lands                             dead
//	validated, locked   intents on their way, or landed                            undecided
//	                    the primary replaced by its value. Commit point.           committed
//	                    the primary off without the mark                           dead
//	direct              one write, or several at one instant. Commit point.        (no intent)
type attempt struct {
	*Committer
	plan *Plan
	kind Kind
	// ctx is that of its requests: the transaction's, but for one of several that race.
	ctx     context.Context
	id      txid.ID
	members []*Member // the first is the primary; the others in name order when it commits
	// list is that of its intents. Of a locked attempt it becomes the whole one at the end.
	list  cell.Members
	phase phase
	// batched says that all its writes are one request, and none is an intent.
	batched bool
	// unsent are the members whose write waits until the hot one has landed.
	unsent []*Member
	// partial says that it began with a hot member alone.
	partial bool
	// raced says that others of the transaction were under way to its primary at the same
	// time: which has come last there is not known.
	raced bool
	// buried says that it has, or may have, killed itself: see bury.
	buried bool
	found  Validation
	// born is when it began, or the oldest of the uploads that it links: by the store's clock,
	// when the first of its requests was answered.
	born store.Moment
	// start is the store's time at its beginning, or earlier; first and last bound when its
	// writes have landed. All are zero while they are not known.
	start, first, last time.Time
}

// phase is how far an attempt with pending intents has come.
type phase uint8

const (
	// placing: the commit write has not been sent, or has certainly come to nothing.
	placing phase = iota
	// committing: it may be on its way.
	committing
)

// newAttempt prepares the writes of an attempt.
func (c *Committer) newAttempt(ctx context.Context, p *Plan) *attempt {
	a := &attempt{
		Committer: c, plan: p, kind: p.Kind(), ctx: ctx, id: txid.New(c.rt.Entropy),
		members: p.Members,
	}
	a.begin()
	for _, m := range a.members {
		_, m.writer = m.Base.Effective()
		a.endBefore(m.External)
	}
	switch a.kind {
	case Direct:
		c.counts.Direct.Add(1)
		m := a.members[0]
		m.write = c.st.Prepare(m.Base.Snapshot,
			cell.Write(m.Base.Cell, m.Fold, a.id, m.Action, m.Value))
		return a
	case Parallel:
		c.counts.Parallel.Add(1)
	default:
		c.counts.Validated.Add(1)
	}
	if a.batches() {
		a.kind, a.batched = Direct, true
		return a
	}
	a.list = listOf(a.members)
	a.list.Long = len(a.members) > cell.ListMax
	carried := a.list
	for i, m := range a.members {
		if i == 1 && a.list.Long {
			carried.List = a.list.List[:1]
		}
		in := &cell.Intent{
			Tx: a.id, Priority: p.Priority, Mode: a.kind.mode(), Action: m.Action, Value: m.Value,
			Members: carried,
		}
		m.write = c.st.Prepare(m.Base.Snapshot, cell.Place(m.Base.Cell, m.Fold, in))
	}
	return a
}

// listOf names members with what the attempt expects of them.
func listOf(members []*Member) cell.Members {
	list := make([]cell.Member, len(members))
	for i, m := range members {
		list[i] = cell.Member{Name: m.Name, Expected: string(m.Base.Version)}
	}
	return cell.Members{List: list}
}

// begin notes when it does.
func (a *attempt) begin() {
	now := a.st.Moment()
	a.born.Here, a.start = now.Here, now.There
}

// endBefore makes an attempt that links a value end before that may be garbage.
func (a *attempt) endBefore(x *External) {
	if x != nil {
		a.born = a.born.Earlier(x.Begun)
	}
}

// run takes the attempt to its end.
func (a *attempt) run() verdict {
	if a.batched {
		return a.sendBatch()
	}
	v := a.placeAll()
	if !v.ended() && a.apart() {
		v = a.together()
	}
	switch {
	case v.ended():
		return v
	case a.kind == Validated:
		return a.validateAndCommit()
	}
	return committed
}

// conclude ends the attempt, and tells the result.
func (a *attempt) conclude(v verdict) Result {
	r := a.finish(v)
	a.ended(r)
	return r
}

// withdraw is the result of an attempt that is not made.
func (a *attempt) withdraw(err error) Result {
	r := Result{Outcome: Withdrawn, Err: err}
	a.ended(r)
	return r
}

// ended tells the observer.
func (a *attempt) ended(r Result) {
	o := a.st.Observer()
	if o == nil {
		return
	}
	kind := a.kind
	if a.batched {
		kind = a.plan.Kind()
	}
	seen := observe.Attempt{
		Protocol: observe.Direct + observe.Protocol(kind), Keys: len(a.members), Err: r.Err,
	}
	switch r.Outcome {
	case Committed:
		seen.End = observe.Landed
	case InDoubt:
		seen.End = observe.Doubtful
	case Withdrawn:
		seen.End = observe.Withdrawn
	}
	i := slices.IndexFunc(a.members, func(m *Member) bool { return m.Result == store.Refused })
	if i >= 0 && r.Outcome != Committed {
		seen.Lost = a.members[i].Name
	}
	o.Attempt(a.ctx, seen)
}

// finish does what follows from how the attempt has ended.
func (a *attempt) finish(v verdict) Result {
	r := Result{
		Outcome: v.Outcome, Err: v.err, Members: a.members, Partial: a.partial, Batched: a.batched,
		Buried: a.buried, Validation: a.found,
	}
	switch v.Outcome {
	case Committed:
		a.succeed()
	case InDoubt:
		r.Err = a.doubtful(v.err)
	default:
		a.die()
	}
	return r
}

// succeed tells the resolver of the commit, and leaves the intents to the
// background. Cells of earlier attempts that this one has not replaced stay queued.
func (a *attempt) succeed() {
	a.plan.Left.replaced(a.members)
	a.forget()
	if a.kind == Direct {
		for _, m := range a.members {
			if m.Result != store.Applied {
				a.rs.Replaced(m.write)
			}
		}
		return
	}
	a.rs.Committed(a.id, a.list)
	left := a.members
	if a.kind.mode() == cell.Pending {
		a.rs.Clear(a.id, left[0].Name)
		left = left[1:]
	}
	names := namesOf(left)
	if slices.ContainsFunc(a.members, func(m *Member) bool { return a.keys.Hot(m.Name) }) {
		a.bg.ResolveLate(a.id, names)
		return
	}
	a.bg.Resolve(a.id, names, false)
}

// forget makes the memory of scans forget what the attempt has written.
func (a *attempt) forget() {
	if a.memory.Used() {
		a.memory.Forget(a.rt.Now(), namesOf(a.members)...)
	}
}

func namesOf(members []*Member) []string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	return names
}

// die notes what a dead attempt has, or may have, left in cells.
func (a *attempt) die() {
	a.counts.Refused.Add(1)
	left := a.plan.Left
	left.replaced(a.members)
	for _, m := range a.members {
		if m.Result == store.Refused {
			a.keys.Lost(m.Name)
		}
	}
	for _, m := range a.unsent {
		a.keys.Doubt(m.Name)
	}
	if a.kind == Direct {
		return
	}
	a.rs.Dead(a.id)
	for _, m := range a.members {
		if m.Result == store.Applied || m.Result == store.Unknown {
			left.attempted(leftover{m.Name, a.id, a.kind.mode() == cell.Pending, a.raced})
		}
	}
}

// doubtful is the error of an attempt in doubt. The background finds out what it came to, or
// kills it, and settles its intents.
func (a *attempt) doubtful(cause error) error {
	names := namesOf(a.members)
	a.st.Log().Warn("a transaction is in doubt: the background settles it",
		"attempt", a.id, "keys", len(names), "err", cause)
	if a.kind == Direct {
		for _, m := range a.members {
			a.bg.UnlinkByWrite(a.id, m.writer, m.write, a.expired)
		}
	} else {
		a.bg.Resolve(a.id, names, a.kind.mode() == cell.Pending)
		a.bg.UnlinkIfDead(a.id, a.kind.mode(), a.linking(), a.expired)
	}
	return &InDoubtError{Attempt: a.id, Names: names, Err: whyDoubt(a.ctx, cause)}
}

// linking tells the background what it needs to know of the members' external values.
func (a *attempt) linking() []cleanup.Linking {
	all := make([]cleanup.Linking, len(a.members))
	for i, m := range a.members {
		all[i] = cleanup.Linking{Member: a.list.List[i], Ref: m.Value.Ref}
		if m.Action != cell.Lock {
			all[i].Saw = m.writer
		}
	}
	return all
}
