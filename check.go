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
type CheckReport = sweep.Report

// CheckProblem is one thing in a database that must not be.
type CheckProblem = sweep.Problem

// Check examines every object of the database: names, formats, checksums, and what the
// protocol promises of intents and marks. It writes nothing that changes a value, and may
// run while others use the database. It costs a listing, a read of each cell, and of the
// members of each intent.
//
// Problems are listed in the report; the error tells that the check could not be carried
// through.
func (db *DB) Check(ctx context.Context, o CheckOptions) (CheckReport, error) {
	if err := db.begin(); err != nil {
		return CheckReport{}, err
	}
	defer db.end()
	prefix := ""
	if c := o.Collection; c != nil {
		if c.err != nil {
			return CheckReport{}, fmt.Errorf("check: %w", c.err)
		}
		if c.db != db {
			return CheckReport{}, fmt.Errorf("check: collection of another handle: %w", ErrInvalid)
		}
		prefix = string(c.path)
	}
	return sweep.NewChecker(db.st, db.rs).Check(ctx, prefix, o.Progress)
}
