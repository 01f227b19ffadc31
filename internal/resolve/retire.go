package resolve

import (
	"context"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// foldTriesMax bounds how often a cell is tried. What is left then is for whoever meets it.
const foldTriesMax = 16

// Retire folds the intent that one of the handle's own attempts left in a cell, if
// it is still there. An attempt whose outcome is not known is killed for that, if it
// can be. The cell is read first if what is remembered of it is probably old.
func (r *Resolver) Retire(
	ctx context.Context, name string, tx txid.ID, old bool,
) (err error) {
	s, cached := r.st.Cached(name)
	cached = cached && !old
	var unknown *store.Write // a fold whose answer was lost
	for try := range foldTriesMax {
		if err := r.Rest(ctx, try); err != nil {
			return err
		}
		if !cached {
			if s, err = r.Read(ctx, name); err != nil {
				return err
			}
		}
		if !s.Cell.Holds(tx) {
			if since, ok := r.outcomes.Since(tx); !cached || ok && s.Proved > since {
				if unknown != nil {
					r.Replaced(unknown)
				}
				return nil
			}
			cached = false
			continue
		}
		cached = false
		rd, err := r.Status(ctx, s)
		if err == nil && rd.Cell.Holds(tx) && rd.Outcome == cell.Undecided {
			rd, err = r.kill(ctx, rd, 0)
		}
		if err != nil {
			return err
		}
		if rd.Cell == nil || !rd.Cell.Holds(tx) || rd.Outcome == cell.Undecided {
			continue
		}
		res, w, err := r.tryFold(ctx, rd, 0)
		switch res {
		case store.Applied, store.NotApplied:
			return err
		case store.Unknown:
			unknown = w
		}
	}
	return r.outrun(name, foldTriesMax)
}
