package sweep

import (
	"context"
	"fmt"
	"slices"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// remove removes an object that is still as it was listed.
func (p *pass) remove(
	ctx context.Context, info backend.Info, removed func(r *Report),
) error {
	if p.o.DryRun {
		p.count(removed)
		return nil
	}
	res, err := p.st.Remove(ctx, info.Name, info.Version)
	switch res {
	case store.Applied:
		p.count(removed)
	case store.Refused:
		p.changed()
	default:
		return err
	}
	return nil
}

func (p *pass) changed() { p.count(func(r *Report) { r.Changed++ }) }

// settle resolves an abandoned intent, or deletes a value that is due.
func (p *pass) settle(ctx context.Context, info backend.Info) error {
	did, err := p.tidy(ctx, info.Name)
	if err != nil {
		return fmt.Errorf("settle %q: %w", p.st.FullName(info.Name), err)
	}
	switch did {
	case resolve.Settled:
		p.count(func(r *Report) { r.Settled++ })
	case resolve.Expired:
		p.count(func(r *Report) { r.Expired++ })
	case resolve.Nothing: // it was settled before, or a sweep has helped to
		p.changed()
	}
	return nil
}

// tidy does what resolve.Resolver.Tidy does, or tells what that would be.
func (p *pass) tidy(ctx context.Context, name string) (resolve.Tidied, error) {
	if p.o.DryRun {
		return p.foresee(ctx, name)
	}
	return p.rs.Tidy(ctx, name, p.o.Horizon < 0)
}

// foresee tells what resolve.Resolver.Tidy would do.
func (p *pass) foresee(ctx context.Context, name string) (resolve.Tidied, error) {
	s, err := p.rs.Read(ctx, name)
	if err != nil {
		return resolve.Nothing, err
	}
	switch v := &s.Cell.Value; {
	case s.Cell.Intent != nil:
		return resolve.Settled, nil
	case v.Due(p.st.Clock()):
		return resolve.Expired, nil
	case v.Expires != 0:
		return resolve.Lasting, nil
	}
	return resolve.Nothing, nil
}

// tombstone reads a tombstone and helps the transactions of its marks, so that they can
// go. Then it condemns the tombstone, or removes it if that has been done before, or if
// the horizon is negative.
func (p *pass) tombstone(ctx context.Context, info backend.Info) error {
	s, err := p.rs.Read(ctx, info.Name)
	if err != nil {
		return err
	}
	if s.Version != info.Version {
		p.changed()
		return nil
	}
	if shape := s.Cell.Shape(); shape != cell.ShapeTombstone && shape != cell.ShapeCondemned {
		return fmt.Errorf("object %q of %d bytes: not the tombstone that its size tells: %w",
			p.st.FullName(info.Name), info.Size, backend.ErrCorrupt)
	}
	bare := s.Cell
	if !p.o.DryRun {
		if bare, err = p.rs.Unmark(ctx, s); err != nil {
			return fmt.Errorf("help those marked in %q: %w", p.st.FullName(info.Name), err)
		}
	}
	if s.Cell.Condemned || p.o.Horizon < 0 {
		return p.remove(ctx, info, func(r *Report) { r.Tombstones++ })
	}
	return p.condemn(ctx, s, bare)
}

// condemn announces that the tombstone will be removed. Its age does not matter for that.
func (p *pass) condemn(ctx context.Context, s store.Snapshot, bare *cell.Cell) error {
	if !p.o.DryRun {
		res, _, err := p.st.Send(ctx, p.st.Prepare(s, cell.Condemn(bare)))
		switch res {
		case store.Applied:
		case store.Refused:
			p.changed()
			return nil
		default:
			return err
		}
	}
	p.count(func(r *Report) { r.Condemned++ })
	return nil
}

// value is an external value that is old enough.
type value struct {
	info     backend.Info
	cell, id string
}

// value adds an external value to the group of those of its cell, which a listing shows
// one after another.
func (p *pass) value(ctx context.Context, v value) error {
	if n := len(p.group); n == groupMax || n > 0 && p.group[0].cell != v.cell {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	p.group = append(p.group, v)
	return nil
}

// flush hands the group over.
func (p *pass) flush(ctx context.Context) error {
	group := p.group
	if len(group) == 0 {
		return nil
	}
	p.group = nil
	return p.send(ctx, func(ctx context.Context) error { return p.values(ctx, group) })
}

// values removes the external values of one cell that it does not refer to. The cell is
// read by a request that is sent after they have been listed. Before they go it is fenced:
// a write that links one of them, however long it has been on its way, is refused, as it is
// based on what the cell was before. (What it is from now on has been read so late that its
// reader knows, by the store's clock, that the value is too old to be linked.)
func (p *pass) values(ctx context.Context, group []value) error {
	for try, fenced := 0, false; !fenced; try++ {
		s, err := p.st.Read(ctx, group[0].cell)
		if err != nil {
			return fmt.Errorf("values of a cell: %w", err)
		}
		group = slices.DeleteFunc(group, func(v value) bool { return links(s.Cell, v.id) })
		if len(group) == 0 {
			return nil
		}
		if try == fencesMax {
			p.changed()
			return nil
		}
		if fenced, err = p.fence(ctx, s); err != nil {
			return err
		}
	}
	return seam.Each(p.rt, len(group), func(i int) error {
		v := group[i]
		return p.remove(ctx, v.info, func(r *Report) {
			r.Values++
			r.ValueBytes += v.info.Size
		})
	})
}

// fence rewrites a cell, or makes a tombstone where there is none, and tells whether it could.
// Without a horizon there is nobody to be fenced off.
func (p *pass) fence(ctx context.Context, s store.Snapshot) (bool, error) {
	if p.o.DryRun || p.o.Horizon < 0 {
		return true, nil
	}
	res, _, err := p.st.Send(ctx, p.st.Prepare(s, cell.Fence(s.Cell)))
	switch res {
	case store.Applied:
		return true, nil
	case store.Refused:
		return false, nil
	}
	return false, fmt.Errorf("fence off the values of a cell: %w", err)
}

// links reports whether the cell, or the intent in it, refers to the external value.
func links(c *cell.Cell, id string) bool {
	if c.Value.Kind == cell.External && store.RefID(c.Value.Ref) == id {
		return true
	}
	in := c.Intent
	return in != nil && in.Value.Kind == cell.External && store.RefID(in.Value.Ref) == id
}
