package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/snapshot"
)

const (
	// attemptsMax is how often the analyst tries to see everything at one instant, before it takes
	// a snapshot again.
	attemptsMax = 100
	// analystPause is how long it rests between two snapshots.
	analystPause = 20 * time.Millisecond
)

// analyst asks questions while others write: of snapshots, so that however long a question takes,
// nobody waits for it, and all of its answers are of one instant.
type analyst struct {
	db    *strictkv.DB
	store snapshot.Store
	// last is the latest snapshot; each is a layer on the one before, and has only what is new.
	last  string
	taken int
}

// work takes snapshots, and asks, until ctx ends; it takes one at least.
func (a *analyst) work(ctx context.Context) error {
	for {
		err := a.take(context.WithoutCancel(ctx))
		if err == nil {
			err = a.ask(context.WithoutCancel(ctx))
		}
		if err != nil && !errors.Is(err, strictkv.ErrConflict) {
			return fmt.Errorf("analyst: %w", err)
		}
		select {
		case <-ctx.Done():
			if err == nil {
				return nil
			}
		case <-time.After(analystPause):
		}
	}
}

// take takes a snapshot.
func (a *analyst) take(ctx context.Context) (err error) {
	o := snapshot.SaveOptions{Attempts: attemptsMax}
	if a.last == "" {
		a.last, err = snapshot.SaveDB(ctx, a.store, a.db, o)
		return err
	}
	name, err := snapshot.DiffDB(ctx, a.store, a.last, a.db, o)
	if errors.Is(err, strictkv.ErrInvalid) { // there are snapshot.LayersMax layers
		name, err = snapshot.Compact(ctx, a.store, a.last)
	}
	if err == nil {
		a.last = name
	}
	return err
}

// ask adds up both sides, as they were at the instant of the snapshot: they balance.
func (a *analyst) ask(ctx context.Context) (err error) {
	snap, err := snapshot.Open(ctx, a.store, a.last)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	b := books{appended: map[string]sum{}, rolledUp: map[string]sum{}}
	for item, err := range snap.Scan(ctx, strictkv.Range{}) {
		if err != nil {
			return err
		}
		if err := b.add(item); err != nil {
			return err
		}
	}
	a.taken++
	return b.balance()
}

// add adds a key of a snapshot of the whole database.
func (b *books) add(item strictkv.Item) error {
	collection, key, err := snapshot.ParseDatabaseKey(item.Key)
	if err != nil {
		return err
	}
	sums := map[string]map[string]sum{
		"appended": b.appended, "rolled-up": b.rolledUp,
	}[string(collection[0])]
	if sums == nil { // of the log
		var x event
		err = json.Unmarshal(item.Value, &x)
		b.log = b.log.plus(sum{1, x.Seconds})
		return err
	}
	var s sum
	err = json.Unmarshal(item.Value, &s)
	sums[string(key)] = s
	return err
}
