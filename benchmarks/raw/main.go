// Command raw measures what a store does without this library: downloads, answers "not
// modified", and uploads of 1 KiB, 100 KiB and 1 MiB, one after another.
//
//	go run -C benchmarks ./raw -bucket gs://my-bucket
//	go run -C benchmarks ./raw -server fake-gcs-server
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"testing"

	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/raw"
	"github.com/strictkv/strictkv/benchmarks/internal/report"
	_ "github.com/strictkv/strictkv/benchmarks/internal/server" // -bucket and -server
	"github.com/strictkv/strictkv/benchmarks/internal/virtual"
)

func main() { virtual.Main(program) }

// program runs the command with its arguments.
func program(t *testing.T, args []string, out, progress io.Writer) error {
	var o bucket.Options
	f := flag.NewFlagSet("raw", flag.ContinueOnError)
	f.SetOutput(progress)
	o.Flags(f)
	n := f.Int("n", 100, "requests of each kind and size")
	to := report.Output{Table: out}
	to.Flag(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	if *n < 1 {
		return errors.New("raw: want at least 1 request")
	}
	if err := o.Start(t); err != nil {
		return err
	}
	var rows []raw.Row
	err := o.Run(t, func(ctx context.Context) (err error) {
		rows, err = measure(ctx, o, *n, progress)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "Requests one after another, without this library; latencies in ms.")
	return report.Show(to, "", rows)
}

func measure(
	ctx context.Context, o bucket.Options, n int, progress io.Writer,
) (all []raw.Row, err error) {
	b, err := bucket.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	for _, size := range raw.Sizes {
		fmt.Fprintf(progress, "%d requests of each kind, %d bytes\n", n, size)
		rows, err := b.Raw().Latency(ctx, size, n)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			r.Store = o.String()
			all = append(all, r)
		}
	}
	return all, nil
}
