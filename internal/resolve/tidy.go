package resolve

import (
	"context"
	"math"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// What follows is for a sweep: it brings cells into a state that depends on no other cell.

// Tidy settles the intent in a cell and folds it; it reports whether there was one. It does
// so as the youngest writer would: it waits for an undecided attempt, and kills it when
// the patience has run out. In a hurry it does as the oldest, which nobody keeps waiting.
func (r *Resolver) Tidy(ctx context.Context, name string, hurry bool) (met bool, err error) {
	role := Role{Writer: true, Ranked: true}
	role.Priority = txid.Priority{Time: math.MaxInt64, Tie: math.MaxUint64}
	if hurry {
		role.Priority = txid.Priority{Time: math.MinInt64}
	}
	err = r.foldOut(ctx, folding{name: name, tries: racesMax}, func() step {
		s, err := r.Read(ctx, name)
		if err != nil || s.Cell.Intent == nil {
			return step{done: true, err: err}
		}
		met = true
		rd, err := r.Settle(ctx, s, role)
		if err != nil || rd.Cell.Intent == nil { // it may have been killed by dropping it
			return step{done: true, err: err}
		}
		return step{fold: rd}
	})
	return met, err
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
