package scan

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// Limits of what is asked at once, ahead of the consumer: it doubles from the first to
// the second.
const (
	askMin = 4
	askMax = 256
)

// Collections yields the names of those collections directly within p that are not empty:
// in which, or in one nested in which, some key has a value. They are in the order in
// which a listing shows their folders: see keyspace.Path.Collection.
//
// A folder that is there may hold nothing but tombstones, and external values that are
// garbage, so that each is asked by a listing of its own, of a few objects, many at once
// ahead of the consumer. Each answer is true of an instant within the loop.
func Collections(
	ctx context.Context, st *store.Store, rs *resolve.Resolver, p keyspace.Path,
) iter.Seq2[[]byte, error] {
	c := census{st: st, rs: rs}
	return func(yield func([]byte, error) bool) {
		var asked []string
		most := askMin
		for folder, err := range st.Folders(ctx, p.Folders()) {
			if err != nil {
				yield(nil, err)
				return
			}
			if asked = append(asked, folder); len(asked) < most {
				continue
			}
			if !c.tell(ctx, asked, yield) {
				return
			}
			asked, most = asked[:0], min(2*most, askMax)
		}
		c.tell(ctx, asked, yield)
	}
}

// census finds out which folders hold a value.
type census struct {
	st *store.Store
	rs *resolve.Resolver
}

// tell yields the names of those folders that are not empty, unless the consumer leaves.
func (c census) tell(
	ctx context.Context, folders []string, yield func([]byte, error) bool,
) (goOn bool) {
	names := make([][]byte, len(folders))
	err := seam.Each(c.st.Runtime(), len(folders), func(i int) error {
		name, err := keyspace.SplitCollection(folders[i])
		if err != nil {
			return nil //nolint:nilerr // it is not the database's
		}
		inhabited, err := c.inhabited(ctx, folders[i])
		if inhabited {
			names[i] = name
		}
		return err
	})
	if err != nil {
		yield(nil, fmt.Errorf("collections: %w", err))
		return false
	}
	for _, name := range names {
		if name != nil && !yield(name, nil) {
			return false
		}
	}
	return true
}

// inhabited reports whether a key in the folder, or in one below it, has a value. It looks
// at its own keys first: most have some.
func (c census) inhabited(ctx context.Context, folder string) (bool, error) {
	p := keyspace.Path(folder)
	found, err := c.any(ctx, p.Cells())
	if err != nil || found {
		return found, err
	}
	return c.any(ctx, p.Folders())
}

// any reports whether any cell has a value whose name begins with prefix. Cells with an
// intent are read only where the listing of many shows no value.
func (c census) any(ctx context.Context, prefix string) (bool, error) {
	var held []string
	for x, err := range cells(c.st.Peek(ctx, prefix)) {
		switch {
		case err != nil:
			return false, err
		case x.Gone():
			continue
		case x.Shape == cell.ShapeValue:
			return true, nil
		}
		if held = append(held, x.Name); len(held) == askMax {
			if found, err := c.valued(ctx, held); err != nil || found {
				return found, err
			}
			held = held[:0]
		}
	}
	return c.valued(ctx, held)
}

// valued reports whether one of the cells has a value. Their sizes don't tell. Of the first it
// reads one, and the more at once the more have been in vain. One that can't be read for
// what it holds counts as a value: it may be one.
func (c census) valued(ctx context.Context, names []string) (bool, error) {
	for most := 1; len(names) > 0; most *= 2 {
		n := min(most, len(names))
		present := make([]bool, n)
		err := seam.Each(c.st.Runtime(), n, func(i int) error {
			rd, err := c.rs.Shared(ctx, names[i], c.st.Tick())
			if errors.Is(err, backend.ErrCorrupt) || errors.Is(err, store.ErrFormat) {
				present[i] = true
				return nil
			}
			present[i] = err == nil && !rd.Absent(c.st.Clock())
			return err
		})
		if slices.Contains(present, true) {
			return true, nil
		} else if err != nil {
			return false, err
		}
		names = names[n:]
	}
	return false, nil
}
