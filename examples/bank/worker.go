package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/strictkv/strictkv"
)

// workerEnv makes a process a worker; its value is the worker as JSON.
const workerEnv = "STRICTKV_BANK_WORKER"

// workerFailed is the exit status of a worker that has failed: not that of one that was
// killed, on any system.
const workerFailed = 3

// worker is a process that makes transfers until its standard input is closed, or it is
// killed.
type worker struct {
	ID    int
	Place place
}

// report is what a worker says after each transaction, as a line of JSON.
type report struct {
	// Acked is the worker's count of transfers as last acknowledged to it, 0 if none
	// has been.
	Acked int64
	// Doubts is the number of transactions in doubt since then.
	Doubts int64
	Stats  strictkv.Stats
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

// env is what makes a process this worker.
func (w worker) env() (string, error) {
	b, err := json.Marshal(w)
	return workerEnv + "=" + string(b), err
}

// serve is the life of a worker's process, and returns its exit status. An interrupt from
// the terminal is for the bank, which then ends its workers.
func (w worker) serve() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := w.run(context.WithoutCancel(ctx), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "worker %d: %v\n", w.ID, err)
		return workerFailed
	}
	return 0
}

func (w worker) run(ctx context.Context, in io.Reader, out io.Writer) error {
	db, err := w.Place.open(ctx)
	if err != nil {
		return err
	}
	stop := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, in)
		stop <- err
	}()
	err = w.work(ctx, newAccounts(db.DB, w.Place.Accounts), json.NewEncoder(out), stop)
	return errors.Join(err, db.Close(ctx))
}

// work makes transfers until stop.
func (w worker) work(ctx context.Context, a *accounts, out *json.Encoder, stop <-chan error) error {
	var r report
	for {
		select {
		case err := <-stop:
			return err
		default:
		}
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
		if err := out.Encode(r); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
}
