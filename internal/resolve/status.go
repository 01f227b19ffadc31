package resolve

import (
	"context"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Status asks what has become of the attempt whose intent is in the cell: the
// status(T) of the protocol. A member is off if it is neither at its expected
// version nor holds the intent.
//
//   - Pending: the primary decides. With the mark: committed. Not off: undecided.
//   - Staged: all other members are read in one wave. One with the mark: committed.
//     All hold the intent: committed. None off: undecided.
//   - One off: dead, if the cell itself, read again after all that, still holds the
//     intent; if not, somebody has settled it, and everything starts over.
//
// The last read is needed since a committed attempt's members are folded one after
// another, and a member that has been folded and written again looks off. While the
// cell holds the intent, each folded member carries the mark.
func (r *Resolver) Status(ctx context.Context, s store.Snapshot) (Reading, error) {
	for {
		rd := r.Known(s)
		if rd.Final() {
			return rd, nil
		}
		in := s.Cell.Intent
		f := finding{fences: []store.Snapshot{s}} // of a pending attempt's primary: undecided
		if in.Mode != cell.Pending || in.Primary().Name != s.Name {
			var err error
			if f, err = r.ask(ctx, s); err != nil {
				return Reading{}, err
			}
		}
		switch f.verdict {
		case allUndecided:
			rd.fences, rd.Answered = f.fences, r.st.Tick()
			return rd, nil
		case someOff:
			var err error
			if s, err = r.Read(ctx, s.Name); err != nil {
				return Reading{}, err
			}
			if s.Cell.Holds(in.Tx) {
				r.Dead(in.Tx)
			}
		}
	}
}

type verdict uint8

const (
	allUndecided verdict = iota
	allCommitted
	someOff
)

// finding is the answer of the other members.
type finding struct {
	verdict verdict
	members cell.Members
	fences  []store.Snapshot
}

// inquiry is the asking for one attempt's status, which several callers share that met
// the attempt in different cells.
type inquiry struct {
	began   uint64 // logical time
	done    seam.Event
	finding finding
	err     error
}

// ask asks the members that decide, or joins who is doing so. That the attempt has
// committed, or that a member is off, is for everybody (who then reads its own cell
// again). That it is undecided counts only if it was asked after the cell was read.
func (r *Resolver) ask(ctx context.Context, s store.Snapshot) (finding, error) {
	tx, entered := s.Cell.Intent.Tx, r.st.Tick()
	for {
		q, leads := r.join(tx)
		if leads {
			q.finding, q.err = r.askMembers(ctx, s)
			if q.err == nil && q.finding.verdict == allCommitted {
				r.Committed(tx, q.finding.members) // before others could ask again
			}
			r.askMu.Lock()
			delete(r.asked, tx)
			r.askMu.Unlock()
			q.done.Set()
			return q.finding, q.err
		}
		if err := q.done.Wait(ctx); err != nil {
			return finding{}, err
		}
		if q.err == nil && (q.finding.verdict != allUndecided || q.began > entered) {
			return q.finding, nil
		}
	}
}

func (r *Resolver) join(tx txid.ID) (q *inquiry, leads bool) {
	r.askMu.Lock()
	defer r.askMu.Unlock()
	if q := r.asked[tx]; q != nil {
		return q, false
	}
	q = &inquiry{began: r.st.Tick(), done: r.rt.NewEvent()}
	r.asked[tx] = q
	return q, true
}

// askMembers reads the members that decide.
func (r *Resolver) askMembers(ctx context.Context, s store.Snapshot) (finding, error) {
	in := s.Cell.Intent
	p := in.Primary()
	if in.Mode == cell.Pending {
		sights, err := r.look(ctx, in.Tx, []cell.Member{p})
		return conclude(in, sights), err
	}
	others := make([]cell.Member, 0, len(in.List))
	members := in.Members
	if !in.Whole() {
		sights, err := r.look(ctx, in.Tx, []cell.Member{p})
		if err != nil || sights[0].state != holds {
			return conclude(in, sights), err
		}
		members = sights[0].Cell.Intent.Members
	}
	for _, m := range members.List {
		if m.Name != s.Name && (in.Whole() || m.Name != p.Name) && !r.landed(in.Tx, m) {
			others = append(others, m)
		}
	}
	sights, err := r.look(ctx, in.Tx, others)
	f := conclude(in, sights)
	if f.members.List == nil {
		f.members = members
	}
	return f, err
}

// landed reports whether the handle has seen a member hold the intent, at any time. What has
// landed has landed: if one of the others is off, either that one never will, or the
// attempt has been settled, and the cell that is asked for does not confirm. (Unless that was
// long ago: what the attempt expected to be absent may be so again.)
func (r *Resolver) landed(tx txid.ID, m cell.Member) bool {
	s, ok := r.st.Cached(m.Name)
	return ok && s.Cell.Holds(tx) && r.st.Fresh(s.Until, r.rt.Now(), store.AttemptMax)
}

type state uint8

const (
	marked     state = iota // carries the mark
	holds                   // holds the intent
	atExpected              // still as the attempt expects it
	isOff
)

// Sight is a member of an attempt as it was seen, and what it tells of that.
type Sight struct {
	store.Snapshot
	cell.Evidence
	state state
}

// look reads members in one wave.
func (r *Resolver) look(ctx context.Context, tx txid.ID, ms []cell.Member) ([]Sight, error) {
	sights := make([]Sight, len(ms))
	err := seam.Each(r.rt, len(ms), func(i int) (err error) {
		sights[i], err = r.lookAt(ctx, tx, ms[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	return sights, nil
}

func (r *Resolver) lookAt(ctx context.Context, tx txid.ID, m cell.Member) (Sight, error) {
	return r.Look(ctx, m.Name, cell.Question{Tx: tx, Expected: m.Expected})
}

// Look reads a member of an attempt. Before it calls a condemned tombstone off, it lifts the
// condemnation: the tombstone might vanish, and the member be at its expected
// version, absent, again. Who may not write takes it for that already: what is undecided
// may be read past just as what is dead, and nothing is concluded from it for good.
func (r *Resolver) Look(ctx context.Context, name string, q cell.Question) (Sight, error) {
	for try := range racesMax {
		if err := r.Rest(ctx, try); err != nil {
			return Sight{}, err
		}
		s, err := r.Read(ctx, name)
		if err != nil {
			return Sight{}, err
		}
		at := sightOf(s, q)
		if at.state != isOff || !s.Cell.Condemned {
			return at, nil
		}
		if r.inert {
			return Sight{s, cell.AtExpected, atExpected}, nil
		}
		res, lifted, err := r.st.Send(ctx, r.st.Prepare(s, cell.Fence(s.Cell)))
		switch {
		case res == store.Applied:
			return sightOf(lifted, q), nil
		case res == store.NotApplied:
			return Sight{}, err
		}
	}
	return Sight{}, r.outrun(name, racesMax)
}

// sightOf is what a cell tells. One that names the attempt without its mark has been folded by
// who knew that no other member holds the intent: it is off.
func sightOf(s store.Snapshot, q cell.Question) Sight {
	at := Sight{Snapshot: s, Evidence: s.Cell.Evidence(string(s.Version), q), state: isOff}
	switch at.Evidence {
	case cell.HoldsIntent:
		at.state = holds
	case cell.AtExpected:
		at.state = atExpected
	case cell.ProvesCommitted:
		if _, ok := s.Cell.Mark(q.Tx); ok {
			at.state = marked
		}
	}
	return at
}

// conclude draws the conclusion from the members that were asked: for a pending
// attempt the primary, for a staged one all others (or, of a long list, first the
// primary, unless that holds the intent).
func conclude(in *cell.Intent, sights []Sight) finding {
	var f finding
	count := [4]int{}
	for _, s := range sights {
		count[s.state]++
		switch s.state {
		case marked:
			m, _ := s.Cell.Mark(in.Tx)
			f.members = m.Members
		case holds:
			if in.Mode == cell.Pending {
				f.fences = append(f.fences, s.Snapshot)
			}
		case atExpected:
			f.fences = append(f.fences, s.Snapshot)
		}
	}
	switch {
	case count[marked] > 0:
		f.verdict = allCommitted
	case count[isOff] > 0:
		f.verdict = someOff
	case count[atExpected] > 0 || in.Mode == cell.Pending:
		f.verdict = allUndecided
	default:
		f.verdict = allCommitted
	}
	return f
}
