package strictkv

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/sweep"
)

// DefaultHorizon is the age from which on a sweep removes garbage.
const DefaultHorizon = 24 * time.Hour

// SweepOptions configures a DB.Sweep.
type SweepOptions struct {
	// Horizon is the age from which on garbage is removed, by the store's clock; 0 is
	// DefaultHorizon. It must be longer than any transaction takes, from its first Write
	// until the last of its requests can arrive: hours are safe, minutes rarely worth it.
	//
	// If it is negative, all garbage is removed at once. The caller guarantees that nobody
	// else uses the database meanwhile, and that the requests of processes that have died
	// are over.
	Horizon time.Duration
	// Collection limits the sweep to a collection and what is nested in it; nil is the
	// whole database.
	Collection *Collection
	// DryRun reports what a sweep would do: nothing is written or removed. It goes by the
	// clock of this process, and does not foresee what garbage the settling of intents
	// leaves.
	DryRun bool
	// Concurrency is how many objects are worked on at once; 0 is DefaultConcurrency. The
	// handle's own bound on requests holds as well (WithConcurrency): a sweep beside other
	// work should have a handle of its own, or a smaller number.
	Concurrency int
	// Progress, if not nil, is called now and then with what has been done so far, always
	// by the goroutine that called Sweep.
	Progress func(SweepReport)
}

// SweepReport is what a DB.Sweep has done, or in a dry run would do.
type SweepReport struct {
	// Objects and Bytes count what has been listed: of the second of two listings, if
	// there are two and it has begun.
	Objects, Bytes int64
	// Settled counts the abandoned intents that were resolved.
	Settled int64
	// Expired counts the values that were due, and have been deleted.
	Expired int64
	// Condemned counts the tombstones that were announced to be removed by a sweep that
	// comes a horizon later, and Tombstones those that were removed.
	Condemned, Tombstones int64
	// Values counts the external values that were removed, since no cell refers to them,
	// and ValueBytes their bytes.
	Values, ValueBytes int64
	// Clocks counts the objects that were removed which sweeps had left that crashed while
	// they asked for the store's time.
	Clocks int64
	// Hints counts the objects of hints for followers (see WithFeed) that were removed, since
	// their writers have left them.
	Hints int64
	// Waiting counts tombstones and intents that are not old enough; values that expire, and are
	// less than a minute old, among them.
	Waiting int64
	// Changed counts objects that others wrote or removed meanwhile.
	Changed int64
	// Foreign counts objects that are none of the database's. They are left alone.
	Foreign int64
	// Damaged counts objects of which the store itself says that they are. They are left alone.
	Damaged int64
	// Failed counts objects with which something went wrong.
	Failed int64
}

// Sweep removes the garbage of the database: it settles intents that are over a minute
// old, whose processes have died, deletes values that have expired, removes external values that
// no key refers to, and removes the tombstones of deleted keys, in two steps: a sweep condemns a
// tombstone that is older than the horizon, and another removes it if that was a horizon ago and
// the key has not been used since. Run it once a day. Where Stats tell that the store
// KeepsTombstones, they stay.
//
// It finds its work by listing, and reads only what may be garbage, each key that expires, and
// the cells of old external values. It may run while others use the database, several at once
// too, and may be stopped at any time: the next one goes on.
//
// A failure at one object does not end the sweep, but many do. The error then has the first
// ones, and the report tells what was done nevertheless. Other errors: ErrClosed,
// ErrReadOnly, ErrInvalid, ErrInvalidKey, ErrUnavailable, the backend's, and the context's.
func (db *DB) Sweep(ctx context.Context, o SweepOptions) (SweepReport, error) {
	if err := db.begin(); err != nil {
		return SweepReport{}, err
	}
	defer db.end()
	prefix, err := db.prefix(o.Collection)
	if err == nil && !o.DryRun {
		err = db.writable()
	}
	if err != nil {
		return SweepReport{}, fmt.Errorf("sweep: %w", err)
	}
	if o.Horizon == 0 {
		o.Horizon = DefaultHorizon
	}
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	var progress func(sweep.Report)
	if o.Progress != nil {
		progress = func(r sweep.Report) { o.Progress(SweepReport(r)) }
	}
	ctx, work := db.st.Observer().Work(ctx, observe.Sweep)
	r, err := sweep.New(db.st, db.rs, sweep.Options{
		Prefix: prefix, Horizon: o.Horizon, DryRun: o.DryRun, Concurrency: o.Concurrency,
		Progress: progress, KeepTombstones: !db.st.ConditionalDelete(),
	}).Sweep(ctx)
	work.Done(ctx, r.Objects, err)
	db.st.Log().Info("swept", "dry_run", o.DryRun, "objects", r.Objects, "settled", r.Settled,
		"expired", r.Expired, "condemned", r.Condemned, "tombstones", r.Tombstones,
		"values", r.Values, "hints", r.Hints, "damaged", r.Damaged, "failed", r.Failed, "err", err)
	return SweepReport(r), err
}

// writable reports whether the handle may write.
func (db *DB) writable() error {
	if db.st.ReadOnly() {
		return ErrReadOnly
	}
	return nil
}

// prefix is what the names of all objects of a collection begin with; nil is the whole
// database.
func (db *DB) prefix(c *Collection) (string, error) {
	switch {
	case c == nil:
		return "", nil
	case c.err != nil:
		return "", c.err
	case c.db != db:
		return "", fmt.Errorf("collection of another handle: %w", ErrInvalid)
	}
	return string(c.path), nil
}

// CheckOptions configures a DB.Check.
type CheckOptions struct {
	// Collection limits the check to a collection and what is nested in it; nil is the
	// whole database.
	Collection *Collection
	// Repair moves aside, under the name of the database and "/lost/", what does not belong
	// where it is: foreign objects, and damaged objects of keys, which then have no value. It
	// copies an object before it touches it, asks nothing, and the report's problems tell what
	// became of each. See DB.Check.
	Repair bool
	// DryRun has Repair report what it would do. Nothing is written.
	DryRun bool
	// Alone says that nobody else uses the database. Then Repair also moves what it else
	// leaves since a transaction of others might depend on it.
	Alone bool
	// Progress, if not nil, is called now and then with what has been found so far.
	Progress func(CheckReport)
}

// CheckReport is what a DB.Check has found.
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
	// Hints counts objects of hints for followers (see WithFeed). They are not read: nothing
	// depends on what they hold, and they are removed within minutes.
	Hints int64
	// Lost counts the copies of objects that repairs have moved aside, before this check, and
	// Moved those that this one has, or would in a dry run.
	Lost, Moved int64
	// Problems lists what must not be.
	Problems []CheckProblem
}

// CheckProblem is one thing in a database that must not be.
type CheckProblem struct {
	// Object is the full name of the object in the bucket.
	Object string
	// What is wrong with it.
	What string
	// MovedTo is the full name of the copy under which a repair has put the object aside, or
	// would in a dry run; empty if the object was left where it is. A copy with a name too long
	// for the store lacks the end of it.
	MovedTo string
	// Left says why a repair has left the object.
	Left string
}

// Check examines every object of the database: names, formats, checksums, external values,
// and what the protocol promises of intents and marks. Without Repair it writes nothing that
// changes a value. It may run while others use the database. It costs a listing, a read of each
// cell and external value, and of the members of each intent.
//
// Problems are listed in the report; the error tells that the check could not be carried
// through. Errors: ErrClosed, ErrReadOnly (with Repair), ErrInvalid, ErrInvalidKey,
// ErrUnavailable, the backend's, and the context's.
//
// With Repair, a damaged object of a key is replaced by the tombstone of a deleted key once
// it has been copied, together with the key's external values. What that key held is lost,
// while other keys of the same transaction keep what they hold: damage does not respect
// transactions, but Repair tears nothing more apart. So it first settles all transactions
// under way that write the key. If it can't, since the damaged object alone would tell what
// became of one, it leaves the object, and says so in CheckProblem.Left: stop all programs,
// and repair with Alone. Unless Alone, it leaves as well what is younger than an hour by the
// store's clock. Foreign objects stay where the store does not honour the condition of a
// DELETE. Objects of a newer format are not touched, nor are external values that a key refers
// to: write or delete the key.
//
// Nothing removes the copies but DB.Drop. A repair costs a read and two writes for each object
// moved; if objects of keys are damaged, also two listings, a read of each key with an intent,
// and of every key if some of these can't be settled otherwise.
func (db *DB) Check(ctx context.Context, o CheckOptions) (CheckReport, error) {
	if err := db.begin(); err != nil {
		return CheckReport{}, err
	}
	defer db.end()
	prefix, err := db.prefix(o.Collection)
	if err == nil && o.Repair && !o.DryRun {
		err = db.writable()
	}
	if err != nil {
		return CheckReport{}, fmt.Errorf("check: %w", err)
	}
	var progress func(sweep.CheckReport)
	if o.Progress != nil {
		progress = func(r sweep.CheckReport) { o.Progress(checkReport(r)) }
	}
	ctx, work := db.st.Observer().Work(ctx, observe.Check)
	r, err := sweep.NewChecker(db.st, db.rs, sweep.CheckOptions{
		Prefix: prefix, Database: db.name, Repair: o.Repair, DryRun: o.DryRun, Alone: o.Alone,
		Progress: progress,
	}).Check(ctx)
	work.Done(ctx, r.Objects, err)
	level := slog.LevelInfo
	if len(r.Problems) > 0 {
		level = slog.LevelWarn
	}
	db.st.Log().Log(ctx, level, "checked", "repair", o.Repair && !o.DryRun, "objects", r.Objects,
		"problems", len(r.Problems), "moved", r.Moved, "err", err)
	return checkReport(r), err
}

func checkReport(r sweep.CheckReport) CheckReport {
	out := CheckReport{
		Objects: r.Objects, Bytes: r.Bytes, Values: r.Values, External: r.External,
		Tombstones: r.Tombstones, Condemned: r.Condemned, Committed: r.Committed, Dead: r.Dead,
		Undecided: r.Undecided, Marks: r.Marks, Orphans: r.Orphans, OrphanBytes: r.OrphanBytes,
		Clocks: r.Clocks, Hints: r.Hints, Lost: r.Lost, Moved: r.Moved,
	}
	for _, p := range r.Problems {
		out.Problems = append(out.Problems, CheckProblem{
			Object: p.Object, What: p.What, MovedTo: p.MovedTo, Left: p.Left,
		})
	}
	return out
}
