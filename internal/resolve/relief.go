package resolve

import (
	"context"
	"fmt"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// reliefDepth bounds how many full cells may stand in each other's way.
const reliefDepth = 8

// racesMax bounds how often a cell is read and written again since others were faster.
const racesMax = 20

// Relieve makes room in a cell that would carry too many marks after a write that
// folds what is in it and adds extra ones: it helps the oldest marks' transactions
// by folding what intents of theirs remain, after which those marks can go. Without
// need it sends no request. The cell itself is not written.
func (r *Resolver) Relieve(ctx context.Context, rd Reading, extra int) error {
	_, err := r.relieve(ctx, rd, extra, 0)
	return err
}

// relieve also returns what the write is to fold.
func (r *Resolver) relieve(
	ctx context.Context, rd Reading, extra, depth int,
) (cell.Fold, error) {
	for {
		f := r.FoldOf(rd)
		if cell.MarksAfter(rd.Cell, f)+extra <= cell.MarksMax {
			return f, nil
		}
		if depth == reliefDepth {
			return f, fmt.Errorf("relieve %q: %d full cells in a row: %w",
				r.st.FullName(rd.Name), depth, backend.ErrUnavailable)
		}
		tx, members := oldest(rd.Cell, f)
		if err := r.help(ctx, tx, members, rd.Name, depth); err != nil {
			return f, fmt.Errorf("relieve %q: %w", r.st.FullName(rd.Name), err)
		}
	}
}

// oldest is the transaction that is to be helped: that of the oldest mark that
// would stay, or if there is none, of the intent that would leave one.
func oldest(c *cell.Cell, f cell.Fold) (txid.ID, cell.Members) {
	for _, m := range c.Marks {
		if !f.Drops(m.Tx) {
			return m.Tx, m.Members
		}
	}
	return c.Intent.Tx, c.Intent.Members
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
	for try := range racesMax {
		if err := r.Rest(ctx, try); err != nil {
			return err
		}
		s, err := r.lookAt(ctx, tx, m)
		if err != nil {
			return err
		}
		if s.state != holds {
			r.outcomes.Clear(tx, m.Name)
			return nil
		}
		rd := r.Known(s.Snapshot)
		rd.Outcome = cell.Committed // it may have been forgotten meanwhile
		res, err := r.foldIntent(ctx, rd, depth+1)
		if res == store.Applied || res == store.NotApplied {
			return err
		}
	}
	return r.outrun(m.Name, racesMax)
}

// outrun is the error of who tried to write a cell in vain.
func (r *Resolver) outrun(name string, tries int) error {
	return fmt.Errorf("rewrite %q: refused or unknown %d times: %w",
		r.st.FullName(name), tries, backend.ErrUnavailable)
}

// foldIntent replaces a final intent by its outcome.
func (r *Resolver) foldIntent(
	ctx context.Context, rd Reading, depth int,
) (store.Result, error) {
	res, _, err := r.tryFold(ctx, rd, depth)
	return res, err
}

// tryFold is foldIntent. It also returns what it has sent.
func (r *Resolver) tryFold(
	ctx context.Context, rd Reading, depth int,
) (store.Result, *store.Write, error) {
	f, err := r.relieve(ctx, rd, 0, depth)
	if err != nil {
		return store.NotApplied, nil, err
	}
	w := r.st.Prepare(rd.Snapshot, cell.Resolve(rd.Cell, f))
	res, _, err := r.Send(ctx, w)
	if res != store.NotApplied && ctx.Err() == nil {
		err = nil
	}
	return res, w, err
}
