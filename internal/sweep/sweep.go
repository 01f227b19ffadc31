package sweep

import (
	"context"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/feed"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// Limits of a sweep.
const (
	// settleMin is the age from which on an intent is taken for abandoned.
	settleMin = time.Minute
	// waitingMax is how many tasks may wait while the listing goes on.
	waitingMax = 4096
	// groupMax is how many external values of one cell are looked at together.
	groupMax = 16
	// fencesMax is how often a cell may be outrun that is to be fenced: then it is in use, and
	// its garbage is left to the next sweep.
	fencesMax = 8
	// progressEvery is how many objects are listed between two calls of Progress.
	progressEvery = 1000
	// bareMax is more than the size of any tombstone without marks, in bytes. An object
	// that claims to be one and is larger is not removed unread.
	bareMax = 256
)

// Options configures a sweep.
type Options struct {
	// Prefix limits the sweep to objects whose names begin so.
	Prefix string
	// Horizon is the age from which on garbage is removed, by the store's clock. If it is
	// negative, age does not matter: nobody else may use the database.
	Horizon time.Duration
	// DryRun sends no write, and goes by the handle's clock.
	DryRun bool
	// KeepTombstones is for a store without conditional delete.
	KeepTombstones bool
	// Concurrency is how many objects are worked on at once.
	Concurrency int
	// Progress, if not nil, is called now and then by the goroutine that called Sweep.
	Progress func(Report)
}

// Sweeper removes the garbage of a database. All that it knows is in the bucket: it can
// be stopped at any time, and any number may run at once.
//
// A listing tells what needs a look: the size of a cell tells whether it holds an intent,
// a value, a tombstone, or a condemned one. Whatever a sweep does is a conditional write
// or delete at the version that it has seen, so that a write of anybody else undoes its
// claim. Time matters in two places:
//
//   - An external value is removed if it is older than the horizon and a read of its cell
//     that was sent later shows no reference to it. Before that the cell is fenced, so that
//     none is made that was on its way.
//   - A tombstone is removed if it has been condemned for a horizon. An attempt that saw
//     no object before the tombstone was made would take its removal for that state; it
//     has ended by then, its last resend included. Who has used the tombstone itself
//     since, to conclude that an attempt is dead, has lifted the condemnation.
type Sweeper struct {
	st *store.Store
	rs *resolve.Resolver
	rt seam.Runtime
	o  Options
}

// New returns a Sweeper.
func New(st *store.Store, rs *resolve.Resolver, o Options) *Sweeper {
	return &Sweeper{st: st, rs: rs, rt: st.Runtime(), o: o}
}

// Sweep goes through the database once, or twice if the horizon is negative: first all
// intents are settled, and then what has no intent beside it can go unread. The error
// says what objects failed, or that the listing did; the report is right in any case.
func (s *Sweeper) Sweep(ctx context.Context) (Report, error) {
	work, giveUp := s.rt.WithCancel(ctx)
	defer giveUp()
	p := &pass{Sweeper: s, tally: tally{giveUp: giveUp}}
	err := p.both(work)
	if s.o.Progress != nil {
		s.o.Progress(p.soFar())
	}
	return p.report, p.err(ctx, err)
}

// pass goes through the database, once or twice.
type pass struct {
	*Sweeper
	tally
	pool *seam.Pool
	now  time.Time // from which ages are counted back
	// settling says that it looks at intents only, and settled that it has done so.
	settling, settled bool
	// wary says that some intents may be left, so that a tombstone can have marks that
	// others need.
	wary bool
	// group are values of one cell which are to be looked at together.
	group []value
}

// both makes the passes.
func (p *pass) both(ctx context.Context) (err error) {
	switch {
	case p.o.DryRun:
		p.now = p.rt.Now()
	case p.o.Horizon >= 0:
		if p.now, err = p.st.StoreTime(ctx); err != nil {
			return err
		}
	default:
		if _, err = p.st.StoreTime(ctx); err != nil { // values are due by the store's clock
			return err
		}
		p.settling = true
		if err := p.once(ctx); err != nil {
			return err
		}
		p.settling, p.settled = false, true
		p.wary = p.o.Prefix != "" || p.report.Failed > 0
		p.report.Objects, p.report.Bytes = 0, 0
		p.report.Foreign, p.report.Damaged = 0, 0
	}
	return p.once(ctx)
}

// once lists the objects and does what is to be done with each. The listing goes on while
// others work.
func (p *pass) once(ctx context.Context) error {
	p.pool = seam.NewPool(p.rt, p.o.Concurrency, waitingMax)
	err := p.list(ctx)
	if werr := p.pool.Wait(); err == nil {
		err = werr
	}
	return err
}

func (p *pass) list(ctx context.Context) error {
	n := 0
	for info, err := range p.st.List(ctx, p.o.Prefix) {
		if err != nil {
			return err
		}
		if err := p.take(ctx, info); err != nil {
			return err
		}
		if n++; n%progressEvery == 0 && p.o.Progress != nil {
			p.o.Progress(p.soFar())
		}
	}
	return p.flush(ctx)
}

// take decides by name, size and age whether an object needs a look.
func (p *pass) take(ctx context.Context, info backend.Info) error {
	p.count(func(r *Report) {
		r.Objects++
		r.Bytes += info.Size
	})
	switch {
	case info.Name == keyspace.Meta, keyspace.IsLost(info.Name):
		return nil
	case info.Damaged:
		p.count(func(r *Report) { r.Damaged++ })
		return nil
	}
	if cellName, id, err := keyspace.ParseValue(info.Name); err == nil {
		if p.settling || !p.old(info, p.o.Horizon) {
			return nil
		}
		return p.value(ctx, value{info: info, cell: cellName, id: id})
	}
	task := p.cell
	if keyspace.IsClock(info.Name) {
		task = p.clock
	} else if keyspace.IsHint(info.Name) {
		task = p.hint
	} else if _, _, err := keyspace.ParseCell(info.Name); err != nil {
		p.count(func(r *Report) { r.Foreign++ })
		return nil
	}
	if do := task(info); do != nil {
		return p.send(ctx, do)
	}
	return nil
}

// send hands a task over. What it returns is counted as a failure, unless ctx has ended.
func (p *pass) send(ctx context.Context, do func(ctx context.Context) error) error {
	return p.pool.Do(ctx, func() {
		if ctx.Err() != nil {
			return
		}
		if err := do(ctx); err != nil && ctx.Err() == nil {
			p.failed(err)
		}
	})
}

// old reports whether the object's last write is older than age.
func (p *pass) old(info backend.Info, age time.Duration) bool {
	return p.o.Horizon < 0 || p.now.Sub(info.Modified) > age
}

// cell tells what is to be done with a cell; nil is nothing.
func (p *pass) cell(info backend.Info) func(ctx context.Context) error {
	shape := cell.ShapeOf(info.Size)
	switch {
	case shape == cell.ShapeValue:
		return nil
	case shape == cell.ShapeLook && p.settled:
		return nil // it could not be settled
	case shape == cell.ShapeLook && !p.old(info, settleMin):
		return p.young()
	case shape == cell.ShapeLook:
		return func(ctx context.Context) error { return p.settle(ctx, info) }
	case p.settling || p.o.KeepTombstones:
		return nil
	case !p.old(info, p.o.Horizon):
		return p.young()
	case info.Size > bareMax, shape == cell.ShapeTombstone && (p.wary || p.o.Horizon >= 0):
		return func(ctx context.Context) error { return p.tombstone(ctx, info) }
	}
	return func(ctx context.Context) error {
		return p.remove(ctx, info, func(r *Report) { r.Tombstones++ })
	}
}

// young counts what is left to wait.
func (p *pass) young() func(context.Context) error {
	p.count(func(r *Report) { r.Waiting++ })
	return nil
}

// clock tells what is to be done with an object that asked for the store's time.
func (p *pass) clock(info backend.Info) func(ctx context.Context) error {
	if p.settling || !p.old(info, p.o.Horizon) {
		return nil
	}
	return func(ctx context.Context) error {
		return p.remove(ctx, info, func(r *Report) { r.Clocks++ })
	}
}

// hint tells what is to be done with an object of hints, which is its writer's to remove.
func (p *pass) hint(info backend.Info) func(ctx context.Context) error {
	if p.settling || !p.old(info, feed.Keep) {
		return nil
	}
	return func(ctx context.Context) error {
		return p.remove(ctx, info, func(r *Report) { r.Hints++ })
	}
}
