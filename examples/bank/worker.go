package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/internal/crew"
)

// worker is a process that makes transfers.
type worker struct {
	ID       int
	Place    crew.Place
	Accounts int
}

// report is what a worker says after each transaction.
type report struct {
	// Acked is the worker's count of transfers as last acknowledged to it, 0 if none
	// has been.
	Acked int64
	// Doubts is the number of transactions in doubt since then.
	Doubts int64
	Stats  strictkv.Stats
}

// Run makes transfers until stop.
func (w worker) Run(ctx context.Context, stop <-chan struct{}, tell crew.Report) error {
	db, err := w.Place.Open(ctx, "bank")
	if err != nil {
		return err
	}
	err = w.work(ctx, newAccounts(db.DB, w.Accounts), stop, tell)
	return errors.Join(err, db.Close(ctx))
}

func (w worker) work(
	ctx context.Context, a *accounts, stop <-chan struct{}, tell crew.Report,
) error {
	for r := (report{}); !crew.Over(stop); {
		n, err := a.transfer(ctx, w.ID)
		switch {
		case err == nil:
			r.Acked, r.Doubts = n, 0
		case errors.Is(err, strictkv.ErrInDoubt):
			r.Doubts++ // the next transfer counts on from what has come of it
		case !errors.Is(err, strictkv.ErrUnavailable):
			return fmt.Errorf("transfer: %w", err)
		}
		r.Stats = a.db.Stats()
		if err := tell(r); err != nil {
			return err
		}
	}
	return nil
}

// compare checks that what a worker had acknowledged is there, and no more than it can
// have begun since. It tells whether there is more.
func (r report) compare(
	ctx context.Context, a *accounts, worker int, before int64,
) (more bool, err error) {
	count, err := a.count(ctx, worker)
	acked := max(before, r.Acked)
	switch {
	case err != nil:
		return false, err
	case count < acked:
		return false, violation("worker %d: %d transfers, but %d had been acknowledged",
			worker, count, acked)
	case count > acked+r.Doubts+1:
		return false, violation("worker %d: %d transfers, but only %d and %d in doubt were begun",
			worker, count, acked+1, r.Doubts)
	}
	return count > acked, nil
}

// sum adds up what workers tell of themselves.
func sum(s, t strictkv.Stats) strictkv.Stats { return s.Sub(strictkv.Stats{}.Sub(t)) }
