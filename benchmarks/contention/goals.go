package main

import (
	"io"
	"slices"
	"testing"

	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/target"
)

// goal is a measurement with the bounds of its figures.
type goal struct {
	name     string
	settings settings
	bounds   []bound
}

// bound is that of a figure of the row.
type bound struct {
	figure string
	of     func(r row) float64
	least  bool
	value  float64
}

// The figures that have bounds.
var (
	perPut  = bound{figure: "commits per PUT latency", of: func(r row) float64 { return r.PerPut }}
	perTime = bound{figure: "commits/s", of: func(r row) float64 { return r.PerSecond }}
	groups  = bound{figure: "group commits/s", of: func(r row) float64 { return r.Groups }}
	slowest = bound{figure: "slowest / mean", of: func(r row) float64 { return r.Slowest }}
	putsPer = bound{figure: "writes per commit", of: func(r row) float64 { return r.PutsPer }}
	mean    = bound{figure: "mean, ms", of: func(r row) float64 { return r.Mean }}
	p95     = bound{figure: "p95, ms", of: func(r row) float64 { return r.P95 }}
	p99     = bound{figure: "p99, ms", of: func(r row) float64 { return r.P99 }}
	longest = bound{figure: "max, ms", of: func(r row) float64 { return r.Max }}
	p50     = bound{figure: "p50, ms", of: func(r row) float64 { return r.P50 }}
	p90     = bound{figure: "p90, ms", of: func(r row) float64 { return r.P90 }}
	each    = bound{figure: "requests per commit", of: func(r row) float64 { return r.Requests }}
	lasting = bound{figure: "last 10 s / first", of: func(r row) float64 { return r.Lasting }}
	// Those of the first process alone, of the others, and of all, compared.
	minute = bound{figure: "commits a minute", of: func(r row) float64 {
		return 60 * r.PerSecond
	}}
	ofOthers = bound{figure: "commits / another's", of: func(r row) float64 {
		return r.PerSecond * float64(r.Processes-1) / max(r.Others, 1)
	}}
	overOthers = bound{figure: "commits / the others'", of: func(r row) float64 {
		return r.PerSecond / max(r.Others, 1)
	}}
	othersKeep = bound{figure: "the others' commits / without", of: func(r row) float64 {
		return r.Others / r.Than
	}}
	allKeep = bound{figure: "all commits / without", of: func(r row) float64 {
		return (r.PerSecond + r.Others) / r.Than
	}}
	perOne = bound{figure: "commits per PUT latency and worker",
		of: func(r row) float64 { return r.PerPut / float64(r.Processes*r.Workers) }}
)

func (b bound) atLeast(x float64) bound { b.least, b.value = true, x; return b }
func (b bound) atMost(x float64) bound  { b.least, b.value = false, x; return b }

func (b bound) target(name string) target.Target {
	if b.least {
		return target.Least(name, b.figure, b.value)
	}
	return target.Most(name, b.figure, b.value)
}

// starving is the share of the mean below which a worker counts as starving.
const starving = 0.1

// goals are what the library is meant to reach with the latencies of gcs.
func goals(s settings) []goal {
	s.Bucket = bucket.Options{Profile: "gcs"}
	on := func(scenario string, processes, workers, keys int) settings {
		s.Scenario, s.Processes, s.Workers = scenario, processes, workers
		s.Keys, s.Overlap = keys, 100
		return s
	}
	throttled := func(processes, workers, keys int) settings {
		s := on("update", processes, workers, keys)
		s.Bucket.Throttle = true
		return s
	}
	const get = 57 // ms, the mean of gcs
	return []goal{
		{"counter, 1 x 8", on("update", 1, 8, 1), []bound{perPut.atLeast(6)}},
		{"counter, 1 x 64", on("update", 1, 64, 1), []bound{perPut.atLeast(45)}},
		{"counter, 1 x 1", on("update", 1, 1, 1), []bound{perPut.atLeast(0.97)}},
		{"6 keys, 1 x 5", on("update", 1, 5, 6), []bound{perPut.atLeast(3)}},
		{"counter, 8 x 1", on("update", 8, 1, 1), []bound{
			perPut.atLeast(0.9), p95.atMost(2000), longest.atMost(7000), slowest.atLeast(0.5)}},
		{"counter, 20 x 1", on("update", 20, 1, 1), []bound{
			p95.atMost(4500), longest.atMost(12_000)}},
		{"6 keys, 5 x 1", on("update", 5, 1, 6), []bound{
			perPut.atLeast(0.35), p95.atMost(3000), longest.atMost(6000),
			slowest.atLeast(starving)}},
		{"10 keys against 8 direct writers", on("ten", 9, 1, 1), []bound{longest.atMost(5000)}},
		{"2 keys back to back", on("update", 1, 1, 2), []bound{
			mean.atMost(95), putsPer.atMost(2.01)}},
		{"distinct inserts, 1 x 8", on("insert", 1, 8, 1), []bound{perOne.atLeast(0.97)}},
		{"throttled counter, 8 x 1", throttled(8, 1, 1), []bound{perTime.atLeast(0.4)}},
		{"throttled counter, 1 x 8", throttled(1, 8, 1), []bound{perTime.atLeast(4)}},
		{"throttled, 2 hot keys, 1 x 8", throttled(1, 8, 2), []bound{groups.atLeast(0.9)}},
		{"read under one-key writers", on("read", 4, 1, 1), []bound{p99.atMost(3 * get)}},
		{"read under two-key writers", on("read", 4, 1, 2), []bound{p99.atMost(4 * get)}},
	}
}

// allGoals are those of calm loads, and of crowds.
func allGoals(s settings) []goal { return slices.Concat(goals(s), rivals(s), weak(s)) }

// checkGoals measures each goal with some seeds.
func checkGoals(t *testing.T, s settings, seeds int, progress io.Writer) (
	all []row, checks []target.Row, err error,
) {
	for _, g := range allGoals(s) {
		if s.Only != nil && !s.Only.MatchString(g.name) {
			continue
		}
		var rows []row
		for seed := range seeds {
			r, err := measure(t, g.settings, seed+1, progress)
			if err != nil {
				return all, checks, err
			}
			rows = append(rows, r)
		}
		all = append(all, rows...)
		for _, b := range g.bounds {
			var figures []float64
			for _, r := range rows {
				figures = append(figures, b.of(r))
			}
			checks = append(checks, b.target(g.name).Check(figures))
		}
	}
	return all, checks, nil
}
