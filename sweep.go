package strictkv

import (
	"context"
	"fmt"
	"time"

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
type SweepReport = sweep.Report

// Sweep removes the garbage of the database: it settles intents that are over a minute
// old, whose processes have died, removes external values that no key refers to, and
// removes the tombstones of deleted keys, in two steps: a sweep condemns a tombstone that
// is older than the horizon, and another removes it if that was a horizon ago and the key
// has not been used since. Run it once a day. Where Stats tell that the store
// KeepsTombstones, they stay.
//
// It finds its work by listing, and reads only what may be garbage, and the cells of old
// external values. It may run while others use the database, several at once too, and may
// be stopped at any time: the next one goes on.
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
	return sweep.New(db.st, db.rs, sweep.Options{
		Prefix: prefix, Horizon: o.Horizon, DryRun: o.DryRun, Concurrency: o.Concurrency,
		Progress: o.Progress, KeepTombstones: !db.st.ConditionalDelete(),
	}).Sweep(ctx)
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
type CheckReport = sweep.CheckReport

// CheckProblem is one thing in a database that must not be.
type CheckProblem = sweep.Problem

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
	return sweep.NewChecker(db.st, db.rs, sweep.CheckOptions{
		Prefix: prefix, Database: db.name, Repair: o.Repair, DryRun: o.DryRun, Alone: o.Alone,
		Progress: o.Progress,
	}).Check(ctx)
}

// writable tells whether the handle may write.
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
