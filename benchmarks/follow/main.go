// Command follow measures what followers of a database see, and when: how long after a commit its
// change is yielded, and what that takes in requests, with a feed and without.
//
//	go run -C benchmarks ./follow -goals
//	go run -C benchmarks ./follow -feed -rate 100 -keys 1000000
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
	f := flag.NewFlagSet("follow", flag.ContinueOnError)
	f.SetOutput(progress)
	s.Bucket.Flags(f)
	f.IntVar(&s.Keys, "keys", 100_000, "keys that are there, and followed")
	f.IntVar(&s.Writers, "writers", 8, "processes that write them")
	f.IntVar(&s.Followers, "followers", 2, "processes that follow")
	f.Float64Var(&s.Rate, "rate", 1000, "writes per second of all writers")
	f.BoolVar(&s.Feed, "feed", false, "handles have a feed: writers tell followers what they write")
	f.DurationVar(&s.Every, "every", time.Second, "the pause between two looks of a follower")
	f.DurationVar(&s.Warm, "warm", 10*time.Second, "time before anything counts")
	f.DurationVar(&s.Time, "time", 30*time.Second, "time in which it does")
	seeds := f.Int("seeds", 3, "how often to measure")
	all := f.Bool("goals", false, "measure all goals, with the latencies of gcs")
	to := report.Output{Table: out}
	to.Flag(f)
	dir := f.String("plots", "", "put the goals into this folder, and the document above it")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.Keys < 1 || s.Writers < 1 || s.Followers < 1 || s.Rate <= 0 || *seeds < 1 {
		return errors.New("follow: want at least 1 key, writer, follower and seed, and a rate")
	}
	if *dir != "" {
		to.Base = filepath.Join(*dir, "follow")
	}
	if err := s.Bucket.Start(t); err != nil {
		return err
	}
	if *all {
		rows, checks, err := checkGoals(t, s, *seeds, progress)
		if err != nil {
			return err
		}
		return report.Goals(to, "follow", *dir, rows, checks)
	}
	var rows []row
	for seed := range *seeds {
		r, err := measure(t, s, seed+1, progress)
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	fmt.Fprint(out, "Lags in ms, from when a write has returned until a follower yields it;\n",
		"requests a second: lists and gets of each follower, puts and deletes of\n",
		"hints of each writer.\n")
	return report.Show(to, "", rows)
}
