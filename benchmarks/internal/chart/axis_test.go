package chart

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/plot"
)

func TestAxis(t *testing.T) {
	for _, c := range []struct {
		axis   axis
		most   float64
		labels string
		at     map[float64]float64
	}{
		{axis{true, 1}, 100, "1 2 5 10 20 50 100", map[float64]float64{0: 0, 1: 0, 10: 1, 100: 2}},
		{axis{true, 500}, 20_000, "500 1000 2000 5000 10000 20000", nil},
		{axis{true, 1.1}, 1.9, "1.2 1.5 1.8", nil},
		{axis{true, 3}, 3, "5 10 20", nil},
		{axis{false, 0}, 100, "0 50 100", map[float64]float64{-1: 0, 7: 7}},
		{axis{false, 0}, 0.9, "0 0.4 0.8", nil},
	} {
		var p plot.Axis
		c.axis.set(&p, c.most, 0)
		var labels []string
		for _, tick := range p.Tick.Marker.Ticks(p.Min, p.Max) {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		assert.Equal(t, c.labels, strings.Join(labels, " "))
		for x, want := range c.at {
			assert.InDelta(t, want, c.axis.at(x), 1e-9, "%v on %+v", x, c.axis)
		}
	}
}

// TestRoom: the legend has room above the lines, on either kind of axis.
func TestRoom(t *testing.T) {
	for _, logarithmic := range []bool{false, true} {
		points := []Point{{0, 10, 10, 10}, {1, 100, 100, 100}}
		series := []Series{{Name: "a", Points: points}, {Points: points}}
		c := Chart{LogY: logarithmic, Series: series}
		p, x, y := c.axes()
		assert.InDelta(t, y.at(100)+legendLine*(y.at(100)-p.Y.Min), p.Y.Max, 1e-9)
		assert.InDelta(t, 0, x.at(0), 1e-9)
	}
}
