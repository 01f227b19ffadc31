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
// ErrInvalid, ErrInvalidKey, ErrUnavailable, the backend's, and the context's.
func (db *DB) Sweep(ctx context.Context, o SweepOptions) (SweepReport, error) {
	if err := db.begin(); err != nil {
		return SweepReport{}, err
	}
	defer db.end()
	prefix, err := db.prefix(o.Collection)
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
	// Progress, if not nil, is called now and then with what has been found so far.
	Progress func(CheckReport)
}

// CheckReport is what a DB.Check has found.
type CheckReport = sweep.CheckReport

// CheckProblem is one thing in a database that must not be.
type CheckProblem = sweep.Problem

// Check examines every object of the database: names, formats, checksums, external values,
// and what the protocol promises of intents and marks. It writes nothing that changes a
// value, and may run while others use the database. It costs a listing, a read of each
// cell and external value, and of the members of each intent.
//
// Problems are listed in the report; the error tells that the check could not be carried
// through.
func (db *DB) Check(ctx context.Context, o CheckOptions) (CheckReport, error) {
	if err := db.begin(); err != nil {
		return CheckReport{}, err
	}
	defer db.end()
	prefix, err := db.prefix(o.Collection)
	if err != nil {
		return CheckReport{}, fmt.Errorf("check: %w", err)
	}
	return sweep.NewChecker(db.st, db.rs).Check(ctx, prefix, o.Progress)
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
