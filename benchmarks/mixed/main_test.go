package main

import (
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
	require.NoError(t, program(t, append(args, "-out", base), io.Discard, io.Discard))
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
	require.Len(t, rows, 2, "1 client, and 4")
	for _, r := range rows {
		assert.Equal(t, "azuretest", r.Store)
		assert.Positive(t, min(r.Get, r.Unchanged, r.Put, r.PerSecond, r.OfRaw, r.Update, r.Read))
	}
	_, err = stores(t, s, "none", io.Discard)
	assert.ErrorContains(t, err, "none")
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
