package chart_test

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/benchmarks/internal/chart"
)

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		values  []float64
		q, want float64
	}{
		{[]float64{7}, 0.9, 7},
		{[]float64{1, 3}, 0.5, 2},
		{[]float64{1, 2, 4}, 0.5, 2},
		{[]float64{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}, 0.1, 10},
		{[]float64{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}, 0.9, 90},
		{[]float64{1, 2, 3}, 0, 1},
		{[]float64{1, 2, 3}, 1, 3},
	} {
		assert.InDelta(t, c.want, chart.Quantile(c.values, c.q), 1e-9, "%+v", c)
	}
}

type row struct{ x, p10, p50, p90 float64 }

var (
	rows = []row{{1, 1, 2, 3}, {10, 2, 4, 9}, {1, 1, 4, 3}, {1, 9, 9, 3}}
	x    = func(r row) float64 { return r.x }
	p10  = func(r row) float64 { return r.p10 }
	p50  = func(r row) float64 { return r.p50 }
	p90  = func(r row) float64 { return r.p90 }
)

func TestBands(t *testing.T) {
	assert.Equal(t, []chart.Point{{1, 1, 4, 3}, {10, 2, 4, 9}}, chart.Of(rows, x, p10, p50, p90))
	runs := chart.Runs(rows, x, p50)
	require.Len(t, runs, 2)
	assert.InDeltaSlice(t, []float64{1, 2.4, 4, 8},
		[]float64{runs[0].X, runs[0].Low, runs[0].Middle, runs[0].High}, 1e-9)
	assert.Equal(t, chart.Point{10, 4, 4, 4}, runs[1])
}

// TestWrite draws charts of all kinds, also such as have next to nothing in them.
func TestWrite(t *testing.T) {
	points := chart.Of(rows, x, p10, p50, p90)
	for name, c := range map[string]chart.Chart{
		"linear": {Title: "Title", X: "x, s", Y: "y, ms", Series: []chart.Series{
			{Name: "one", Points: points}, {Name: "two", Points: points, Dashed: true, Like: 1},
		}},
		"logarithmic": {LogX: true, LogY: true, Series: []chart.Series{{Points: points}}},
		"point":       {LogX: true, LogY: true, Series: []chart.Series{{Points: points[:1]}}},
		"zeros":       {LogY: true, Series: []chart.Series{{Points: []chart.Point{{X: 1}}}}},
		"empty":       {LogX: true, Series: []chart.Series{{Name: "none"}}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "new", name+".png")
			require.NoError(t, c.Write(path))
			f, err := os.Open(path)
			require.NoError(t, err)
			defer f.Close()
			picture, err := png.Decode(f)
			require.NoError(t, err)
			assert.InDelta(t, 1051, picture.Bounds().Dx(), 2)
			info, err := f.Stat()
			require.NoError(t, err)
			assert.Less(t, info.Size(), int64(60<<10))
			assert.Greater(t, info.Size(), int64(2<<10), "nothing was drawn")
		})
	}
}
