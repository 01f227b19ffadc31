package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// axis maps values to places. A logarithmic one does so by itself, on a linear axis of the
// library: that would reserve room for the label of a logarithmic axis at the wrong end.
type axis struct {
	logarithmic bool
	least       float64 // what is less is shown there: 0 has no logarithm
}

func (a axis) at(x float64) float64 {
	x = max(x, a.least)
	if a.logarithmic {
		return math.Log10(x)
	}
	return x
}

// set sets the range of the library's axis, with more room at its end by a share of it.
func (a axis) set(p *plot.Axis, most, room float64) {
	p.Min, p.Max = a.at(a.least), a.at(most)
	p.Max += room * (p.Max - p.Min)
	if p.Max <= p.Min {
		p.Max = p.Min + 1
	}
	p.Tick.Marker = plot.TickerFunc(a.ticks)
}

// ticksMin is how many labels a logarithmic axis has at least by decades, or it is labelled as
// a linear one.
const ticksMin = 3

// ticks labels an axis by plain numbers: on a logarithmic one by 1, 2 and 5 times the powers
// of ten.
func (a axis) ticks(low, high float64) []plot.Tick {
	if !a.logarithmic {
		all := plot.DefaultTicks{}.Ticks(low, high)
		for i, t := range all {
			if t.Label != "" {
				all[i].Label = number(t.Value)
			}
		}
		return all
	}
	if all := decades(low, high); len(all) >= ticksMin {
		return all
	}
	var all []plot.Tick
	for _, t := range (plot.DefaultTicks{}).Ticks(math.Pow(10, low), math.Pow(10, high)) {
		if t.Label != "" && t.Value > 0 {
			all = append(all, plot.Tick{Value: math.Log10(t.Value), Label: number(t.Value)})
		}
	}
	return all
}

// decades are the labels between two logarithms.
func decades(low, high float64) (all []plot.Tick) {
	const slack = 1e-6
	for power := math.Floor(low); power <= high; power++ {
		for _, times := range []float64{1, 2, 5} {
			at := power + math.Log10(times)
			if at >= low-slack && at <= high+slack {
				all = append(all, plot.Tick{Value: at, Label: number(times * math.Pow(10, power))})
			}
		}
	}
	return all
}

// number is x without an exponent, and without digits that mean nothing.
func number(x float64) string {
	if math.Abs(x) >= 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
