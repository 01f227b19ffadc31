package resolve

import (
	"context"
	"math"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// What follows is for a sweep: it brings cells into a state that depends on no other cell.

// Tidied is what Tidy has found to do.
type Tidied uint8

// What Tidy may have done.
const (
	// Nothing: somebody has done it before.
	Nothing Tidied = iota
	// Settled: there was an intent.
	Settled
	// Expired: the value was due, and is deleted now.
	Expired
	// Lasting: the value is not due yet.
	Lasting
)

// Tidy settles the intent in a cell and folds it, or deletes a value that is due. It settles
// as the youngest writer would: it waits for an undecided attempt, and kills it when
// the patience has run out. In a hurry it does as the oldest, which nobody keeps waiting.
func (r *Resolver) Tidy(ctx context.Context, name string, hurry bool) (did Tidied, err error) {
	role := Role{Writer: true, Ranked: true}
	role.Priority = txid.Priority{Time: math.MaxInt64, Tie: math.MaxUint64}
	if hurry {
		role.Priority = txid.Priority{Time: math.MinInt64}
	}
	err = r.foldOut(ctx, folding{name: name, tries: racesMax}, func() step {
		s, err := r.Read(ctx, name)
		if err != nil {
			return step{done: true, err: err}
		}
		switch v := &s.Cell.Value; {
		case s.Cell.Intent != nil:
		case did == Settled || v.Expires == 0:
			return step{done: true}
		case !v.Due(r.st.Clock()):
			did = Lasting
			return step{done: true}
		default:
			expired := r.expire(ctx, s)
			if did = Nothing; expired.done && expired.err == nil {
				did = Expired
			}
			return expired
		}
		did = Settled
		rd, err := r.Settle(ctx, s, role)
		if err != nil || rd.Cell.Intent == nil { // it may have been killed by dropping it
			return step{done: true, err: err}
		}
		return step{fold: rd}
	})
	return did, err
}

// expire deletes a value that is due, as a transaction of its own would: the tombstone has a new
// writer, so that whoever still counts on the value, as its clock is slow, is refused.
func (r *Resolver) expire(ctx context.Context, s store.Snapshot) step {
	tx := txid.New(r.rt.Entropy)
	next := cell.Write(s.Cell, r.FoldOf(r.Known(s)), tx, cell.Delete, cell.Value{})
	switch res, _, err := r.Send(ctx, r.st.Prepare(s, next)); res {
	case store.Applied:
		return step{done: true}
	case store.NotApplied:
		return step{done: true, err: err}
	}
	return step{} // look again
}

// Unmark helps the transactions of all marks in a cell without an intent: it folds what
// intents of theirs remain in other members. It returns the cell as it may then be
// written at the version of s: without marks.
func (r *Resolver) Unmark(ctx context.Context, s store.Snapshot) (*cell.Cell, error) {
	for _, m := range s.Cell.Marks {
		if err := r.help(ctx, m.Tx, m.Members, s.Name, 0); err != nil {
			return nil, err
		}
	}
	bare := *s.Cell
	bare.Marks = nil
	return &bare, nil
}
