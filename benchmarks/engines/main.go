// Command engines compares a database on package backend/pebble with embedded engines: Pebble
// itself, bbolt and Badger, on the disk of this machine, in one run.
//
//	go run -C benchmarks ./engines
//	go run -C benchmarks ./engines -parts durable -engines strictkv,pebble -time 5s
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/strictkv/strictkv/benchmarks/internal/report"
)

func main() {
	err := program(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// program runs the command with its arguments.
func program(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	var s settings
	f := flag.NewFlagSet("engines", flag.ContinueOnError)
	f.SetOutput(progress)
	f.StringVar(&s.Dir, "dir", "", "where the stores are made; empty: the directory for such files")
	f.DurationVar(&s.Time, "time", 3*time.Second, "how long each load runs")
	f.IntVar(&s.Keys, "keys", 10_000, "keys that are updated and read")
	f.IntVar(&s.Scan, "scan", 100_000, "keys of a scan")
	f.IntVar(&s.Records, "records", 200_000, "records whose space is measured")
	f.IntVar(&s.Rounds, "rounds", 3, "how often to measure")
	engines := f.String("engines", "", "engines, with commas between; empty: all")
	which := f.String("parts", "", "parts, with commas between: durable, unsynced, scan, space; "+
		"empty: all")
	profile := f.String("cpuprofile", "", "write a profile of the processor to this path")
	to := report.Output{Table: out}
	to.Flag(f)
	dir := f.String("plots", "", "put the figures into this folder, and the document above it")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.Keys < 1 || s.Scan < 1 || s.Records < 1 || s.Rounds < 1 {
		return errors.New("engines: want at least 1 key, record and round")
	}
	if *dir != "" {
		to.Base = filepath.Join(*dir, "engines")
	}
	if *profile != "" {
		stop, err := startProfile(*profile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	rows, err := all(ctx, s, func(kind, part string) bool {
		return named(*engines, kind) && named(*which, part)
	}, progress)
	if err != nil {
		return err
	}
	table := medians(rows)
	err = errors.Join(report.Table(out, entries(rows)), report.Save(to, "", table))
	if err != nil || *dir == "" {
		return err
	}
	return report.InsertTable(*dir, "engines", table)
}

func startProfile(path string) (stop func() error, err error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}

// named reports whether a list has the name, or is empty.
func named(list, name string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), name)
}

// line is one row of the table: a median for each engine.
type line struct {
	What     string  `json:"what"`
	Unit     string  `json:"unit"`
	StrictKV float64 `json:"strictkv" column:"StrictKV on pebble"`
	Pebble   float64 `json:"pebble" column:"Pebble"`
	Bolt     float64 `json:"bbolt" column:"bbolt"`
	Batching float64 `json:"bbolt_batch" column:"bbolt, Batch"`
	Badger   float64 `json:"badger" column:"Badger"`
}

// medians are those of all rounds, in the order of the rows.
func medians(rows []row) []line {
	var lines []line
	at := map[string]int{}
	for _, r := range rows {
		i, ok := at[r.What]
		if !ok {
			i = len(lines)
			at[r.What] = i
			lines = append(lines, line{What: r.What, Unit: r.Unit})
		}
		column := map[string]*float64{
			"strictkv": &lines[i].StrictKV, "pebble": &lines[i].Pebble, "bbolt": &lines[i].Bolt,
			"bbolt, Batch": &lines[i].Batching, "badger": &lines[i].Badger,
		}[r.Engine]
		*column = median(rows, r.What, r.Engine)
	}
	return lines
}

// entry is one figure of the table on a terminal.
type entry struct {
	What   string  `json:"what" show:"title"`
	Engine string  `json:"engine"`
	Figure float64 `json:"figure"`
	Unit   string  `json:"unit"`
}

// entries are the medians of all rounds, together what is to be compared.
func entries(rows []row) (all []entry) {
	for _, l := range medians(rows) {
		for _, k := range kinds {
			if f := median(rows, l.What, k.name); f != 0 {
				all = append(all, entry{l.What, k.name, f, l.Unit})
			}
		}
	}
	return all
}

// median is that of the figures of an engine, 0 if there is none.
func median(rows []row, what, engine string) float64 {
	var figures []float64
	for _, r := range rows {
		if r.What == what && r.Engine == engine {
			figures = append(figures, r.Figure)
		}
	}
	if len(figures) == 0 {
		return 0
	}
	slices.Sort(figures)
	return figures[len(figures)/2]
}
