package target_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/benchmarks/internal/target"
)

func TestCheck(t *testing.T) {
	least, most := target.Least("x", "per s", 5), target.Most("x", "per s", 5)
	for _, c := range []struct {
		target target.Target
		runs   []float64
		want   target.Row
	}{
		{least, []float64{7, 5, 6}, target.Row{Median: 6, Worst: 5, Met: "yes"}},
		{least, []float64{4, 9, 6},
			target.Row{Median: 6, Worst: 4, Met: "in most runs"}},
		{most, []float64{5, 1, 2}, target.Row{Median: 2, Worst: 5, Met: "yes"}},
		{most, []float64{6, 7, 2}, target.Row{Median: 6, Worst: 7, Met: "NO"}},
		{least, nil, target.Row{Met: "NO"}},
	} {
		c.want.What, c.want.Figure = "x", "per s"
		got := c.target.Check(c.runs)
		c.want.Target = got.Target
		assert.Equal(t, c.want, got)
	}
	assert.Equal(t, ">= 0.9", target.Least("", "", 0.9).Check(nil).Target)
	assert.Equal(t, "<= 7", target.Most("", "", 7).Check(nil).Target)
}
