package main

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/otelkv/internal/instrument"
)

// TestDashboard: the file is what the names in the code make of it.
func TestDashboard(t *testing.T) {
	want, err := render()
	require.NoError(t, err)
	got, err := os.ReadFile("../dashboard.json")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "run go generate in layers/otelkv")
}

// TestQueries: each query is about metrics that there are, and attributes that those have; and
// each metric is shown.
func TestQueries(t *testing.T) {
	metric := regexp.MustCompile(`\b((?:strictkv|db_client)_[a-z_]+)\{([^}]*)\}`)
	label := regexp.MustCompile(`\b((?:strictkv|db|error)_[a-z_]+)\b`)
	attributes := map[string][]string{}
	for _, i := range instrument.All {
		of := []string{instrument.Label(instrument.Namespace), instrument.Label(instrument.System)}
		for _, a := range i.Attributes {
			of = append(of, instrument.Label(a))
		}
		suffixes := []string{""}
		if i.Kind == instrument.Histogram {
			suffixes = []string{"_bucket", "_count", "_sum"}
		}
		for _, s := range suffixes {
			attributes[i.Prometheus()+s] = of
		}
	}
	shown := ""
	for _, r := range rows() {
		for _, p := range r.panels {
			for _, q := range p.queries {
				shown += q.expr + "\n"
				found := metric.FindAllStringSubmatch(q.expr, -1)
				require.NotEmpty(t, found, q.expr)
				of := attributes[found[0][1]]
				for _, m := range found {
					require.Contains(t, attributes, m[1], q.expr)
				}
				rest := metric.ReplaceAllString(q.expr, "$2") + q.legend
				for _, l := range label.FindAllString(rest, -1) {
					assert.Contains(t, of, l, q.expr)
				}
			}
		}
	}
	for _, i := range instrument.All {
		assert.Contains(t, shown, i.Prometheus(), "%s is not shown", i.Name)
	}
}

// TestLayout: panels do not lie on one another, and have ids of their own.
func TestLayout(t *testing.T) {
	text, err := render()
	require.NoError(t, err)
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
		}
	}
	require.NoError(t, json.Unmarshal(text, &board))
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range board.Panels {
		assert.False(t, ids[p.ID])
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				assert.Less(t, at[0], columns)
				require.Empty(t, taken[at], p.Title)
				taken[at] = p.Title
			}
		}
	}
}
