package main

import (
	"io"
	"testing"

	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/target"
)

// goal is a measurement with the bounds of its figures.
type goal struct {
	settings settings
	targets  []target.Target
}

// figures are those of a row that have bounds, by name.
func (r row) figures() map[string]float64 {
	return map[string]float64{
		"jobs/s": r.PerSecond, "claim p99, ms": r.P99, "requests per claim": r.Requests,
		"wait p50, ms": r.WaitP50,
	}
}

// goals are what the queue is meant to reach with the latencies of gcs.
func goals(s settings, many int) []goal {
	s.Bucket = bucket.Options{Profile: "gcs"}
	s.Producers, s.Consumers = 10, 10
	const fast, calm, late = "as fast as they can", "5 jobs/s", "after many jobs"
	busy, idle, old := s, s, s
	idle.Rate = 5
	old.Before = many
	return []goal{
		{busy, []target.Target{
			target.Least(fast, "jobs/s", 5), target.Most(fast, "claim p99, ms", 3000),
			target.Most(fast, "requests per claim", 4),
		}},
		{idle, []target.Target{
			target.Least(calm, "jobs/s", 4.5), target.Most(calm, "claim p99, ms", 3000),
			target.Most(calm, "wait p50, ms", 2000),
		}},
		{old, []target.Target{
			target.Least(late, "jobs/s", 5), target.Most(late, "claim p99, ms", 3000),
			target.Most(late, "requests per claim", 4),
		}},
	}
}

// checkGoals measures each goal with some seeds.
func checkGoals(t *testing.T, s settings, many, seeds int, progress io.Writer) (
	all []row, checks []target.Row, err error,
) {
	for _, g := range goals(s, many) {
		runs := map[string][]float64{}
		for seed := range seeds {
			r, err := measure(t, g.settings, seed+1, progress)
			if err != nil {
				return all, checks, err
			}
			all = append(all, r)
			for name, x := range r.figures() {
				runs[name] = append(runs[name], x)
			}
		}
		for _, x := range g.targets {
			checks = append(checks, x.Check(runs[x.Figure]))
		}
	}
	return all, checks, nil
}
