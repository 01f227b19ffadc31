package snapshot

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv/layers/snapshot/internal/table"
)

// DefaultAge is how long a GC leaves what was saved alone.
const DefaultAge = 24 * time.Hour

// GCOptions says what a GC keeps.
type GCOptions struct {
	// Keep are names of snapshots. What they are layers on is kept as well.
	Keep []string
	// Age keeps also what was saved not longer ago than that, by the store's clock, so that nothing
	// goes that was saved after Keep was made up; 0 is DefaultAge, and less than 0 keeps Keep
	// alone.
	Age time.Duration
	// DryRun removes nothing, and tells what would be.
	DryRun bool
}

// GCReport is what a GC has done.
type GCReport struct {
	// Kept and Removed are how many snapshots, layers included, Bytes the size of all that was
	// removed: with parts, origins, and what was left by saves whose process has died.
	Kept, Removed int
	Bytes         int64
}

// GC removes the snapshots that are neither to be kept nor the base of one that is, and what
// processes that died have left. Whoever has one of them open in a directory goes on reading it;
// in a bucket, reads fail. It can be stopped at any time, and called again.
//
// A GC and a save exclude each other: ErrBusy. The announcement of one whose process has died
// counts for 24 hours; after 12 hours a GC ends with ErrBusy, to be called again. A name in Keep
// that is not there is ErrNotFound, and nothing is removed. Other errors: ErrInvalid, ErrNoBase,
// ErrCorrupt, the store's, and ctx's.
func GC(ctx context.Context, s Store, o GCOptions) (r GCReport, err error) {
	now, done, err := s.exclude(ctx)
	if err != nil {
		return r, fmt.Errorf("gc: %w", err)
	}
	defer func() { err = errors.Join(err, done()) }()
	if o.Age == 0 {
		o.Age = DefaultAge
	}
	g := &gc{
		Store: s, o: o, before: now.Add(-o.Age),
		keep: map[string]bool{}, parts: map[string]bool{}, started: time.Now(),
	}
	if o.Age < 0 {
		g.before = now.Add(staleAfter) // all
	}
	if err := g.run(ctx); err != nil {
		return g.report, fmt.Errorf("gc: %w", err)
	}
	return g.report, nil
}

type gc struct {
	Store
	o      GCOptions
	before time.Time
	keep   map[string]bool // names of snapshots
	parts  map[string]bool // of those
	report GCReport

	started time.Time
}

// gcMax is how long a GC goes on: well before a save would take it for dead.
const gcMax = staleAfter / 2

func (g *gc) run(ctx context.Context) error {
	all, err := g.list(ctx, kindContent)
	if err != nil {
		return err
	}
	for _, name := range g.o.Keep {
		if err := g.mark(ctx, name); err != nil {
			return err
		}
	}
	for _, x := range all {
		if !x.modified.Before(g.before) {
			// One without its base is what a GC was stopped at.
			if err := g.mark(ctx, x.id); err != nil && !errors.Is(err, ErrNoBase) {
				return err
			}
		}
	}
	g.report.Kept = len(g.keep)
	// What others refer to goes last, so that who is stopped leaves nothing without its base; of
	// layers the order is that of nothing, since none of them is to be kept.
	for _, kind := range []string{kindOrigin, kindContent, kindPart, kindSaving} {
		if err := g.sweep(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// mark keeps a snapshot with what it needs.
func (g *gc) mark(ctx context.Context, name string) error {
	for at := name; !g.keep[at]; {
		f, err := openNamed(ctx, g, at)
		if errors.Is(err, ErrNotFound) && at != name {
			return fmt.Errorf("snapshot %s: %w: %s", name, ErrNoBase, at)
		} else if err != nil {
			return err
		}
		g.keep[at] = true
		base := f.Base
		if err := errors.Join(g.markParts(f), f.Close()); err != nil {
			return err
		}
		o, err := g.open(ctx, kindOrigin, at)
		if err == nil {
			err = errors.Join(g.markParts(o), o.Close())
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if base == (table.Sum{}) {
			return nil
		}
		at = hex.EncodeToString(base[:])
	}
	return nil
}

func (g *gc) markParts(f *table.File) error {
	for i := range f.Segments() {
		s, err := f.Segment(i)
		if err != nil {
			return err
		}
		g.parts[hex.EncodeToString(s.Sum[:])] = true
	}
	return nil
}

// sweep removes what is stored of a kind, and not kept.
func (g *gc) sweep(ctx context.Context, kind string) error {
	all, err := g.list(ctx, kind)
	if err != nil {
		return err
	}
	for _, x := range all {
		keep := g.keep[x.id]
		switch kind {
		case kindPart:
			keep = g.parts[x.id]
		case kindSaving: // exclude has seen that all are of the dead
			keep = false
		}
		if keep {
			continue
		}
		if time.Since(g.started) > gcMax {
			return fmt.Errorf("it has worked for %v: call it again: %w", gcMax, ErrBusy)
		}
		if !g.o.DryRun {
			if err := g.remove(ctx, kind, x); err != nil {
				return err
			}
		}
		g.report.Bytes += x.size
		if kind == kindContent {
			g.report.Removed++
		}
	}
	return ctx.Err()
}
