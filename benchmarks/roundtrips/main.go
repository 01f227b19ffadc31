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
	"io"
	"path/filepath"
	"testing"

	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/report"
	"github.com/strictkv/strictkv/benchmarks/internal/virtual"
)

func main() { virtual.Main(program) }

// program runs the command with its arguments.
func program(t *testing.T, args []string, out, progress io.Writer) error {
	var o bucket.Options
	f := flag.NewFlagSet("roundtrips", flag.ContinueOnError)
	f.SetOutput(progress)
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
	var rows []row
	for _, k := range kinds {
		for _, s := range k.states {
			r, err := measure(t, o, k, s, *runs)
			if err != nil {
				return err
			}
			rows = append(rows, r)
		}
	}
	if err := report.Show(to, "", rows); err != nil || *dir == "" {
		return err
	}
	return report.InsertTable(*dir, "roundtrips", rows)
}
