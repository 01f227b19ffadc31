package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/strictkv/strictkv/benchmarks/internal/report"
)

// line is what a terminal shows of the runs of one setting: medians.
type line struct {
	Setting   string  `json:"setting" show:"title"`
	PerSecond float64 `json:"per s"`
	P50       float64 `json:"p50"`
	P90       float64 `json:"p90"`
	P99       float64 `json:"p99"`
	Max       float64 `json:"max"`
	Retries   float64 `json:"retries"`
	Requests  float64 `json:"requests"`
	Cost      float64 `json:"$/million"`
	OfRaw     float64 `json:"of raw" show:"nonzero"`
}

// show prints what a person wants to know of the rows, and writes all of them to files.
func show(to report.Output, rows []row) error {
	fmt.Fprint(to.Table,
		"Medians of the runs; latencies in ms. Retries and requests are those of a\n",
		"transaction, $ those of a million on gcs.\n")
	failed := int64(0)
	for _, r := range rows {
		failed += r.Failed
	}
	if failed > 0 {
		fmt.Fprintf(to.Table, report.Failed, failed)
	}
	return errors.Join(report.Table(to.Table, lines(rows)), report.Save(to, "", rows))
}

// setting says what a row is about.
func (r row) setting() string {
	return fmt.Sprintf("%s on %s, processes x workers: %d x %d, keys: %d, shared: %d %%",
		r.Scenario, r.Store, r.Processes, r.Workers, r.Keys, r.Overlap)
}

func lines(rows []row) (all []line) {
	runs := map[string][]row{}
	var settings []string
	for _, r := range rows {
		name := r.setting()
		if runs[name] == nil {
			settings = append(settings, name)
		}
		runs[name] = append(runs[name], r)
	}
	for _, name := range settings {
		median := func(of func(r row) float64) float64 {
			var values []float64
			for _, r := range runs[name] {
				values = append(values, of(r))
			}
			slices.Sort(values)
			return values[len(values)/2]
		}
		all = append(all, line{
			Setting:   name,
			PerSecond: median(func(r row) float64 { return r.PerSecond }),
			P50:       median(func(r row) float64 { return r.P50 }),
			P90:       median(func(r row) float64 { return r.P90 }),
			P99:       median(func(r row) float64 { return r.P99 }),
			Max:       median(func(r row) float64 { return r.Max }),
			Retries:   median(func(r row) float64 { return r.Retries }),
			Requests:  median(func(r row) float64 { return r.Requests }),
			Cost:      median(func(r row) float64 { return r.CostGCS }),
			OfRaw:     median(func(r row) float64 { return r.OfRaw }),
		})
	}
	return all
}
