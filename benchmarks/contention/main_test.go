package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/report"
	"github.com/strictkv/strictkv/internal/plain"
)

func short() settings {
	return settings{
		Bucket: bucket.Options{Profile: "gcs"}, Warm: time.Second, Time: 5 * time.Second,
		Processes: 1, Workers: 1, Keys: 1, Overlap: 100, Scenario: "update",
	}
}

// TestFigures: without contention they follow from the latency of a write.
func TestFigures(t *testing.T) {
	for name, x := range map[string]struct {
		change  func(s *settings)
		perPut  float64 // for each worker
		putsPer float64
	}{
		"alone":     {func(*settings) {}, 1, 1},
		"own keys":  {func(s *settings) { s.Workers, s.Overlap = 8, 0 }, 8, 1},
		"processes": {func(s *settings) { s.Processes, s.Overlap = 8, 0 }, 8, 1},
		"two keys":  {func(s *settings) { s.Keys = 2 }, 70. / 80, 2},
		"inserts":   {func(s *settings) { s.Workers, s.Scenario = 8, "insert" }, 8, 1},
		"s3":        {func(s *settings) { s.Bucket.Profile = "s3" }, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := short()
			x.change(&s)
			r, err := measure(t, s, 1, io.Discard)
			require.NoError(t, err)
			assert.InEpsilon(t, x.perPut, r.PerPut, 0.15)
			assert.InEpsilon(t, x.putsPer, r.PutsPer, 0.05)
			assert.InEpsilon(t, r.PerSecond, float64(r.Commits)/5, 0.01)
			assert.Less(t, 0.8, r.Slowest)
			assert.Less(t, r.Fastest, 1.2)
			assert.LessOrEqual(t, r.P50, r.P95)
			assert.LessOrEqual(t, r.P95, r.Max)
			assert.Zero(t, r.Retries+float64(r.Failed))
		})
	}
}

// TestOverlap: the more keys are shared, the more transactions are run again.
func TestOverlap(t *testing.T) {
	last := -1.0
	for _, percent := range []int{0, 50, 100} {
		s := short()
		s.Processes, s.Overlap = 4, percent
		r, err := measure(t, s, 1, io.Discard)
		require.NoError(t, err)
		assert.Greater(t, r.Retries, last, "%d %%", percent)
		last = r.Retries
	}
}

func TestThrottle(t *testing.T) {
	s := short()
	s.Bucket.Throttle, s.Time = true, 20*time.Second
	r, err := measure(t, s, 1, io.Discard)
	require.NoError(t, err)
	assert.InDelta(t, 1, r.PerSecond, 0.15, "one write per second")
	assert.Positive(t, r.Throttled)
	assert.Equal(t, "gcs, throttled", r.Store)
}

func TestGoals(t *testing.T) {
	base := filepath.Join(t.TempDir(), "goals")
	var out, progress strings.Builder
	args := []string{"-goals", "-seeds", "1", "-warm", "1s", "-time", "1s", "-out", base}
	require.NoError(t, program(t, args, &out, &progress))
	require.NoError(t, plain.Check(out.String()))
	require.NoError(t, plain.Check(progress.String()))
	rows, err := os.ReadFile(base + "-goals-runs.csv")
	require.NoError(t, err)
	checks, err := os.ReadFile(base + "-goals.csv")
	require.NoError(t, err)
	all := allGoals(settings{})
	assert.Equal(t, 1+len(all), strings.Count(string(rows), "\n"))
	bounds := 0
	for _, g := range all {
		bounds += len(g.bounds)
	}
	assert.Equal(t, 1+bounds, strings.Count(string(checks), "\n"))
	assert.Contains(t, out.String(), "10 keys against 8 direct writers")
}

// TestPlots writes the charts, and the tables of the documents above them.
func TestPlots(t *testing.T) {
	docs := filepath.Join(t.TempDir(), "docs")
	dir := filepath.Join(docs, "benchmarks")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	page := docs + "/benchmarks.md"
	marks := "<!-- contention goals -->\n<!-- end contention goals -->\n"
	require.NoError(t, os.WriteFile(page, []byte(marks), 0o600))
	args := []string{"-plots", dir, "-seeds", "1", "-warm", "1s", "-time", "1s"}
	require.NoError(t, program(t, args, io.Discard, io.Discard))
	args = append(args, "-goals", "-only", "counter, 8 x")
	require.NoError(t, program(t, args, io.Discard, io.Discard))
	for _, name := range []string{
		"contention.png", "contention-throughput.png", "overlap.png", "contention.csv",
		"contention.json", "contention-goals.csv", "contention-goals-runs.csv",
	} {
		assert.FileExists(t, filepath.Join(dir, name))
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "| counter, 8 x 1 |")
}

// TestScreen: the widest figures fit a terminal, and so does what the flags are for.
func TestScreen(t *testing.T) {
	var out strings.Builder
	require.ErrorIs(t, program(t, []string{"-h"}, io.Discard, &out), flag.ErrHelp)
	r := row{Scenario: "update", Store: "fake-gcs-server", Processes: 20, Workers: 64, Keys: 6,
		Overlap: 100, PerSecond: 12345, P50: 0.012345, P90: 1234.5, P99: 12345, Max: 123456,
		Retries: 123.45, Requests: 1234.5, CostGCS: 12345.6, OfRaw: 0.12345, Failed: 1e9}
	require.NoError(t, show(report.Output{Table: &out}, []row{r}))
	assert.Contains(t, out.String(), "1000000000 transactions FAILED")
	require.NoError(t, plain.Check(out.String()))
}

// TestLines: the runs of one setting make one line.
func TestLines(t *testing.T) {
	all := lines([]row{
		{Keys: 1, PerSecond: 3}, {Keys: 1, PerSecond: 1}, {Keys: 2, PerSecond: 5},
		{Keys: 1, PerSecond: 2},
	})
	require.Len(t, all, 2)
	assert.InDelta(t, 2, all[0].PerSecond, 0)
	assert.InDelta(t, 5, all[1].PerSecond, 0)
}

func TestArguments(t *testing.T) {
	for _, bad := range [][]string{
		{"-keys", "0"}, {"-seeds", "0"}, {"-scenario", "none"}, {"-profile", "none"}, {"-none"},
		{"-server", "none"},
	} {
		assert.Error(t, program(t, bad, io.Discard, io.Discard), bad)
	}
}
