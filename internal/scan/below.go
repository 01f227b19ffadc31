package scan

import (
	"context"
	"iter"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/store"
)

// Listed is a cell as a listing shows it.
type Listed struct {
	// Name is the cell's, relative to the database.
	Name string
	// Shape tells whether it has a value, or may have one.
	Shape cell.Shape
}

// Gone reports whether the cell is certain to have no value: it is a tombstone.
func (l Listed) Gone() bool {
	return l.Shape == cell.ShapeTombstone || l.Shape == cell.ShapeCondemned
}

// Below yields the cells of p and of all collections nested in it, in the order of a
// listing. An error ends it.
func Below(ctx context.Context, st *store.Store, p keyspace.Path) iter.Seq2[Listed, error] {
	return cells(st.List(ctx, string(p)))
}

// cells picks the cells out of a listing: not external values, nor what is not the
// database's.
func cells(listing iter.Seq2[backend.Info, error]) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		for info, err := range listing {
			if err != nil {
				yield(Listed{}, err)
				return
			}
			if _, _, err := keyspace.ParseCell(info.Name); err != nil {
				continue
			}
			x := Listed{info.Name, cell.ShapeOf(info.Size)}
			if info.Damaged {
				x.Shape = cell.ShapeLook // who wants to know must read it
			}
			if !yield(x, nil) {
				return
			}
		}
	}
}
