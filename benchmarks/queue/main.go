// Command queue measures a queue of package layers/queue: how many jobs go through it, how long
// a claim takes and how many requests it makes, after however many jobs before.
//
//	go run -C benchmarks ./queue -goals
//	go run -C benchmarks ./queue -producers 10 -consumers 10 -rate 5
package main

//go:generate go run . -goals -plots ../../docs/benchmarks

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/strictkv/strictkv/benchmarks/internal/report"
	_ "github.com/strictkv/strictkv/benchmarks/internal/server" // -bucket and -server
	"github.com/strictkv/strictkv/benchmarks/internal/virtual"
)

func main() { virtual.Main(program) }

// program runs the command with its arguments.
func program(t *testing.T, args []string, out, progress io.Writer) error {
	var s settings
	f := flag.NewFlagSet("queue", flag.ContinueOnError)
	f.SetOutput(progress)
	s.Bucket.Flags(f)
	f.IntVar(&s.Producers, "producers", 10, "processes that enqueue jobs")
	f.IntVar(&s.Consumers, "consumers", 10, "processes that claim and complete them")
	f.Float64Var(&s.Rate, "rate", 0, "jobs per second of all producers; 0 is as fast as they can")
	f.IntVar(&s.Before, "before", 0, "jobs that have gone through the queue before")
	f.DurationVar(&s.Warm, "warm", 10*time.Second, "time before anything counts")
	f.DurationVar(&s.Time, "time", time.Minute, "time in which it does")
	seeds := f.Int("seeds", 3, "how often to measure")
	all := f.Bool("goals", false, "measure all goals, with the latencies of gcs")
	many := f.Int("many", 200_000, "how many jobs have gone before in one of the goals")
	to := report.Output{Table: out}
	to.Flag(f)
	dir := f.String("plots", "", "put the goals into this folder, and the document above it")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.Producers < 1 || s.Consumers < 1 || s.Before < 0 || s.Rate < 0 || *seeds < 1 {
		return errors.New("queue: want at least 1 producer, consumer and seed")
	}
	if *dir != "" {
		to.Base = filepath.Join(*dir, "queue")
	}
	if err := s.Bucket.Start(t); err != nil {
		return err
	}
	if *all {
		rows, checks, err := checkGoals(t, s, *many, *seeds, progress)
		if err != nil {
			return err
		}
		return report.Goals(to, "queue", *dir, rows, checks)
	}
	var rows []row
	for seed := range *seeds {
		r, err := measure(t, s, seed+1, progress)
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	fmt.Fprint(out, "Latencies in ms; requests are those of the claims, vain ones included, for\n",
		"each job claimed. A job waits from when it was enqueued until it is claimed.\n")
	return report.Show(to, "", rows)
}
