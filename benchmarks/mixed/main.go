// Command mixed measures the classic mix: clients that each run some transactions in
// parallel, on keys chosen at random, of which 10 % update two keys, 60 % are strong reads of
// two, and 30 % weak reads of one.
//
//	go run -C benchmarks ./mixed                        gcs in virtual time, 1 to 500 clients
//	go run -C benchmarks ./mixed -goals
//	go run -C benchmarks ./mixed -profile s3 -clients 50 -keys 5000
package main

//go:generate go run . -plots ../../docs/benchmarks
//go:generate go run . -plots ../../docs/benchmarks -goals
//go:generate go run . -plots ../../docs/benchmarks -time 5s -warm 2s -stores fake-gcs-server,Azurite,versitygw

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
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
	f := flag.NewFlagSet("mixed", flag.ContinueOnError)
	f.SetOutput(progress)
	s.Bucket.Flags(f)
	clients := f.String("clients", "1,2,5,10,20,50,100,200,500", "numbers of clients to sweep")
	f.IntVar(&s.Parallel, "parallel", 10, "transactions that each client has under way")
	f.IntVar(&s.Keys, "keys", 50_000, "keys, made beforehand")
	f.IntVar(&s.ValueSize, "value", 100, "bytes of a value")
	f.DurationVar(&s.Warm, "warm", 10*time.Second, "time before anything counts")
	f.DurationVar(&s.Time, "time", 30*time.Second, "time in which it does")
	f.BoolVar(&s.Shared, "shared", false, "let the clients share one cache")
	seeds := f.Int("seeds", 3, "how often to measure")
	all := f.Bool("goals", false, "measure all goals, with the latencies of gcs")
	to := report.Output{Table: out}
	to.Flag(f)
	standIns := f.String("stores", "", "measure these stand-ins, and what they do alone")
	dir := f.String("plots", "",
		"put the results into this folder, drawn too,\nand into the document above it")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.Keys < 2 || s.Parallel < 1 || *seeds < 1 || s.ValueSize < 1 {
		return errors.New("mixed: want at least 2 keys, 1 byte, and 1 of the others")
	}
	if *dir != "" {
		to.Base = filepath.Join(*dir, "mixed")
	}
	if *standIns != "" {
		rows, err := stores(t, s, *standIns, progress)
		if err != nil {
			return err
		}
		return showStores(to, *dir, rows)
	}
	if err := s.Bucket.Start(t); err != nil {
		return err
	}
	if *all {
		rows, checks, err := checkGoals(t, s, *seeds, progress)
		if err != nil {
			return err
		}
		return report.Goals(to, "mixed", *dir, rows, checks)
	}
	sweep, err := numbers(*clients)
	if err != nil {
		return err
	}
	rows, err := s.sweep(t, sweep, *seeds, progress)
	if err != nil {
		return err
	}
	if err := show(to, s, rows); err != nil || *dir == "" {
		return err
	}
	return plots(*dir, rows)
}

// sweep measures each number of clients some times.
func (s settings) sweep(
	t *testing.T, clients []int, seeds int, progress io.Writer,
) (rows []row, err error) {
	for _, s.Clients = range clients {
		for seed := range seedsOf(s.Clients, seeds) {
			r, err := measure(t, s, seed+1, progress)
			if err != nil {
				return rows, err
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// numbers parses a list of numbers above 0.
func numbers(list string) (all []int, err error) {
	for part := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("mixed: %q in -clients is no number of clients", part)
		}
		all = append(all, n)
	}
	return all, nil
}
