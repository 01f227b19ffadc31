//go:build linux

package main

import (
	"errors"
	"path/filepath"

	"github.com/strictkv/strictkv/benchmarks/internal/chart"
)

// draw makes the pictures of docs/benchmarks.md.
func draw(dir string, rows []row) error {
	picture := func(name, title, y string, of func(row) float64) error {
		c := chart.Chart{Title: title, X: "size of the data, MB", Y: y, LogX: true, LogY: true}
		for _, engine := range names {
			line := chart.Series{Name: engine, Dashed: engine != names[0]}
			var some []row
			for _, r := range rows {
				if r.Engine == engine {
					some = append(some, r)
				}
			}
			line.Points = chart.Runs(some, func(r row) float64 { return r.MB }, of)
			c.Series = append(c.Series, line)
		}
		return c.Write(filepath.Join(dir, name))
	}
	return errors.Join(
		picture("snapshot-random.png", "Random reads of 1 KiB, by the processor's time",
			"reads per second", func(r row) float64 { return r.Random }),
		picture("snapshot-clock.png", "Random reads of 1 KiB, by the clock", "reads per second",
			func(r row) float64 { return r.Wall }),
		picture("snapshot-sequential.png", "Sequential reads of 1 KiB, by the processor's time",
			"entries per second", func(r row) float64 { return r.Sequential }),
		picture("snapshot-uncached.png", "Random reads of 1 KiB, uncached", "reads per second",
			func(r row) float64 { return r.Cold }),
	)
}
