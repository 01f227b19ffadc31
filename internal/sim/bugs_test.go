package sim_test

// bug is a change of source that breaks a rule: of the protocol, of a layer, or of a pattern.
type bug struct {
	name, file, good, bad string
	// workload, if not empty, is the only one in which the rule matters.
	workload string
}

var bugs = []bug{
	{
		"read validation skipped", "internal/commit/validate.go",
		`		if r.Outdated(now[i], clock) {
			stale = true`,
		`		if false && r.Outdated(now[i], clock) {
			stale = true`, "",
	},
	{
		"parallel reads validated all but one", "internal/txn/reads.go",
		`if r.Base.Answered >= sent {`,
		`if false && r.Base.Answered >= sent {`, "",
	},
	{
		"a version taken as proof", "internal/commit/plan.go",
		`return r.Seen && w != r.Writer ||`,
		`return r.Seen && w != r.Writer && now.Version != r.Base.Version ||`, "",
	},
	{
		"attempts named by what a clone draws too", "internal/commit/attempt.go",
		`txid.New(c.rt.Entropy)`,
		`txid.New(c.rt.Uint64)`, "",
	},
	{
		"a refusal that proves nothing, told as doubt", "internal/commit/place.go",
		`proof = proof || a.st.SendsOnce();`,
		`proof = proof && true;`, "deep",
	},
	{
		"a base from long ago, where writes may be repeated", "internal/commit/prepare.go",
		`	if c.st.SendsOnce() {
		return nil`,
		`	if true || c.st.SendsOnce() {
		return nil`, "deep",
	},
	{
		"an upload that is old by the store's clock alone linked", "internal/store/clock.go",
		`	if !m.There.IsZero() {
		age =`,
		`	if false {
		age =`, "leap",
	},
	{
		"a value removed without a fence", "internal/sweep/garbage.go",
		`if p.o.DryRun || p.o.Horizon < 0 {`,
		`if true {`, "leap",
	},
	{
		"an unknown outcome taken for failure", "internal/store/write.go",
		`	case errors.Is(err, backend.ErrOutcomeUnknown):
		return Unknown`,
		`	case errors.Is(err, backend.ErrOutcomeUnknown):
		return Refused`, "",
	},
	{
		"a committed member folded without its mark", "internal/resolve/resolve.go",
		`f.Unmarked = r.outcomes.Cleared(in.Tx, in.Members, rd.Name, r.st.Cached)`,
		`f.Unmarked = true`, "",
	},
	{
		"a mark dropped early", "internal/outcome/outcome.go",
		`if !ok || s.Proved <= x.since || !off(s, tx, y) {`,
		`if !ok || !off(s, tx, y) {`, "",
	},
	{
		"a mark not carried over", "internal/cell/transition.go",
		`	if len(f.Drop) == 0 {
		return c.Marks
`,
		`	if len(f.Drop) == 0 {
		return nil
`, "",
	},
	{
		"a pending intent read through", "internal/resolve/resolve.go",
		`if in.Action == cell.Lock || in.Mode == cell.Staged {`,
		`if true {`, "",
	},
	{
		"the confirming read left out", "internal/resolve/status.go",
		`			var err error
			if s, err = r.Read(ctx, s.Name); err != nil {
				return Reading{}, err
			}
			if s.Cell.Holds(in.Tx) {`,
		`			if true {`, "",
	},
	{
		"a fence forgotten when killing", "internal/resolve/conflict.go",
		`res, s, err := r.st.Send(ctx, r.st.Prepare(at, next))`,
		`res, s, err := store.Applied, at, error(nil); _ = next`, "",
	},
	{
		"intents released before the commit point", "internal/commit/validate.go",
		`	return a.commitPrimary()
`,
		`	for _, m := range a.members[1:] {
		drop := cell.Drop(m.Landed.Cell, a.id)
		a.rs.Send(a.ctx, a.st.Prepare(m.Landed, drop))
	}
	return a.commitPrimary()
`, "",
	},
	{
		"validated before all intents have landed", "internal/commit/attempt.go",
		`	v := a.placeAll()
	if !v.ended() && a.apart() {`,
		`	if a.kind == Validated {
		if err := a.validate(); err != nil || a.found.Stale {
			return dead(err)
		}
		a.plan.Reads, a.plan.Spans = nil, nil
	}
	v := a.placeAll()
	if !v.ended() && a.apart() {`, "",
	},
	{
		"a cached value used without validation", "internal/txn/reads.go",
		`	if sent <= t.begun {
`,
		`	if false {
`, "",
	},
	{
		"what the disk has, read without a request", "internal/store/store.go",
		`		known, _ = s.cache.Recall(name)
`,
		`		if known, _ = s.cache.Recall(name); known.Version != "" {
			known.Proved, known.Until = s.Tick(), s.rt.Now()
			return snapshot(name, known), nil
		}
`, "",
	},
	{
		"what the disk has, taken for what was listed", "internal/store/list.go",
		`	if !ok || e.Version != v {`,
		`	if !ok {`, "range",
	},
	{
		"an error of the function returned without validation", "internal/txn/reads.go",
		`	if exists || !t.valid(tx, reads) {`,
		`	if ferr == nil && (exists || !t.valid(tx, reads)) {`, "",
	},
	{
		"an unknown commit write taken for failure", "internal/commit/validate.go",
		`		default: // refused may be a duplicate
			doubt = true
`,
		`		default:
			return dead(err)
`, "",
	},
	{
		"a direct write of unknown outcome run again", "internal/commit/doubt.go",
		`	if !a.mayCommit() {
		return Dead
	}
	return InDoubt`,
		`	if a.kind == Direct || !a.mayCommit() {
		return Dead
	}
	return InDoubt`, "deep",
	},
	{
		"one member short taken for committed", "internal/resolve/status.go",
		`case count[atExpected] > 0 || in.Mode == cell.Pending:`,
		`case count[atExpected] > 1 || in.Mode == cell.Pending:`, "",
	},
	{
		"a refused wave goes on", "internal/commit/place.go",
		`		case store.Refused:
			w.refused = true`,
		`		case store.Refused:
			m.Landed = m.Base.Snapshot`, "",
	},
	{
		"a mark forgotten by the fence", "internal/cell/transition.go",
		`	n := *c
	n.Condemned = false
`,
		`	n := *c
	n.Condemned, n.Marks = false, nil
`, "",
	},
	{
		"an insert over a value", "internal/commit/plan.go",
		`|| r.Insert && !now.Absent(clock)
`,
		`|| false && r.Insert && !now.Absent(clock)
`, "",
	},
	{
		"a weak snapshot of two instants", "internal/txn/reads.go",
		`return !since.After(until) &&`,
		`return`, "",
	},
	{
		"a tombstone removed that was not condemned", "internal/sweep/sweep.go",
		`shape == cell.ShapeTombstone && (p.wary || p.o.Horizon >= 0):`,
		`shape == cell.ShapeTombstone && p.wary:`, "",
	},
	{
		"a condemned tombstone removed before its horizon", "internal/sweep/sweep.go",
		`	case !p.old(info, p.o.Horizon):
		return p.young()
	case info.Size`,
		`	case shape != cell.ShapeCondemned && !p.old(info, p.o.Horizon):
		return p.young()
	case info.Size`, "sweep",
	},
	{
		"a conclusion drawn from a condemned tombstone", "internal/resolve/status.go",
		`if at.state != isOff || !s.Cell.Condemned {`,
		`if true {`, "condemn",
	},
	{
		"an owner's conclusion drawn from a condemned tombstone", "internal/commit/doubt.go",
		`		seen[i], err = a.rs.Look(a.ctx, members[i].Name, members[i].asks(a.id))
		return err`,
		`		s, err := a.rs.Read(a.ctx, members[i].Name)
		if err == nil {
			c := *s.Cell
			c.Condemned = false
			s.Cell = &c
			seen[i].Snapshot, seen[i].Evidence = s, members[i].tells(a.id, s, false)
		}
		return err`, "condemn",
	},
	{
		"an external value written after its cell", "internal/txn/upload.go",
		`	rt.Go(func() {
		defer cancel()
		u.value,`,
		`	u.done.Set()
	rt.Go(func() {
		defer cancel()
		u.value,`, "",
	},
	{
		"an external value removed while its cell links it", "internal/resolve/resolve.go",
		`if ref != "" && !w.Next.Links(ref) {`,
		`if ref != "" {`, "",
	},
	{
		"an old external value removed unasked", "internal/sweep/garbage.go",
		`return links(s.Cell, v.id) })`,
		`return links(s.Cell, v.id) && s.Cell.Intent == nil })`, "",
	},
	{
		"a value of the last attempt taken for unlinked", "internal/txn/upload.go",
		`if !slices.ContainsFunc(t.linked, u.linkedBy) {`,
		`if len(t.linked) < 2 {`, "",
	},
	{
		"a weak read older than its bound", "internal/txn/engine.go",
		`ok = ok && e.st.Fresh(rd.Until, e.rt.Now(), staleness)`,
		`ok = ok && e.rt.Now().Sub(rd.Since) >= 0`, "weak",
	},
	{
		"a walk joins reads older than itself", "scan.go",
		`scan.WalkOptions{Since: c.db.st.Tick()}`,
		`scan.WalkOptions{}`, "range-walk",
	},
	{
		"a walk passes over what holds an intent", "scan.go",
		`		if !found.PresentAt(now) {`,
		`		if !found.PresentAt(now) || found.Size&3 == 2 {`, "range-walk",
	},
	{
		"a drop passes over what holds an intent", "internal/scan/below.go",
		`return l.Shape == cell.ShapeTombstone ||`,
		`return l.Shape == cell.ShapeLook || l.Shape == cell.ShapeTombstone ||`, "range-walk",
	},
	{
		"a drop takes what it knows of a key for what is there", "internal/txn/engine.go",
		`if err != nil || x.absent() && x.Due == 0 {`,
		`if err == nil && x.absent() {
			x.Seen = false
		}
		if err != nil || x.absent() && x.Due == 0 {`, "range-walk",
	},
	{
		"a commit write sent twice on the way taken for refused", "internal/commit/validate.go",
		`		case res == store.Refused && a.st.SendsOnce():
`,
		`		case res == store.Refused:
			return dead(err)
`, "",
	},
	{
		"a write sent twice on the way taken for refused", "internal/commit/place.go",
		`		case shows:
			m.Result = store.Unknown
			duplicates = append(duplicates, m)`,
		`		case shows:
			proof = true`, "",
	},
	{
		"a group commits what a failed function has done", "internal/txn/group.go",
		`	case !r.good:`,
		`	case !r.good && len(r.tx.entries) == 0:`, "crowd",
	},
	{
		"a group commits what a waiter has done that left before", "internal/txn/group.go",
		`		if r.waiter.Gone() {
			return false
		}
	}
	return true
}

// without`,
		`		_ = r
	}
	return true
}

// without`, "crowd",
	},
	{
		"a waiter leaves a committing group without doubt", "internal/txn/group.go",
		`	if !g.committing {
		return err
	}
	t.e`,
		`	if g.committing {
		return err
	}
	t.e`, "crowd",
	},
	{
		"a group forgets what its waiters have read", "internal/txn/group.go",
		`		} else {
			own := *e`,
		`		} else if own := *e; e.op != opNone {
			own = *e`, "crowd",
	},
	{
		"a group forgets what waiters before have done to a key", "internal/txn/group.go",
		`		*e = *src
		e.fetch, e.lent,`,
		`		e.fetch, e.lent,`, "crowd",
	},
	{
		"a due value read", "internal/txn/readset.go",
		`	if e.value.Due(now) {`, `	if false {`, "expire",
	},
	{
		"a due value read without a transaction", "internal/txn/engine.go",
		`		case v.Kind == cell.Absent, v.Due(now):`,
		`		case v.Kind == cell.Absent:`, "expire",
	},
	{
		"a view that ends after what it saw was due", "internal/txn/reads.go",
		`	if tx.ends() <= t.e.st.Clock() {`, `	if false {`, "expire",
	},
	{
		"a value that may be due soon replaced in one round", "internal/commit/plan.go",
		`len(p.Spans) > 0 || p.Soon:`, `len(p.Spans) > 0:`, "expire",
	},
	{
		"a pending attempt commits after what it saw was due", "internal/commit/validate.go",
		`	a.found.Stale = a.found.Stale || a.plan.Ends <= a.st.Clock()
`, ``, "expire",
	},
	{
		"locked values commit after they were due", "internal/commit/locks.go",
		`	if ends <= a.st.Clock() {`, `	if false {`, "expire",
	},
	{
		"a due cell taken as base without a look", "internal/commit/plan.go",
		`r.Insert && !now.Absent(clock)`, `r.Insert && !now.Absent(1<<62)`, "expire",
	},
	{
		"an insert takes what expires for absent", "internal/txn/tx.go",
		`	case ok && !rd.Absent(tx.now):`,
		`	case ok && !rd.Absent(1<<62):`, "expire",
	},
	{
		"an expiry lost in a fold", "internal/cell/transition.go",
		`		n.commit(in.Tx, in.Action, in.Value)
`,
		`		v := in.Value
		v.Expires = 0
		n.commit(in.Tx, in.Action, v)
`, "expire",
	},
	{
		"an expiry lost in the cache", "internal/cell/footprint.go",
		`	v.Data, v.own = bytes.Clone(v.Data), true
`,
		`	v = Inlined(bytes.Clone(v.Data))
`, "expire",
	},
	{
		"a scan that trusts the listing", "internal/scan/scan.go",
		`return f.Present() && (f.expires == 0 || f.expires > now)`,
		`return f.Present()`, "range-expire",
	},
	{
		"an expiry lost as a listing is compared", "internal/scan/validate.go",
		`now.writer, now.reading, now.expires = seen.writer, seen.reading, seen.expires`,
		`now.writer, now.reading = seen.writer, seen.reading`, "range-expire",
	},
	{
		"a sweep deletes what is not due", "internal/resolve/tidy.go",
		`		case !v.Due(r.st.Clock()):`, `		case false:`, "expire-sweep",
	},
	{
		"a version that is not required", "internal/txn/readset.go",
		`	if found == writer {`,
		`	if true || found == writer {`, "swap",
	},
	{
		"a version that is not validated", "internal/txn/readset.go",
		`	switch {
	case e.handed:`,
		`	e.Seen = false
	switch {
	case e.handed:`, "swap",
	},
	{
		"a version required of what a group has written", "internal/txn/readset.go",
		`	case e.handed:
`,
		`	case false:
`, "swap",
	},
	{
		"a range not validated", "internal/commit/validate.go",
		`	if found.Stale = found.Now != nil || staleSpans; !found.Stale {`,
		`	if found.Stale = found.Now != nil; !found.Stale {
		_ = staleSpans`, "",
	},
	{
		"a scan validated up to the last key fetched", "internal/scan/span.go",
		`	s.consumed = s.Interval
`,
		``, "",
	},
	{
		"a scan with a limit validated from its first key to its last", "internal/scan/validate.go",
		`	found, rest := s.ordered(), s.consumed
`,
		`	found, rest := s.ordered(), s.consumed
	if n := len(found); s.Limit > 0 && n > 0 {
		rest.From, rest.To = found[0].Name, keyspace.UpTo(found[n-1].Name)
	}
`, "range",
	},
	{
		"a listed version of a cell with an intent taken for its value",
		"internal/scan/validate.go",
		`	case seen.Version == now.Version && seen.isSettled() && !now.damaged:`,
		`	case seen.Version == now.Version && !now.damaged:`, "range",
	},
	{
		"weak scans of two instants", "internal/txn/scan.go",
		`if s.At().IsZero() || !s.At().Equal(at) {`,
		`if s == nil {`, "range",
	},
	{
		"a commit write's mark without the last key", "internal/commit/validate.go",
		`	return cell.Amend(m.Landed.Cell, a.intent(m))
`,
		`	in := a.intent(m)
	if len(in.List) > 2 {
		in.List = in.List[:len(in.List)-1]
	}
	return cell.Amend(m.Landed.Cell, in)
`, "escalate",
	},
	{
		"the function not run again on locked values", "internal/commit/locks.go",
		`if !r.Outdated(m.Base, l.a.st.Clock()) {`,
		`if true {`, "",
	},
	{
		"a lock that is not given its value", "internal/commit/locks.go",
		`	if m.Action == cell.Lock {
		return nil`,
		`	if m != a.members[1] || m.Action == cell.Lock {
		return nil`, "",
	},
	{
		"an intent not sent after the hot one", "internal/commit/place.go",
		`	return a.place(rest)
`,
		`	return a.place(rest[1:])
`, "",
	},
	{
		"a member at its expected version taken for landed", "internal/resolve/status.go",
		`return ok && s.Cell.Holds(tx) && r.st.Fresh(s.Until, r.rt.Now(), store.AttemptMax)`,
		`return ok && (s.Cell.Holds(tx) || string(s.Version) == m.Expected)`, "",
	},
	{
		"a value under locks read through", "internal/resolve/resolve.go",
		`if in.Action == cell.Lock || in.Mode == cell.Staged {`,
		`if true {`, "escalate",
	},
	{
		"an instant found although something has changed", "internal/scan/validate.go",
		`		if !quiet[i] || p.moved {`,
		`		if _, _ = i, p; false {`, "range",
	},
	{
		"a mail address written without a look", "examples/patterns/index.go",
		`tx.Insert(s.ByMail,`, `tx.Write(s.ByMail,`, "unique",
	},
	{
		"an index entry left behind", "examples/patterns/index.go",
		`tx.Delete(s.ByCity, city),`, `tx.Delete(s.ByCity, city[:1]),`, "unique",
	},
	{
		"an answer looked up before the transaction", "examples/patterns/once.go",
		`answer, err := tx.Read(answers, []byte(request))`,
		`answer, err := answers.Read(ctx, []byte(request))`, "once",
	},
	{
		"a counter read before the transaction", "examples/patterns/counter.go",
		`	return counters.Update(ctx, key, func(old []byte) ([]byte, error) {`,
		`	return func(
		ctx context.Context, key []byte, f func(old []byte) ([]byte, error),
	) error {
		old, _ := counters.Read(ctx, key)
		sum, err := f(old)
		if err != nil {
			return err
		}
		return counters.Write(ctx, key, sum)
	}(ctx, key, func(old []byte) ([]byte, error) {`, "shards",
	},
	{
		"a leader that requires nothing", "examples/patterns/leader.go",
		`err := tx.Require(c.Terms, []byte(c.Office), t.version)`,
		`var err error`, "expire-leader",
	},
	{
		"a leader elected into another's term", "examples/patterns/leader.go",
		`if holder != "" && holder != c.Name {`, `if false {`, "expire-leader",
	},
	{
		"a bucket read before the transaction", "examples/patterns/rate.go",
		`value, err := tx.Read(buckets, []byte(who))`,
		`value, err := buckets.Read(ctx, []byte(who))`, "expire-rate",
	},
	{
		"an event written over another", "examples/patterns/events.go",
		`return tx.Insert(events, key, event)`, `return tx.Write(events, key, event)`, "events",
	},
	{
		"a job claimed whose lease lasts", "layers/queue/job.go",
		`	case r.leased(now):`, `	case false:`, "jobs",
	},
	{
		"a job completed that is another's", "layers/queue/job.go",
		`(key == nil || r.token != j.token) {`, `key == nil {`, "jobs",
	},
	{
		"a job that moves and stays", "layers/queue/job.go",
		`	if err := tx.Delete(q.jobs, from); err != nil {`,
		`	if err := error(nil); err != nil {`, "jobs",
	},
	{
		"a dead letter that is still a job", "layers/queue/dead.go",
		`	if err := tx.Delete(q.jobs, key); err != nil {`,
		`	if err := error(nil); err != nil {`, "jobs",
	},
	{
		"a position that skips", "internal/follow/read.go",
		`		for i, x := range some[:n] {
			some[i] = nil`,
		`		for _, x := range some[:n] {
			if x.tells && x.err == nil && !x.held && !p.Instant {
				p.book.saw(x.name, x.entry)
				p.book.told(x.name)
			}
		}
		for i, x := range some[:n] {
			some[i] = nil`, "range-follow",
	},
	{
		"a change reported from an undecided intent", "internal/follow/read.go",
		`	v, w := rd.Effective()
	r := reading`,
		`	v, w := rd.Cell.Effective(rd.Outcome != cell.Dead)
	r := reading`, "range-follow",
	},
	{
		"an instant without validation", "internal/follow/pass.go",
		`p.passes > 1 && !p.moved &&`, `p.passes > 1 &&`, "range-follow",
	},
	{
		"a follower reads through a pending intent", "internal/resolve/conflict.go",
		`return rd, rd.Final() || rd.readable(), nil`, `return rd, true, nil`, "range-follow",
	},
	{
		"what is held counts as seen", "internal/follow/read.go",
		`	case n.held:
		p.held[n.name] = true
`,
		`	case n.held:
`, "range-follow",
	},
	{
		"a follower takes a read before the pass for one of it", "internal/follow/read.go",
		`	since := p.since
`, `	since := uint64(0)
`, "range-follow-sweep",
	},
	{
		"a key that was swept away is still there", "internal/follow/compare.go",
		`	case x.row == nil && e.Present:
		return lost
`,
		`	case x.row == nil && e.Present:
		return same
`, "range-follow-sweep",
	},
	{
		"a follower lets a due value stay", "internal/follow/compare.go",
		`		case e.Expires <= now:
			return lost
`,
		`		case e.Expires <= now:
			return same
`, "range-follow-expire",
	},
	{
		"hints taken for all that there is", "internal/follow/pass.go",
		`	p := f.newPass(ctx)
	var all`,
		`	p := f.newPass(ctx)
	p.sum.Whole = true
	var all`, "range-follow",
	},
}
