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
	r, err := sweep.New(db.st, db.rs, sweep.Options{
		Prefix: prefix, Horizon: o.Horizon, DryRun: o.DryRun, Concurrency: o.Concurrency,
		Progress: progress, KeepTombstones: !db.st.ConditionalDelete(),
	}).Sweep(ctx)
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
