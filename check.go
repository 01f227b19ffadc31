package strictkv

import (
	"context"
	"fmt"

	"github.com/strictkv/strictkv/internal/sweep"
)

// CheckOptions configures a DB.Check.
type CheckOptions struct {
	// Collection limits the check to a collection and what is nested in it; nil is the
	// whole database.
	Collection *Collection
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
	// Problems lists what must not be.
	Problems []CheckProblem
}

// CheckProblem is one thing in a database that must not be.
type CheckProblem struct {
	// Object is the full name of the object in the bucket.
	Object string
	// What is wrong with it.
	What string
}

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
	var progress func(sweep.CheckReport)
	if o.Progress != nil {
		progress = func(r sweep.CheckReport) { o.Progress(checkReport(r)) }
	}
	r, err := sweep.NewChecker(db.st, db.rs).Check(ctx, prefix, progress)
	return checkReport(r), err
}

func checkReport(r sweep.CheckReport) CheckReport {
	out := CheckReport{
		Objects: r.Objects, Bytes: r.Bytes, Values: r.Values, External: r.External,
		Tombstones: r.Tombstones, Condemned: r.Condemned, Committed: r.Committed, Dead: r.Dead,
		Undecided: r.Undecided, Marks: r.Marks, Orphans: r.Orphans, OrphanBytes: r.OrphanBytes,
		Clocks: r.Clocks,
	}
	for _, p := range r.Problems {
		out.Problems = append(out.Problems, CheckProblem(p))
	}
	return out
}
