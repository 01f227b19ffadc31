// Command roundtrips prints, for each kind of transaction, how many rounds of requests it
// waits for, which requests it makes, and how many milliseconds that takes: cold, warm, and
// when another process has changed the keys.
//
//	go run -C benchmarks ./roundtrips -profile s3
package main

//go:generate go run . -plots ../../docs/benchmarks

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/progress"
	"github.com/strictkv/strictkv/benchmarks/internal/report"
	"github.com/strictkv/strictkv/benchmarks/internal/virtual"
)

func main() { virtual.Main(program) }

// program runs the command with its arguments.
func program(t *testing.T, args []string, out, errs io.Writer) error {
	var o bucket.Options
	f := flag.NewFlagSet("roundtrips", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&o.Profile, "profile", "gcs", "simulated store: "+bucket.ProfileNames())
	runs := f.Int("runs", 300, "transactions of each kind that are timed")
	to := report.Output{Table: out}
	to.Flag(f)
	dir := f.String("plots", "", "put the results into this folder, and the document above it")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *dir != "" {
		to.Base = filepath.Join(*dir, "roundtrips")
	}
	if *runs < 1 {
		return errors.New("roundtrips: want at least 1 run")
	}
	rows, err := measureAll(t, o, *runs, errs)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Rounds and requests of a transaction on %s; its latency in ms, %d runs.\n",
		o.Profile, *runs)
	if err := report.Show(to, "", rows); err != nil || *dir == "" {
		return err
	}
	return report.InsertTable(*dir, "roundtrips", rows)
}

// measureAll measures each kind in each of its states.
func measureAll(t *testing.T, o bucket.Options, runs int, out io.Writer) (rows []row, err error) {
	bar := progress.New(out, "kinds of transactions", int64(len(kinds)))
	defer bar.Close()
	for done, k := range kinds {
		bar.Set(int64(done))
		for _, s := range k.states {
			r, err := measure(t, o, k, s, runs)
			if err != nil {
				return rows, err
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}
