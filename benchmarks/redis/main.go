//go:build linux

// Command redis compares `strictkv redis` on package backend/pebble with Redis, by Redis' own
// benchmark: both on the disk of this machine, by turns. Redis and redis-benchmark are to be
// installed, and the command strictkv built.
//
//	go build -C cmd/strictkv -o /tmp/strictkv .
//	go run -C benchmarks ./redis -strictkv /tmp/strictkv
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/strictkv/strictkv/benchmarks/internal/chart"
	"github.com/strictkv/strictkv/benchmarks/internal/report"
)

func main() {
	err := program(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "redis:", err)
		os.Exit(1)
	}
}

// settings are those of the command line.
type settings struct {
	strictkv, dir   string
	clients, rounds int
	log             io.Writer
}

func program(ctx context.Context, args []string, out, log io.Writer) error {
	s := settings{log: log}
	f := flag.NewFlagSet("redis", flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&s.strictkv, "strictkv", "strictkv", "the command strictkv")
	f.StringVar(&s.dir, "dir", "", "where the data are; empty: the directory for such files")
	f.IntVar(&s.clients, "clients", 50, "clients")
	f.IntVar(&s.rounds, "rounds", 3, "rounds that all servers take in turns")
	sizes := f.String("sizes", "2000,20000,2000000", "sizes of values, in bytes")
	plots := f.String("plots", "", "put a picture into this folder")
	to := report.Output{Table: out}
	to.Flag(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	var all []figure
	for round := range s.rounds {
		for text := range strings.SplitSeq(*sizes, ",") {
			size, err := strconv.Atoi(text)
			if err != nil || size < 1 {
				return fmt.Errorf("size %q: want a number of bytes", text)
			}
			for _, k := range kinds {
				fmt.Fprintf(log, "round %d: %s, %d bytes\n", round+1, k.name, size)
				some, err := s.measure(ctx, k, size)
				if err != nil {
					return fmt.Errorf("%s, %d bytes: %w", k.name, size, err)
				}
				all = append(all, some...)
			}
		}
	}
	rows := medians(all)
	err := report.Show(to, "", rows)
	if *plots != "" {
		err = errors.Join(err, draw(*plots, rows))
	}
	return err
}

// row is what was measured of all servers with one load: medians of the rounds.
type row struct {
	Load     string  `json:"load" column:"load"`
	Bytes    int     `json:"bytes" column:"bytes"`
	Synced   float64 `json:"strictkv_synced" column:"StrictKV"`
	Always   float64 `json:"redis_always" column:"Redis, always"`
	Ratio    float64 `json:"ratio_synced" column:"ratio"`
	Unsynced float64 `json:"strictkv_unsynced" column:"StrictKV, unsynced"`
	None     float64 `json:"redis_none" column:"Redis, none"`
	Relative float64 `json:"ratio_unsynced" column:"ratio, unsynced"`
}

// medians are the rows, in the order in which they were measured. A ratio is the median of those of
// each round: both servers had the same other work beside them then.
func medians(all []figure) (rows []row) {
	for _, f := range all {
		known := slices.ContainsFunc(rows, func(r row) bool {
			return r.Load == f.load && r.Bytes == f.bytes
		})
		if known {
			continue
		}
		of := func(kind int) (values []float64) {
			for _, x := range all {
				if x.load == f.load && x.bytes == f.bytes && x.kind == kinds[kind].name {
					values = append(values, x.value)
				}
			}
			return values
		}
		rows = append(rows, row{
			Load: f.load, Bytes: f.bytes,
			Synced: median(of(0)), Always: median(of(1)), Ratio: median(ratios(of(0), of(1))),
			Unsynced: median(of(2)), None: median(of(3)), Relative: median(ratios(of(2), of(3))),
		})
	}
	return rows
}

func ratios(a, b []float64) []float64 {
	each := make([]float64, min(len(a), len(b)))
	for i := range each {
		each[i] = a[i] / b[i]
	}
	return each
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// draw makes the picture of docs/redis.md.
func draw(dir string, rows []row) error {
	c := chart.Chart{
		Title: "Commands of 50 clients, of Redis' own benchmark", X: "size of a value, bytes",
		Y: "commands per second", LogX: true, LogY: true,
	}
	for _, load := range []string{"SET", "GET"} {
		var some []row
		for _, r := range rows {
			if r.Load == load {
				some = append(some, r)
			}
		}
		add := func(name string, dashed bool, of func(row) float64) {
			at := func(r row) float64 { return float64(r.Bytes) }
			c.Series = append(c.Series, chart.Series{
				Name: name, Dashed: dashed, Points: chart.Runs(some, at, of),
			})
		}
		add(load+", StrictKV", false, func(r row) float64 { return r.Synced })
		add(load+", Redis, fsync always", true, func(r row) float64 { return r.Always })
	}
	return c.Write(filepath.Join(dir, "redis.png"))
}
