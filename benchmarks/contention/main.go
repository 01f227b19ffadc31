// Command contention measures transactions that meet on the same keys: how many commit per
// latency of a write, how long they take, and how fair they are to each worker.
//
//	go run -C benchmarks ./contention -goals
//	go run -C benchmarks ./contention -processes 8 -workers 1 -keys 1
//	go run -C benchmarks ./contention -scenario read -processes 4 -keys 2 -profile s3
package main

//go:generate go run . -plots ../../docs/benchmarks
//go:generate go run . -plots ../../docs/benchmarks -goals

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
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
	f := flag.NewFlagSet("contention", flag.ContinueOnError)
	f.SetOutput(progress)
	s.Bucket.Flags(f)
	var names []string
	for _, x := range scenarios {
		names = append(names, fmt.Sprintf("%s: %s", x.name, x.help))
	}
	f.StringVar(&s.Scenario, "scenario", "update", strings.Join(names, "\n")+"\n")
	f.IntVar(&s.Processes, "processes", 8, "handles, each like a process")
	f.IntVar(&s.Workers, "workers", 1, "goroutines of each handle")
	f.IntVar(&s.Keys, "keys", 1, "keys of a transaction, 1 to 6")
	f.IntVar(&s.Overlap, "overlap", 100, "how many of a transaction's keys all share, in percent")
	f.DurationVar(&s.Body, "body", 0, "what the functions take, in some scenarios")
	f.Float64Var(&s.Far, "far", 0,
		"how many times as long the first process's requests take; 0: as long")
	f.BoolVar(&s.Lock, "lock", false, "lock what is read, in some scenarios")
	f.DurationVar(&s.Warm, "warm", 10*time.Second, "time before anything counts")
	f.DurationVar(&s.Time, "time", 30*time.Second, "time in which it does")
	seeds := f.Int("seeds", 3, "how often to measure")
	f.Func("only", "measure only those goals whose names match", func(p string) (err error) {
		s.Only, err = regexp.Compile(p)
		return err
	})
	all := f.Bool("goals", false, "measure all goals, with the latencies of gcs")
	to := report.Output{Table: out}
	to.Flag(f)
	dir := f.String("plots", "", "measure counters and overlapping keys, or with "+
		"-goals those,\nand put the results into this folder and the document above it")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.Keys < 1 || s.Processes < 1 || s.Workers < 1 || *seeds < 1 {
		return errors.New("contention: want at least 1 key, process, worker and seed")
	}
	if *dir != "" {
		to.Base = filepath.Join(*dir, "contention")
	}
	if err := s.Bucket.Start(t); err != nil {
		return err
	}
	if *all {
		rows, checks, err := checkGoals(t, s, *seeds, progress)
		if err != nil {
			return err
		}
		return report.Goals(to, "contention", *dir, rows, checks)
	}
	if *dir != "" {
		swept, err := sweep(t, s, *seeds, progress)
		if err != nil {
			return err
		}
		return errors.Join(show(to, swept.all()), plots(*dir, swept))
	}
	var rows []row
	for seed := range *seeds {
		r, err := measure(t, s, seed+1, progress)
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	return show(to, rows)
}
