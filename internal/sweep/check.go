// Package sweep looks after a whole database: Check examines every object of it.
package sweep

import (
	"context"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// batchMax is how many objects are examined at once.
const batchMax = 64

// Problem is something that must not be.
type Problem struct {
	// Object is the full name of the object.
	Object string
	// What is wrong with it.
	What string
}

// Report is what a Check has found.
type Report struct {
	// Objects counts all objects below the database's prefix, and Bytes their sizes.
	Objects, Bytes int64
	// Values and Tombstones count the cells by their committed value.
	Values, Tombstones int64
	// Committed, Dead and Undecided count the cells that hold an intent, by the
	// status of its attempt. They are no problem: whoever meets them resolves them.
	Committed, Dead, Undecided int64
	// Marks counts the marks in cells.
	Marks int64
	// Problems lists what must not be.
	Problems []Problem
}

// Checker examines a database.
type Checker struct {
	st *store.Store
	rs *resolve.Resolver
	rt seam.Runtime
}

// NewChecker returns a Checker.
func NewChecker(st *store.Store, rs *resolve.Resolver) *Checker {
	return &Checker{st: st, rs: rs, rt: st.Runtime()}
}

// Check lists the objects whose names begin with prefix, reads each cell, and asks for
// the status of every intent. It changes nothing, but for lifting condemnations, and may
// run while others write: what it reports as a problem was one at some instant.
func (c *Checker) Check(
	ctx context.Context, prefix string, progress func(Report),
) (Report, error) {
	var total Report
	var batch []backend.Info
	flush := func() error {
		parts := make([]Report, len(batch))
		err := seam.Each(c.rt, len(batch), func(i int) error {
			return c.object(ctx, batch[i], &parts[i])
		})
		batch = batch[:0]
		for _, p := range parts {
			total.add(p)
		}
		if err == nil && progress != nil {
			progress(total)
		}
		return err
	}
	for info, err := range c.st.List(ctx, prefix) {
		if err != nil {
			return total, err
		}
		if batch = append(batch, info); len(batch) == batchMax {
			if err := flush(); err != nil {
				return total, err
			}
		}
	}
	return total, flush()
}

func (r *Report) add(p Report) {
	r.Objects += p.Objects
	r.Bytes += p.Bytes
	r.Values += p.Values
	r.Tombstones += p.Tombstones
	r.Committed += p.Committed
	r.Dead += p.Dead
	r.Undecided += p.Undecided
	r.Marks += p.Marks
	r.Problems = append(r.Problems, p.Problems...)
}

// object examines one object. What is wrong with it goes into the report; the error is
// the store's.
func (c *Checker) object(ctx context.Context, info backend.Info, r *Report) error {
	r.Objects, r.Bytes = 1, info.Size
	if info.Name == keyspace.Meta {
		return nil // opening has read it
	}
	problem := func(format string, args ...any) {
		r.Problems = append(r.Problems, Problem{
			Object: c.st.FullName(info.Name), What: fmt.Sprintf(format, args...),
		})
	}
	if _, _, err := keyspace.ParseCell(info.Name); err != nil {
		problem("foreign object: %v", err)
		return nil
	}
	s, err := c.st.Fetch(ctx, info.Name)
	switch {
	case errors.Is(err, backend.ErrCorrupt), errors.Is(err, store.ErrFormat):
		problem("%v", err)
		return nil
	case err != nil:
		return err
	}
	r.Marks = int64(len(s.Cell.Marks))
	if s.Cell.Value.Kind == cell.Absent {
		r.Tombstones++
	} else {
		r.Values++
	}
	if s.Cell.Intent == nil {
		return nil
	}
	return c.intent(ctx, s, r, problem)
}

// intent examines the intent in a cell.
func (c *Checker) intent(
	ctx context.Context, s store.Snapshot, r *Report, problem func(string, ...any),
) error {
	in := s.Cell.Intent
	if _, ok := in.Find(s.Name); !ok && in.Whole() {
		problem("the intent of %v does not count this cell among its members", in.Tx)
		return nil
	}
	rd, err := c.rs.Status(ctx, s)
	if err != nil {
		return err
	}
	switch {
	case rd.Cell.Intent == nil || rd.Cell.Intent.Tx != in.Tx: // settled meanwhile
	case rd.Outcome == cell.Dead:
		r.Dead++
	case rd.Outcome == cell.Undecided:
		r.Undecided++
	default:
		r.Committed++
		return c.committed(ctx, rd, problem)
	}
	return nil
}

// committed examines the members of a committed attempt: while this cell holds its
// intent, each member either holds it too or carries the mark.
func (c *Checker) committed(
	ctx context.Context, rd resolve.Reading, problem func(string, ...any),
) error {
	in := rd.Cell.Intent
	isBare := make([]bool, len(in.List))
	err := seam.Each(c.rt, len(in.List), func(i int) error {
		if in.List[i].Name == rd.Name {
			return nil
		}
		s, err := c.rs.Read(ctx, in.List[i].Name)
		if err != nil {
			return err
		}
		_, marked := s.Cell.Mark(in.Tx)
		isBare[i] = !marked && !s.Cell.Holds(in.Tx)
		return nil
	})
	if err != nil {
		return err
	}
	var bare []string
	for i, is := range isBare {
		if is {
			bare = append(bare, in.List[i].Name)
		}
	}
	if len(bare) == 0 {
		return nil
	}
	again, err := c.rs.Read(ctx, rd.Name)
	if err == nil && again.Cell.Holds(in.Tx) {
		problem("holds an intent of %v, which has committed; folded without its mark: %q",
			in.Tx, bare)
	}
	return err
}
