package main

import (
	"io"
	"testing"
	"time"

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
		"writes/s": r.PerSecond, "lag p50, ms": r.P50, "lag p99, ms": r.P99,
		"lists/s of a follower": r.Lists, "gets/s of a follower": r.Gets,
		"hints written/s by a writer": r.Hints,
	}
}

// goals are what followers are meant to reach with the latencies of gcs: without a feed, what the
// listing takes.
func goals(s settings) []goal {
	s.Bucket = bucket.Options{Profile: "gcs"}
	s.Writers, s.Followers, s.Rate, s.Every = 8, 2, 1000, time.Second
	const with, without = "with a feed", "without"
	fed, bare := s, s
	fed.Feed = true
	return []goal{
		{fed, []target.Target{
			target.Least(with, "writes/s", 950),
			target.Most(with, "lag p50, ms", 2000), target.Most(with, "lag p99, ms", 3000),
			target.Most(with, "lists/s of a follower", 1.1),
			target.Most(with, "gets/s of a follower", 1100),
			target.Most(with, "hints written/s by a writer", 1),
		}},
		{bare, []target.Target{
			target.Least(without, "writes/s", 950),
			target.Most(without, "lag p50, ms", 8000), target.Most(without, "lag p99, ms", 15_000),
			target.Most(without, "lists/s of a follower", 200),
			target.Most(without, "gets/s of a follower", 1100),
		}},
	}
}

// checkGoals measures each goal with some seeds.
func checkGoals(t *testing.T, s settings, seeds int, progress io.Writer) (
	all []row, checks []target.Row, err error,
) {
	for _, g := range goals(s) {
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
