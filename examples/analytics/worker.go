package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/internal/crew"
)

const (
	// appendMax is how many events an ingester appends in one transaction, at most.
	appendMax = 8
	// compactPause is how long a compactor rests that has found nothing.
	compactPause = 20 * time.Millisecond
)

// pages are what random events tell of.
var pages = []string{"/", "/docs", "/prices", "/search"}

// worker is a process that appends events, or rolls them up.
type worker struct {
	// Name is unique, also among the processes of earlier days.
	Name     string
	Compacts bool
	Place    crew.Place
}

// Run appends, or rolls up, until stop.
func (w worker) Run(ctx context.Context, stop <-chan struct{}, tell crew.Report) error {
	db, err := w.Place.Open(ctx, "analytics")
	if err != nil {
		return err
	}
	work := w.ingest
	if w.Compacts {
		work = w.compact
	}
	err = work(ctx, newEvents(db.DB), stop, tell)
	return errors.Join(err, db.Close(ctx))
}

// ingest appends random events until stop, and says after each transaction what has been
// acknowledged in total.
func (w worker) ingest(
	ctx context.Context, e *events, stop <-chan struct{}, tell crew.Report,
) error {
	for acked := (sum{}); !crew.Over(stop); {
		added := make([]event, 1+rand.IntN(appendMax))
		for i := range added {
			added[i] = event{pages[rand.IntN(len(pages))], 1 + rand.Int64N(60)}
		}
		for {
			now, err := e.append(ctx, w.Name, acked, added)
			if err == nil {
				acked = now
				break
			} else if !errors.Is(err, strictkv.ErrUnavailable) {
				return fmt.Errorf("append: %w", err)
			}
		}
		if err := tell(acked); err != nil {
			return err
		}
	}
	return nil
}

// compact rolls events up until stop, and says how many after each pass.
func (w worker) compact(
	ctx context.Context, e *events, stop <-chan struct{}, tell crew.Report,
) error {
	for total := int64(0); !crew.Over(stop); {
		n, err := e.compact(ctx)
		if err != nil && !errors.Is(err, strictkv.ErrUnavailable) {
			return fmt.Errorf("compact: %w", err)
		}
		total += int64(n)
		if err := tell(sum{Events: total}); err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		select {
		case <-stop:
		case <-time.After(compactPause):
		}
	}
	return nil
}
