// Package target compares what was measured with what was promised.
package target

import (
	"fmt"
	"slices"
)

// Target is a bound of one figure.
type Target struct {
	// Name says what is measured, Figure which figure of it, with its unit.
	Name, Figure string
	// Bound is the value that the figure must reach, or with Most must not exceed.
	Bound float64
	Most  bool
}

// Least is a target for what must not be less.
func Least(name, figure string, bound float64) Target { return Target{name, figure, bound, false} }

// Most is a target for what must not be more.
func Most(name, figure string, bound float64) Target { return Target{name, figure, bound, true} }

// Row compares a target with several runs.
type Row struct {
	What   string  `json:"what" show:"title"`
	Figure string  `json:"figure"`
	Target string  `json:"target"`
	Median float64 `json:"median"`
	Worst  float64 `json:"worst"`
	Met    string  `json:"met"`
}

// Check makes the row. Met is "yes" if each run met the target, "in most runs" if their
// median did, else "NO".
func (t Target) Check(runs []float64) Row {
	sorted := slices.Sorted(slices.Values(runs))
	row := Row{What: t.Name, Figure: t.Figure, Met: "NO", Target: fmt.Sprintf(">= %g", t.Bound)}
	if t.Most {
		row.Target = fmt.Sprintf("<= %g", t.Bound)
	}
	if len(sorted) == 0 {
		return row
	}
	row.Median, row.Worst = sorted[len(sorted)/2], sorted[0]
	if t.Most {
		row.Worst = sorted[len(sorted)-1]
	}
	switch {
	case t.met(row.Worst):
		row.Met = "yes"
	case t.met(row.Median):
		row.Met = "in most runs"
	}
	return row
}

func (t Target) met(x float64) bool {
	if t.Most {
		return x <= t.Bound
	}
	return x >= t.Bound
}
