package resolve

import (
	"context"
	"fmt"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/txid"
)

// compactDepth bounds how many full cells may stand in each other's way.
const compactDepth = 8

// compactMost is how many of a full cell's marks are seen to at once, the oldest: most of their
// members have been resolved long since, so that it takes one round for all, and the next writers
// find room. In cells that stand in the way it is one.
const compactMost = 6

// CompactMarks makes room in a cell that would carry too many marks after a write that
// folds what is in it and adds extra ones: it helps the oldest marks' transactions
// by folding what intents of theirs remain, after which those marks can go. Without
// need it sends no request. The cell itself is not written.
func (r *Resolver) CompactMarks(ctx context.Context, rd Reading, extra int) error {
	_, err := r.compact(ctx, rd, extra, 0)
	return err
}

// compact also returns what the write is to fold.
func (r *Resolver) compact(
	ctx context.Context, rd Reading, extra, depth int,
) (cell.Fold, error) {
	for {
		f := r.FoldOf(rd)
		if cell.MarksAfter(rd.Cell, f)+extra <= cell.MarksMax {
			return f, nil
		}
		if depth == compactDepth {
			return f, fmt.Errorf("compact marks of %q: %d full cells in a row: %w",
				r.st.FullName(rd.Name), depth, backend.ErrUnavailable)
		}
		if err := r.helpOldest(ctx, rd, f, depth); err != nil {
			return f, fmt.Errorf("compact marks of %q: %w", r.st.FullName(rd.Name), err)
		}
	}
}

// helpOldest helps those who have left the oldest marks.
func (r *Resolver) helpOldest(ctx context.Context, rd Reading, f cell.Fold, depth int) error {
	most := 1
	if depth == 0 {
		most = compactMost
	}
	old := oldest(rd.Cell, f, most)
	return seam.Each(r.rt, len(old), func(i int) error {
		return r.help(ctx, old[i].Tx, old[i].Members, rd.Name, depth)
	})
}

// oldest are the transactions that are to be helped: those of the oldest marks that would stay.
func oldest(c *cell.Cell, f cell.Fold, most int) []cell.Mark {
	var old []cell.Mark
	for _, m := range c.Marks {
		if !f.Drops(m.Tx) && len(old) < most {
			old = append(old, m)
		}
	}
	return old
}

// help sees to it that no member of a committed attempt, but perhaps one, holds its
// intent any more.
func (r *Resolver) help(
	ctx context.Context, tx txid.ID, m cell.Members, but string, depth int,
) error {
	r.Committed(tx, m)
	if !m.Whole() {
		full, err := r.fullList(ctx, tx, m)
		if err != nil || full.List == nil {
			return err
		}
		m = full
	}
	return seam.Each(r.rt, len(m.List), func(i int) error {
		if m.List[i].Name == but {
			return nil
		}
		return r.foldMember(ctx, tx, m.List[i], depth)
	})
}

// fullList reads the primary, which alone carries a long list. Without intent and
// mark there, no member holds the intent, and no list is needed.
func (r *Resolver) fullList(
	ctx context.Context, tx txid.ID, m cell.Members,
) (cell.Members, error) {
	p, err := r.lookAt(ctx, tx, m.Primary())
	if err != nil {
		return cell.Members{}, err
	}
	if mark, ok := p.Cell.Mark(tx); ok {
		m = mark.Members
	} else if p.Cell.Holds(tx) {
		m = p.Cell.Intent.Members
	} else {
		r.outcomes.ClearAll(tx)
		return cell.Members{}, nil
	}
	r.Committed(tx, m)
	return m, nil
}

// foldMember folds a committed attempt's intent in one member, if it is there.
func (r *Resolver) foldMember(ctx context.Context, tx txid.ID, m cell.Member, depth int) error {
	return r.foldOut(ctx, folding{name: m.Name, tries: racesMax, depth: depth + 1}, func() step {
		s, err := r.lookAt(ctx, tx, m)
		switch {
		case err != nil:
			return step{err: err}
		case s.state != holds:
			r.outcomes.Clear(tx, m.Name)
			return step{done: true}
		}
		rd := r.Known(s.Snapshot)
		rd.Outcome = cell.Committed // it may have been forgotten meanwhile
		return step{fold: rd}
	})
}
