package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/report"
	"github.com/strictkv/strictkv/benchmarks/internal/target"
	"github.com/strictkv/strictkv/internal/plain"
)

func short(clients int) settings {
	return settings{
		Bucket: bucket.Options{Profile: "gcs"}, Keys: 2000, Clients: clients, Parallel: 4,
		Warm: time.Second, Time: 3 * time.Second, ValueSize: 100,
	}
}

// TestFigures: one client's follow from the latencies.
func TestFigures(t *testing.T) {
	r, err := measure(t, short(2), 1, io.Discard)
	require.NoError(t, err)
	assert.InDelta(t, 140, r.UpdateP50, 25, "a round of reads, and one of writes")
	assert.InDelta(t, 95, r.ReadP50, 15, "two rounds of reads")
	assert.InDelta(t, 56, r.WeakP50, 10, "one read")
	assert.InDelta(t, 0.4, r.Puts, 0.15, "one of ten writes 2 keys, and resolves them")
	assert.InDelta(t, r.Requests, r.Gets+r.Puts+r.Deletes+r.Lists, 1e-9)
	assert.InDelta(t, 5*r.Puts+0.4*r.Gets, r.CostGCS, 1e-9, "dollars per million")
	assert.InEpsilon(t, 8/0.087, r.PerSecond, 0.15, "8 at once, each of 87 ms on average")
	assert.Zero(t, r.Failed)
}

func TestSweep(t *testing.T) {
	base := filepath.Join(t.TempDir(), "sweep")
	args := strings.Fields("-clients 1,3 -seeds 2 -keys 500 -parallel 2 -warm 1s -time 2s")
	var out, progress strings.Builder
	require.NoError(t, program(t, append(args, "-out", base), &out, &progress))
	require.NoError(t, plain.Check(out.String()))
	require.NoError(t, plain.Check(progress.String()))
	assert.Contains(t, out.String(), "\nupdate of 2 keys\n        1 ")
	assert.Equal(t, 2*2, strings.Count(progress.String(), "\n"), "a line for each run")
	text, err := os.ReadFile(base + ".csv")
	require.NoError(t, err)
	assert.Equal(t, 1+2*2, strings.Count(string(text), "\n"))
	assert.FileExists(t, base+".json")

	docs := filepath.Join(t.TempDir(), "docs")
	dir := filepath.Join(docs, "benchmarks")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	page := docs + "/benchmarks.md"
	marks := "<!-- mixed -->\n<!-- end mixed -->\n<!-- machine -->\n<!-- end machine -->\n"
	require.NoError(t, os.WriteFile(page, []byte(marks), 0o600))
	require.NoError(t, program(t, append(args, "-plots", dir), io.Discard, io.Discard))
	for _, name := range []string{
		"throughput.png", "latency.png", "operations.png", "retries.png", "mixed.csv",
	} {
		assert.FileExists(t, filepath.Join(dir, name))
	}
	text, err = os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "\n| 3 |", "a line of the table")
	assert.Contains(t, string(text), runtime.Version())
}

// TestStores runs the mix on a server, over HTTP, and passes over one that is not there.
func TestStores(t *testing.T) {
	t.Setenv("STRICTKV_SERVERS", "")
	t.Setenv("STRICTKV_VERSITYGW", "")
	s := short(0)
	s.Warm, s.Time = 0, 100*time.Millisecond
	rows, err := stores(t, s, "azuretest,versitygw", io.Discard)
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, showStores(report.Output{Table: &out}, "", rows))
	require.NoError(t, plain.Check(out.String()))
	require.Len(t, rows, 2, "1 client, and 4")
	for _, r := range rows {
		assert.Equal(t, "azuretest", r.Store)
		assert.Positive(t, min(r.Get, r.Unchanged, r.Put, r.PerSecond, r.OfRaw, r.Update, r.Read))
	}
	_, err = stores(t, s, "none", io.Discard)
	assert.ErrorContains(t, err, "none")
}

// TestScreen: the widest figures fit a terminal, and so does what the flags are for.
func TestScreen(t *testing.T) {
	var out strings.Builder
	require.ErrorIs(t, program(t, []string{"-h"}, io.Discard, &out), flag.ErrHelp)
	r := row{Clients: 5000, PerSecond: 123456, OfRaw: 0.12345, Resident: 98765, Failed: 1e9,
		UpdateRate: 12345, UpdateP50: 0.012345, UpdateP90: 1234.5, UpdateP99: 123456,
		Retries: 123.45, Requests: 12345.6, Puts: 0.012345, CostGCS: 123456.7}
	s := settings{Bucket: bucket.Options{Server: "fake-gcs-server"}, Keys: 1e6, Parallel: 100}
	require.NoError(t, show(report.Output{Table: &out}, s, []row{r}))
	assert.Contains(t, out.String(), "1000000000 transactions FAILED")
	var checks []target.Row
	for _, g := range goals(s) {
		for _, b := range g.bounds {
			checks = append(checks, b.target.Check([]float64{0.012345, 1e6, -1e6}))
		}
	}
	require.NoError(t, report.Goals(report.Output{Table: &out}, "", "", []row{r}, checks))
	require.NoError(t, plain.Check(out.String()))
}

func TestArguments(t *testing.T) {
	for _, bad := range [][]string{
		{"-keys", "1"}, {"-clients", "1,x"}, {"-clients", "0"}, {"-seeds", "0"}, {"-none"},
	} {
		assert.Error(t, program(t, bad, io.Discard, io.Discard), bad)
	}
}

// TestGoalsHaveBounds: each promise of throughput, latency, requests and memory is checked.
func TestGoalsHaveBounds(t *testing.T) {
	bounds := 0
	for _, g := range goals(short(1)) {
		for _, b := range g.bounds {
			bounds++
			assert.Zero(t, b.of(row{}), b.target.Figure)
		}
	}
	assert.Equal(t, 10, bounds)
}
