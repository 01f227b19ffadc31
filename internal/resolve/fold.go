package resolve

import (
	"context"
	"fmt"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Limits of how often a cell is read and written again since others were faster.
const (
	racesMax = 20
	// foldTriesMax is for who cleans up. What is left then is for whoever meets it.
	foldTriesMax = 16
)

// folding is the task to bring a cell to where an intent in it has been folded.
type folding struct {
	name string
	// tries bounds how often the cell is read; depth counts cells that are folded to make room
	// for marks.
	tries, depth int
}

// step is what is to be done after a look at the cell: to fold what was found, unless it is
// done, or there was an error. With none of them, the cell is looked at again.
type step struct {
	fold Reading
	done bool
	err  error
}

// foldOut folds the final intent that next finds in a cell, until that says that it is done. A fold
// whose answer was lost has landed then, or somebody else's has.
func (r *Resolver) foldOut(ctx context.Context, f folding, next func() step) error {
	var unknown *store.Write
	for try := range f.tries {
		if err := r.Rest(ctx, try); err != nil {
			return err
		}
		s := next()
		switch {
		case s.err != nil:
			return s.err
		case s.done:
			if unknown != nil {
				r.Replaced(unknown)
			}
			return nil
		case s.fold.Cell == nil:
			continue
		}
		switch res, w, err := r.tryFold(ctx, s.fold, f.depth); res {
		case store.Applied, store.NotApplied:
			return err
		case store.Unknown:
			unknown = w
		}
	}
	return r.outrun(f.name, f.tries)
}

// tryFold replaces a final intent by its outcome. It also returns what it has sent, and why that
// was not applied.
func (r *Resolver) tryFold(
	ctx context.Context, rd Reading, depth int,
) (store.Result, *store.Write, error) {
	f, err := r.compact(ctx, rd, 0, depth)
	if err != nil {
		return store.NotApplied, nil, err
	}
	w := r.st.Prepare(rd.Snapshot, cell.Resolve(rd.Cell, f))
	res, _, err := r.Send(ctx, w)
	return res, w, err
}

// outrun is the error of who tried to write a cell in vain.
func (r *Resolver) outrun(name string, tries int) error {
	return fmt.Errorf("rewrite %q: refused or unknown %d times: %w",
		r.st.FullName(name), tries, backend.ErrUnavailable)
}

// Retire folds the intent that one of the handle's own attempts left in a cell, if
// it is still there. An attempt whose outcome is not known is killed for that, if it
// can be. The cell is read first if what is remembered of it is probably old.
func (r *Resolver) Retire(ctx context.Context, name string, tx txid.ID, old bool) error {
	s, cached := r.st.Cached(name)
	cached = cached && !old
	return r.foldOut(ctx, folding{name: name, tries: foldTriesMax}, func() (next step) {
		if !cached {
			if s, next.err = r.Read(ctx, name); next.err != nil {
				return next
			}
		}
		if !s.Cell.Holds(tx) {
			since, ok := r.outcomes.Since(tx)
			next.done = !cached || ok && s.Proved > since
			cached = false
			return next
		}
		cached = false
		rd, err := r.Status(ctx, s)
		if err == nil && rd.Cell.Holds(tx) && rd.Outcome == cell.Undecided {
			rd, err = r.kill(ctx, rd, 0)
		}
		if err == nil && rd.Cell != nil && rd.Cell.Holds(tx) && rd.Outcome != cell.Undecided {
			next.fold = rd
		}
		next.err = err
		return next
	})
}
