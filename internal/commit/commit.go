// Package commit makes one attempt to commit: from a Plan, which says what is to be written and
// on what, to a Result. It does not know the transaction, runs no function of a user, and never
// decides to try again: that is for who made the Plan.
//
// R and W are the keys read and written. An attempt is of one of four kinds. Intents, and the
// parallel commit of staged ones, are CockroachDB's (Taft et al. 2020), the primary is
// Percolator's (Peng, Dabek 2010), validation at the end is that of Kung and Robinson (1981).
//
//   - Direct: W = {k}, R within W. One CAS of the cell to the new value.
//   - Parallel: R within W. A CAS of a staged intent into every cell at once. The attempt
//     commits at the instant the last intent lands, as any observer can tell by reading all
//     members: the client knows once every CAS is answered, and resolves the intents in the
//     background.
//     Where the store can write several objects at one instant, that is how it commits, without
//     intents: as if it were direct.
//   - Validated: some key is read, but not written, or a range. (1) CAS pending intents, (2)
//     validate R, (3) CAS the primary from its intent to its value, with the mark.
//     The last is the commit point. From (1) to (3) nobody reads through the intents.
//   - Locked: a pending intent without a value in every cell, one after another, at whatever
//     version it has; then the values; then (3).
//
// What fails leaves a dead attempt. Its intents are replaced by the next attempt of
// the transaction, or removed in the background. An attempt has an id of its own,
// and its members' expected versions are part of its intents: it never sends a
// member at another version. A crash at any point leaves intents that whoever meets
// them can decide (package resolve).
package commit

import (
	"context"
	"sync/atomic"

	"github.com/strictkv/strictkv/internal/cleanup"
	"github.com/strictkv/strictkv/internal/contention"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// Committer makes attempts on one database.
type Committer struct {
	st    *store.Store
	rs    *resolve.Resolver
	rt    seam.Runtime
	bg    *cleanup.Background
	keys  *contention.Keys
	scans *scan.Scanner
	// memory is told what was found valid, and what has been written.
	memory *scan.Memory
	counts *Counts
}

// Counts count attempts.
type Counts struct {
	// Direct, Parallel and Validated count them by kind.
	Direct, Parallel, Validated atomic.Int64
	// Refused counts those that came to nothing.
	Refused atomic.Int64
}

// Options configures a Committer.
type Options struct {
	Store      *store.Store
	Resolver   *resolve.Resolver
	Background *cleanup.Background
	Keys       *contention.Keys
	Scanner    *scan.Scanner
	Memory     *scan.Memory
	Counts     *Counts
}

// New returns a Committer.
func New(o Options) *Committer {
	return &Committer{
		st: o.Store, rs: o.Resolver, rt: o.Store.Runtime(), bg: o.Background, keys: o.Keys,
		scans: o.Scanner, memory: o.Memory, counts: o.Counts,
	}
}

// Commit makes one attempt. It waits while too much is left to the background.
func (c *Committer) Commit(ctx context.Context, p *Plan) Result {
	a := c.newAttempt(ctx, p)
	if a.kind != Direct {
		if err := c.bg.Admit(ctx); err != nil {
			return a.withdraw(err)
		}
	}
	if a.kind != Validated && !p.seal() {
		return a.withdraw(nil)
	}
	return a.conclude(a.run())
}
