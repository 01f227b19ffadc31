package main

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/strictkv/strictkv/benchmarks/internal/chart"
)

// The sweeps: workers of one counter, each in a process of its own or all in one; and how
// many of six keys five processes share, in percent.
var (
	processes = []int{1, 2, 4, 8, 12, 16, 20}
	workers   = []int{1, 2, 4, 8, 16, 32, 64}
	overlaps  = []int{0, 10, 25, 50, 75, 100}
)

// sweeps are the rows of the charts.
type sweeps struct{ processes, workers, overlaps []row }

func (s *sweeps) all() []row {
	return append(append(append([]row(nil), s.processes...), s.workers...), s.overlaps...)
}

// sweep measures what the charts show.
func sweep(t *testing.T, s settings, seeds int, progress io.Writer) (all sweeps, err error) {
	s.Scenario = "update"
	measureAll := func(rows *[]row, values []int, set func(x int)) {
		for _, x := range values {
			set(x)
			for seed := range seeds {
				r, failed := measure(t, s, seed+1, progress)
				err = errors.Join(err, failed)
				*rows = append(*rows, r)
			}
		}
	}
	s.Keys, s.Overlap, s.Workers = 1, 100, 1
	measureAll(&all.processes, processes, func(x int) { s.Processes = x })
	s.Processes = 1
	measureAll(&all.workers, workers, func(x int) { s.Workers = x })
	s.Processes, s.Workers, s.Keys = 5, 1, 6
	measureAll(&all.overlaps, overlaps, func(x int) { s.Overlap = x })
	return all, err
}

// plots draws the sweeps into a folder.
func plots(dir string, s sweeps) (failed error) {
	for name, c := range charts(s) {
		failed = errors.Join(failed, c.Write(filepath.Join(dir, name+".png")))
	}
	return failed
}

const (
	inProcesses = "each in a process of its own"
	inOne       = "all in one process"
	xWorkers    = "workers that update one counter"
)

func charts(s sweeps) map[string]chart.Chart {
	at := func(r row) float64 { return float64(r.Processes * r.Workers) }
	shared := func(r row) float64 { return float64(r.Overlap) }
	perPut := func(r row) float64 { return r.PerPut }
	return map[string]chart.Chart{
		"contention": {
			Title: "Latency of a contended counter (median, p10 to p90, dashed: p99)",
			X:     xWorkers, Y: "ms", LogX: true, LogY: true, Series: append(
				latency(inProcesses, s.processes, at, 1), latency(inOne, s.workers, at, 3)...),
		},
		"contention-throughput": {
			Title: "Throughput of a contended counter", X: xWorkers,
			Y: "commits per latency of a write", LogX: true, LogY: true, Series: []chart.Series{
				{Name: inProcesses, Points: chart.Runs(s.processes, at, perPut), Like: 1},
				{Name: inOne, Points: chart.Runs(s.workers, at, perPut), Like: 3},
			},
		},
		"overlap": {
			Title: "Updates of 6 keys by 5 processes (median, p10 to p90, dashed: p99)",
			X:     "share of the keys that all have in common, %", Y: "ms", LogY: true,
			Series: latency("latency", s.overlaps, shared, 1),
		},
	}
}

// latency makes a line of medians with its band, and a dashed one, both of the same colour.
func latency(name string, rows []row, x func(r row) float64, colour int) []chart.Series {
	p10 := func(r row) float64 { return r.P10 }
	p50 := func(r row) float64 { return r.P50 }
	p90 := func(r row) float64 { return r.P90 }
	p99 := func(r row) float64 { return r.P99 }
	return []chart.Series{
		{Name: name, Points: chart.Of(rows, x, p10, p50, p90), Like: colour},
		{Points: chart.Of(rows, x, p99, p99, p99), Dashed: true, Like: colour},
	}
}
