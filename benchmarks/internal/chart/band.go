package chart

import (
	"maps"
	"math"
	"slices"
)

// Point is a figure at X: the middle of several runs, and the band that most of them are in.
type Point struct{ X, Low, Middle, High float64 }

// Band makes points of several values at each x: their median, and what a tenth of them is
// below and above.
func Band(values map[float64][]float64) []Point {
	var points []Point
	for _, x := range slices.Sorted(maps.Keys(values)) {
		all := slices.Sorted(slices.Values(values[x]))
		if len(all) > 0 {
			low, middle, high := Quantile(all, 0.1), Quantile(all, 0.5), Quantile(all, 0.9)
			points = append(points, Point{x, low, middle, high})
		}
	}
	return points
}

// Quantile is the value that the share q of sorted values does not exceed, interpolated
// between neighbours. There must be at least one.
func Quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Of makes points of rows: the medians, over the rows with the same x, of each of the three.
func Of[T any](rows []T, x, low, middle, high func(r T) float64) []Point {
	at := func(of func(r T) float64) []Point {
		values := map[float64][]float64{}
		for _, r := range rows {
			values[x(r)] = append(values[x(r)], of(r))
		}
		return Band(values)
	}
	points, lows, highs := at(middle), at(low), at(high)
	for i := range points {
		points[i].Low, points[i].High = lows[i].Middle, highs[i].Middle
	}
	return points
}

// Runs makes points of rows: the band over the rows with the same x.
func Runs[T any](rows []T, x, of func(r T) float64) []Point {
	values := map[float64][]float64{}
	for _, r := range rows {
		values[x(r)] = append(values[x(r)], of(r))
	}
	return Band(values)
}
