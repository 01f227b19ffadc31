// Package sweep looks after a whole database: a Sweeper removes its garbage, and a Checker
// examines every object of it.
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

// Limits of a check.
const (
	// batchMax is how many objects are examined at once.
	batchMax = 64
	// downloadsMax is how many external values are in memory at once.
	downloadsMax = 4
)

// Problem is something that must not be.
type Problem struct {
	// Object is the full name of the object.
	Object string
	// What is wrong with it.
	What string
	// MovedTo is the full name of the copy under which a repair has put the object aside, or
	// would in a dry run; empty if the object was left where it is. A copy with a name too long
	// for the store lacks the end of it.
	MovedTo string
	// Left says why a repair has left the object.
	Left string

	info   backend.Info // of the object, if it is listed
	remedy remedy
}

// remedy is what a repair can do about a problem.
type remedy uint8

const (
	// Nothing: the object is well, of a newer format, or an external value, which is
	// replaced when its key is written.
	_ remedy = iota
	// takeAway: it is none of the database's objects.
	takeAway
	// replace: it has the name of a cell.
	replace
)

// CheckReport is what a Check has found.
type CheckReport struct {
	// Objects counts all objects below the database's prefix, and Bytes their sizes.
	Objects, Bytes int64
	// Values and Tombstones count the cells by their committed value; External counts
	// those of the values that are external, and Condemned those of the tombstones that a
	// sweep has announced to be removed.
	Values, External, Tombstones, Condemned int64
	// Committed, Dead and Undecided count the cells that hold an intent, by the
	// status of its attempt. They are no problem: whoever meets them resolves them.
	Committed, Dead, Undecided int64
	// Marks counts the marks in cells.
	Marks int64
	// Orphans counts external values that no cell refers to, and OrphanBytes their bytes.
	// They are no problem: a transaction may be about to refer to them, and a sweep
	// removes them if none does.
	Orphans, OrphanBytes int64
	// Clocks counts objects by which sweeps ask for the store's time.
	Clocks int64
	// Hints counts objects of hints for followers.
	Hints int64
	// Lost counts the copies of objects that repairs have moved aside, before this check, and
	// Moved those that this one has, or would in a dry run.
	Lost, Moved int64
	// Problems lists what must not be.
	Problems []Problem
}

// CheckOptions configures a check.
type CheckOptions struct {
	// Prefix limits the check to objects whose names begin so.
	Prefix string
	// Database is the database's name.
	Database string
	// Repair moves aside what does not belong where it is. DryRun does all of that but write.
	Repair, DryRun bool
	// Alone says that nobody else uses the database.
	Alone bool
	// Progress, if not nil, is called now and then by the goroutine that called Check.
	Progress func(CheckReport)
}

// Checker examines a database.
type Checker struct {
	o  CheckOptions
	st *store.Store
	rs *resolve.Resolver
	rt seam.Runtime
	// downloads bounds the memory that external values take.
	downloads *seam.Limiter
}

// NewChecker returns a Checker.
func NewChecker(st *store.Store, rs *resolve.Resolver, o CheckOptions) *Checker {
	rt := st.Runtime()
	return &Checker{o: o, st: st, rs: rs, rt: rt, downloads: seam.NewLimiter(rt, downloadsMax)}
}

// Check lists the objects, reads each cell and its external values, and asks for the status
// of every intent. Unless it repairs, it changes nothing, but for lifting condemnations, and
// may run while others write: what it reports as a problem was one at some instant.
func (c *Checker) Check(ctx context.Context) (CheckReport, error) {
	total, err := c.examine(ctx)
	if err == nil && c.o.Repair {
		err = c.repair(ctx, &total)
	}
	return total, err
}

func (c *Checker) examine(ctx context.Context) (CheckReport, error) {
	var total CheckReport
	var batch []backend.Info
	flush := func() error {
		parts := make([]CheckReport, len(batch))
		err := seam.Each(c.rt, len(batch), func(i int) error {
			x := examination{Checker: c, info: batch[i], r: &parts[i]}
			return x.object(ctx)
		})
		batch = batch[:0]
		for _, p := range parts {
			total.add(p)
		}
		if err == nil && c.o.Progress != nil {
			c.o.Progress(total)
		}
		return err
	}
	for info, err := range c.st.List(ctx, c.o.Prefix) {
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

func (r *CheckReport) add(p CheckReport) {
	r.Objects += p.Objects
	r.Bytes += p.Bytes
	r.Values += p.Values
	r.External += p.External
	r.Tombstones += p.Tombstones
	r.Condemned += p.Condemned
	r.Committed += p.Committed
	r.Dead += p.Dead
	r.Undecided += p.Undecided
	r.Marks += p.Marks
	r.Orphans += p.Orphans
	r.OrphanBytes += p.OrphanBytes
	r.Clocks += p.Clocks
	r.Hints += p.Hints
	r.Lost += p.Lost
	r.Problems = append(r.Problems, p.Problems...)
}

// examination is that of one object.
type examination struct {
	*Checker
	info backend.Info
	r    *CheckReport
}

func (x *examination) problem(object, format string, args ...any) {
	x.r.Problems = append(x.r.Problems, Problem{
		Object: x.st.FullName(object), What: fmt.Sprintf(format, args...),
	})
}

// listed is problem for the object that was listed.
func (x *examination) listed(r remedy, format string, args ...any) {
	x.problem(x.info.Name, format, args...)
	p := &x.r.Problems[len(x.r.Problems)-1]
	p.info, p.remedy = x.info, r
}

// object examines the object. What is wrong with it goes into the report; the error is
// the store's.
func (x *examination) object(ctx context.Context) error {
	x.r.Objects, x.r.Bytes = 1, x.info.Size
	name := x.info.Name
	if name == keyspace.Meta {
		return nil // opening has read it
	}
	if keyspace.IsLost(name) {
		x.r.Lost = 1
		return nil
	}
	if keyspace.IsClock(name) && !x.info.Damaged {
		x.r.Clocks = 1
		return nil
	}
	if keyspace.IsHint(name) && !x.info.Damaged {
		x.r.Hints = 1 // harmless, whatever it holds, and soon gone
		return nil
	}
	if cellName, id, err := keyspace.ParseValue(name); err == nil {
		return x.value(ctx, cellName, id)
	}
	if _, _, err := keyspace.ParseCell(name); err != nil {
		x.listed(takeAway, "foreign object: %v", err)
		return nil
	}
	return x.cell(ctx)
}

// value counts an external value as an orphan if its cell does not refer to it. If it
// does, the value is examined with the cell.
func (x *examination) value(ctx context.Context, cellName, id string) error {
	s, err := x.st.Read(ctx, cellName)
	switch {
	case damaged(err):
		return nil // a problem of the cell
	case err != nil:
		return err
	case !links(s.Cell, id):
		x.r.Orphans, x.r.OrphanBytes = 1, x.info.Size
		if x.info.Damaged {
			x.listed(takeAway, "damaged, and no key refers to it")
		}
	}
	return nil
}

func damaged(err error) bool {
	return errors.Is(err, backend.ErrCorrupt) || errors.Is(err, store.ErrFormat)
}

func (x *examination) cell(ctx context.Context) error {
	s, err := x.st.Fetch(ctx, x.info.Name)
	switch {
	case errors.Is(err, backend.ErrCorrupt) && !errors.Is(err, store.ErrFormat):
		x.listed(replace, "%v", err)
		return nil
	case damaged(err):
		x.problem(x.info.Name, "%v", err)
		return nil
	case err != nil:
		return err
	}
	x.r.Marks = int64(len(s.Cell.Marks))
	if s.Cell.Condemned {
		x.r.Condemned = 1
	}
	if s.Cell.Value.Kind == cell.Absent {
		x.r.Tombstones = 1
	} else {
		x.r.Values = 1
	}
	if s.Cell.Value.Kind == cell.External {
		x.r.External = 1
		if err := x.external(ctx, s.Cell.Value); err != nil {
			return err
		}
	}
	if s.Cell.Intent == nil {
		return nil
	}
	return x.intent(ctx, s)
}

// external examines an external value that the cell refers to.
func (x *examination) external(ctx context.Context, v cell.Value) error {
	err := x.download(ctx, v)
	if !errors.Is(err, store.ErrMissing) && !errors.Is(err, backend.ErrCorrupt) {
		return err
	}
	s, rerr := x.st.Read(ctx, x.info.Name)
	switch {
	case damaged(rerr): // since it was examined
		x.problem(x.info.Name, "%v", rerr)
		return nil
	case rerr == nil && s.Cell.Links(v.Ref):
		x.problem(keyspace.Value(x.info.Name, store.RefID(v.Ref)), "%v", err)
	}
	return rerr
}

func (x *examination) download(ctx context.Context, v cell.Value) error {
	if err := x.downloads.Acquire(ctx); err != nil {
		return err
	}
	defer x.downloads.Release()
	return x.st.Verify(ctx, x.info.Name, v)
}

// intent examines the intent in a cell.
func (x *examination) intent(ctx context.Context, s store.Snapshot) error {
	in := s.Cell.Intent
	if _, ok := in.Find(s.Name); !ok && in.Whole() {
		x.problem(s.Name, "the intent of %v does not count this cell among its members", in.Tx)
		return nil
	}
	rd, err := x.rs.Status(ctx, s)
	switch {
	case damaged(err):
		x.problem(s.Name, "what became of the attempt %v can't be told: %v", in.Tx, err)
		return nil
	case err != nil:
		return err
	case rd.Cell.Intent == nil || rd.Cell.Intent.Tx != in.Tx: // settled meanwhile
	case rd.Outcome == cell.Dead:
		x.r.Dead++
	case rd.Outcome == cell.Undecided:
		x.r.Undecided++
	default:
		x.r.Committed++
		if v := rd.Cell.Intent.Value; v.Kind == cell.External {
			if err := x.external(ctx, v); err != nil {
				return err
			}
		}
		return x.committed(ctx, rd)
	}
	return nil
}

// committed examines the members of a committed attempt: while this cell holds its
// intent, each member either holds it too or carries the mark.
func (x *examination) committed(ctx context.Context, rd resolve.Reading) error {
	in := rd.Cell.Intent
	isBare := make([]bool, len(in.List))
	err := seam.Each(x.rt, len(in.List), func(i int) error {
		if in.List[i].Name == rd.Name {
			return nil
		}
		s, err := x.rs.Read(ctx, in.List[i].Name)
		if damaged(err) {
			return nil // a problem of that cell
		} else if err != nil {
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
	again, err := x.rs.Read(ctx, rd.Name)
	if damaged(err) {
		return nil
	}
	if err == nil && again.Cell.Holds(in.Tx) {
		x.problem(rd.Name,
			"holds an intent of %v, which has committed; folded without its mark: %q", in.Tx, bare)
	}
	return err
}
