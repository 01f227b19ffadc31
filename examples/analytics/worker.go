package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/strictkv/strictkv"
)

const (
	// workerEnv makes a process a worker; its value is the worker as JSON.
	workerEnv = "STRICTKV_ANALYTICS_WORKER"
	// workerFailed is the exit status of a worker that has failed: not that of one that
	// was killed, on any system.
	workerFailed = 3
	// appendMax is how many events an ingester appends in one transaction, at most.
	appendMax = 8
	// compactPause is how long a compactor rests that has found nothing.
	compactPause = 20 * time.Millisecond
)

// pages are what random events tell of.
var pages = []string{"/", "/docs", "/prices", "/search"}

// worker is a process that appends events, or rolls them up, until its standard input is
// closed, or it is killed.
type worker struct {
	// Name is unique, also among the processes of earlier days.
	Name     string
	Compacts bool
	Place    place
}

// serveIfWorker does not return if the environment makes this process a worker.
func serveIfWorker() {
	env := os.Getenv(workerEnv)
	if env == "" {
		return
	}
	var w worker
	if err := json.Unmarshal([]byte(env), &w); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", workerEnv, err)
		os.Exit(workerFailed)
	}
	os.Exit(w.serve())
}

// serve is the life of a worker's process, and returns its exit status. An interrupt from
// the terminal is for the process that has started it, which then ends its workers.
func (w worker) serve() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := w.run(context.WithoutCancel(ctx), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "process %s: %v\n", w.Name, err)
		return workerFailed
	}
	return 0
}

func (w worker) run(ctx context.Context, in io.Reader, out io.Writer) error {
	db, err := w.Place.open(ctx)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in)
		close(stop)
	}()
	work := w.ingest
	if w.Compacts {
		work = w.compact
	}
	err = work(ctx, newEvents(db.DB), json.NewEncoder(out), stop)
	return errors.Join(err, db.Close(ctx))
}

// ingest appends random events until stop, and says after each transaction what has been
// acknowledged in total, as a line of JSON.
func (w worker) ingest(
	ctx context.Context, e *events, out *json.Encoder, stop <-chan struct{},
) error {
	for acked := (sum{}); !closed(stop); {
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
		if err := out.Encode(acked); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return nil
}

// compact rolls events up until stop, and says how many after each pass.
func (w worker) compact(
	ctx context.Context, e *events, out *json.Encoder, stop <-chan struct{},
) error {
	for total := int64(0); !closed(stop); {
		n, err := e.compact(ctx)
		if err != nil && !errors.Is(err, strictkv.ErrUnavailable) {
			return fmt.Errorf("compact: %w", err)
		}
		total += int64(n)
		if err := out.Encode(sum{Events: total}); err != nil {
			return fmt.Errorf("report: %w", err)
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

func closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
