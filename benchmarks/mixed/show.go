package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/strictkv/strictkv/benchmarks/internal/chart"
	"github.com/strictkv/strictkv/benchmarks/internal/report"
)

// kindLine is what a terminal shows of one kind of transactions.
type kindLine struct {
	Kind      string  `json:"kind" show:"title"`
	Clients   float64 `json:"clients"`
	PerSecond float64 `json:"per s"`
	P50       float64 `json:"p50"`
	P90       float64 `json:"p90"`
	P99       float64 `json:"p99"`
}

// allLine is what a terminal shows of all of them together.
type allLine struct {
	Title     string  `json:"title" show:"title"`
	Clients   float64 `json:"clients"`
	PerSecond float64 `json:"per s"`
	Retries   float64 `json:"retries"`
	Requests  float64 `json:"requests"`
	Puts      float64 `json:"writes"`
	Cost      float64 `json:"$/million"`
	OfRaw     float64 `json:"of raw" show:"nonzero"`
	Resident  float64 `json:"MiB" show:"nonzero"`
}

// show prints what a person wants to know of the rows, and writes all of them to files.
func show(to report.Output, s settings, rows []row) error {
	fmt.Fprintf(to.Table, "Mixed load on %s: %d keys; each client runs %d at once.\n",
		s.Bucket, s.Keys, s.Parallel)
	fmt.Fprint(to.Table,
		"Medians of the runs; latencies in ms. Retries, requests and writes are those\n",
		"of a transaction, $ those of a million on gcs.\n")
	if failed := failures(rows); failed > 0 {
		fmt.Fprintf(to.Table, report.Failed, failed)
	}
	return errors.Join(report.Table(to.Table, kindLines(rows)),
		report.Table(to.Table, allLines(rows)), report.Save(to, "", rows))
}

func failures(rows []row) (n int64) {
	for _, r := range rows {
		n += r.Failed
	}
	return n
}

// medians are those of the runs, one for each number of clients.
func medians(rows []row, of func(r row) float64) (all []float64) {
	for _, p := range chart.Runs(rows, clients, of) {
		all = append(all, p.Middle)
	}
	return all
}

func kindLines(rows []row) (all []kindLine) {
	for _, k := range []struct {
		kind int
		of   func(r row) (rate, p50, p90, p99 float64)
	}{
		{kindUpdate, func(r row) (_, _, _, _ float64) {
			return r.UpdateRate, r.UpdateP50, r.UpdateP90, r.UpdateP99
		}},
		{kindRead, func(r row) (_, _, _, _ float64) {
			return r.ReadRate, r.ReadP50, r.ReadP90, r.ReadP99
		}},
		{kindWeak, func(r row) (_, _, _, _ float64) {
			return r.WeakRate, r.WeakP50, r.WeakP90, r.WeakP99
		}},
	} {
		rate := medians(rows, func(r row) float64 { x, _, _, _ := k.of(r); return x })
		p50 := medians(rows, func(r row) float64 { _, x, _, _ := k.of(r); return x })
		p90 := medians(rows, func(r row) float64 { _, _, x, _ := k.of(r); return x })
		p99 := medians(rows, func(r row) float64 { _, _, _, x := k.of(r); return x })
		for i, n := range medians(rows, clients) {
			all = append(all, kindLine{
				kinds[k.kind], n, math.Round(rate[i]), p50[i], p90[i], p99[i],
			})
		}
	}
	return all
}

func allLines(rows []row) (all []allLine) {
	ofRaw := medians(rows, func(r row) float64 { return r.OfRaw })
	resident := medians(rows, func(r row) float64 { return math.Round(r.Resident) })
	for i, s := range summaries(rows) {
		all = append(all, allLine{
			"all transactions", s.Clients, s.PerSecond, s.Retries, s.Requests, s.Puts, s.Cost,
			ofRaw[i], resident[i],
		})
	}
	return all
}
