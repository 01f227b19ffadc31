package crew

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// workerEnv makes a process a worker; its value is the worker as JSON.
const workerEnv = "STRICTKV_EXAMPLE_WORKER"

// workerFailed is the exit status of a worker that has failed: not that of one that was
// killed, on any system.
const workerFailed = 3

// Report tells the process that has started the worker how it gets on.
type Report func(any) error

// Worker is what a process of a crew does.
type Worker interface {
	// Run works until stop is closed, or its process is killed.
	Run(ctx context.Context, stop <-chan struct{}, tell Report) error
}

// Main runs what the process of a user is for, until it is interrupted, and ends the process
// with status 1 if that fails.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Serve runs the worker and does not return, if this process is one. An interrupt from the
// terminal is for the process that has started it, which then ends its workers.
func Serve[W Worker]() {
	env := os.Getenv(workerEnv)
	if env == "" {
		return
	}
	if err := serve[W](env); err != nil {
		fmt.Fprintf(os.Stderr, "worker %s: %v\n", env, err)
		os.Exit(workerFailed)
	}
	os.Exit(0)
}

func serve[W Worker](env string) error {
	var w W
	if err := json.Unmarshal([]byte(env), &w); err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	stop := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(stop)
	}()
	out := json.NewEncoder(os.Stdout)
	return w.Run(context.WithoutCancel(ctx), stop, func(r any) error {
		if err := out.Encode(r); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		return nil
	})
}

// Over reports whether a worker is to stop.
func Over(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
