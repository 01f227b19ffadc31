package main

import (
	"fmt"
	"io"
	"testing"

	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/target"
)

// bound is that of a figure of a row.
type bound struct {
	target target.Target
	of     func(r row) float64
}

// goal is a measurement with the bounds of its figures.
type goal struct {
	settings settings
	bounds   []bound
}

func least(name, figure string, value float64, of func(r row) float64) bound {
	return bound{target.Least(name, figure, value), of}
}

func most(name, figure string, value float64, of func(r row) float64) bound {
	return bound{target.Most(name, figure, value), of}
}

// goals are what the library is meant to reach with the latencies of gcs. The first is that
// of the fewest clients, which the others are compared with.
func goals(s settings) []goal {
	s.Bucket, s.Parallel = bucket.Options{Profile: "gcs"}, 10
	with := func(clients, keys int) settings {
		s.Clients, s.Keys = clients, keys
		return s
	}
	const few, many = "5000 keys, 20 clients", "50 clients"
	return []goal{
		{with(1, 50_000), nil},
		{with(50, 50_000), []bound{
			least(many, "transactions/s", 5400, func(r row) float64 { return r.PerSecond }),
			most(many, "update p50, ms", 145, func(r row) float64 { return r.UpdateP50 }),
			most(many, "update p99, ms", 250, func(r row) float64 { return r.UpdateP99 }),
			most(many, "strong read p50, ms", 97, func(r row) float64 { return r.ReadP50 }),
			most(many, "requests per transaction", 3.3, func(r row) float64 { return r.Requests }),
			most(many, "writes per transaction", 0.42, func(r row) float64 { return r.Puts }),
			most(many, "resident, MiB", 400, func(r row) float64 { return r.Resident }),
		}},
		{with(20, 5000), []bound{
			least(few, "transactions/s", 1900, func(r row) float64 { return r.PerSecond }),
			most(few, "update p99, ms", 420, func(r row) float64 { return r.UpdateP99 }),
			most(few, "retries per transaction", 0.2, func(r row) float64 { return r.Retries }),
		}},
	}
}

// linear is the least share of one client's throughput that each of linearClients must keep.
const (
	linear        = 0.95
	linearClients = 50
)

// checkGoals measures each goal with some seeds.
func checkGoals(t *testing.T, s settings, seeds int, progress io.Writer) (
	all []row, checks []target.Row, err error,
) {
	alone := 0.0
	for _, g := range goals(s) {
		var rows []row
		for seed := range seedsOf(g.settings.Clients, seeds) {
			r, err := measure(t, g.settings, seed+1, progress)
			if err != nil {
				return all, checks, err
			}
			rows = append(rows, r)
		}
		all = append(all, rows...)
		if g.settings.Clients == 1 {
			alone = target.Least("", "", 0).Check(figures(rows, perClient)).Median
		}
		if g.settings.Clients == linearClients {
			name := fmt.Sprintf("%d clients", linearClients)
			g.bounds = append(g.bounds, least(name, "throughput per client, of 1 client's", linear,
				func(r row) float64 { return perClient(r) / alone }))
		}
		for _, b := range g.bounds {
			checks = append(checks, b.target.Check(figures(rows, b.of)))
		}
	}
	return all, checks, nil
}

func perClient(r row) float64 { return r.PerSecond / float64(r.Clients) }

func figures(rows []row, of func(r row) float64) (all []float64) {
	for _, r := range rows {
		all = append(all, of(r))
	}
	return all
}
