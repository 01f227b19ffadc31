package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/strictkv/strictkv/benchmarks/internal/chart"
	"github.com/strictkv/strictkv/benchmarks/internal/report"
)

// summary is a line of the document's table: medians over the runs.
type summary struct {
	Clients   float64 `column:"clients"`
	PerSecond float64 `column:"transactions/s"`
	UpdateP50 float64 `column:"update p50, ms"`
	UpdateP99 float64 `column:"p99"`
	ReadP50   float64 `column:"strong read p50, ms"`
	ReadP99   float64 `column:"p99"`
	WeakP50   float64 `column:"weak read p50, ms"`
	Requests  float64 `column:"requests"`
	Puts      float64 `column:"of which writes"`
	Retries   float64 `column:"retries"`
	Cost      float64 `column:"$ per million, gcs"`
}

func clients(r row) float64 { return float64(r.Clients) }

func summaries(rows []row) (all []summary) {
	middle := func(of func(r row) float64) []chart.Point { return chart.Runs(rows, clients, of) }
	for i, p := range middle(func(r row) float64 { return r.PerSecond }) {
		at := func(of func(r row) float64) float64 { return middle(of)[i].Middle }
		all = append(all, summary{
			Clients: p.X, PerSecond: math.Round(p.Middle),
			UpdateP50: at(func(r row) float64 { return r.UpdateP50 }),
			UpdateP99: at(func(r row) float64 { return r.UpdateP99 }),
			ReadP50:   at(func(r row) float64 { return r.ReadP50 }),
			ReadP99:   at(func(r row) float64 { return r.ReadP99 }),
			WeakP50:   at(func(r row) float64 { return r.WeakP50 }),
			Requests:  at(func(r row) float64 { return r.Requests }),
			Puts:      at(func(r row) float64 { return r.Puts }),
			Retries:   at(func(r row) float64 { return r.Retries }),
			Cost:      at(func(r row) float64 { return r.CostGCS }),
		})
	}
	return all
}

// plots draws the rows into a folder, and puts their summary into the document.
func plots(dir string, rows []row) (failed error) {
	for name, c := range charts(rows) {
		failed = errors.Join(failed, c.Write(filepath.Join(dir, name+".png")))
	}
	return errors.Join(failed, report.InsertTable(dir, "mixed", summaries(rows)),
		report.InsertMachine(dir))
}

// showStores prints what was measured on stand-ins, and puts it into the document, if there
// is a folder.
func showStores(to report.Output, dir string, rows []storeRow) error {
	fmt.Fprint(to.Table, "Stand-ins by themselves, and the mixed load on them; latencies in ms.\n",
		"of raw: requests per second, as a fraction of a bare loop's.\n")
	if err := report.Show(to, "-stores", rows); err != nil || dir == "" {
		return err
	}
	return report.InsertTable(dir, "stores", rows)
}

const xClients = "clients, each with 10 transactions at once"

func charts(rows []row) map[string]chart.Chart {
	runs := func(name string, of func(r row) float64) chart.Series {
		return chart.Series{Name: name, Points: chart.Runs(rows, clients, of)}
	}
	return map[string]chart.Chart{
		"throughput": {
			Title: "Throughput of the mixed load", X: xClients, Y: "transactions per second",
			LogX: true, LogY: true, Series: []chart.Series{
				runs("measured, median of the runs", func(r row) float64 { return r.PerSecond }),
				linearSeries(rows),
			},
		},
		"latency": latencies(rows),
		"operations": {
			Title: "Requests of the mixed load", X: xClients, Y: "requests per transaction",
			LogX: true, Series: []chart.Series{
				runs("all", func(r row) float64 { return r.Requests }),
				runs("reads that bring data", func(r row) float64 { return r.Gets - r.Unchanged }),
				runs("reads answered \"not modified\"", func(r row) float64 { return r.Unchanged }),
				runs("writes", func(r row) float64 { return r.Puts }),
			},
		},
		"retries": {
			Title: "Transactions that met another one", X: xClients,
			Y: "retries per 100 transactions", LogX: true, Series: []chart.Series{
				runs("median of the runs", func(r row) float64 { return 100 * r.Retries }),
			},
		},
	}
}

// linearSeries is the throughput of the fewest clients, times the number of clients.
func linearSeries(rows []row) chart.Series {
	s := chart.Series{Name: "linear", Dashed: true}
	points := chart.Runs(rows, clients, func(r row) float64 { return r.PerSecond })
	for _, p := range points {
		y := points[0].Middle / points[0].X * p.X
		s.Points = append(s.Points, chart.Point{X: p.X, Low: y, Middle: y, High: y})
	}
	return s
}

func latencies(rows []row) chart.Chart {
	c := chart.Chart{
		Title: "Latency of the mixed load (median, p10 to p90, dashed: p99)", X: xClients,
		Y: "ms", LogX: true, LogY: true,
	}
	add := func(name string, of func(r row) (p10, p50, p90, p99 float64)) {
		p10 := func(r row) float64 { x, _, _, _ := of(r); return x }
		p50 := func(r row) float64 { _, x, _, _ := of(r); return x }
		p90 := func(r row) float64 { _, _, x, _ := of(r); return x }
		p99 := func(r row) float64 { _, _, _, x := of(r); return x }
		c.Series = append(c.Series,
			chart.Series{Name: name, Points: chart.Of(rows, clients, p10, p50, p90),
				Like: len(c.Series) + 1},
			chart.Series{Points: chart.Of(rows, clients, p99, p99, p99),
				Dashed: true, Like: len(c.Series) + 1})
	}
	add("update of 2 keys", func(r row) (_, _, _, _ float64) {
		return r.UpdateP10, r.UpdateP50, r.UpdateP90, r.UpdateP99
	})
	add("strong read of 2 keys", func(r row) (_, _, _, _ float64) {
		return r.ReadP10, r.ReadP50, r.ReadP90, r.ReadP99
	})
	add("weak read of 1 key, at most 10 s old", func(r row) (_, _, _, _ float64) {
		return r.WeakP10, r.WeakP50, r.WeakP90, r.WeakP99
	})
	return c
}
