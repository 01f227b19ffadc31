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
	"github.com/strictkv/strictkv/internal/plain"
)

// TestFigures holds the queue to what is promised, with wide margins.
func TestFigures(t *testing.T) {
	s := settings{
		Bucket: bucket.Options{Profile: "gcs"}, Producers: 10, Consumers: 10, Before: 3000,
		Warm: 5 * time.Second, Time: 20 * time.Second,
	}
	r, err := measure(t, s, 1, io.Discard)
	require.NoError(t, err)
	assert.Greater(t, r.PerSecond, 10.)
	assert.Less(t, r.P99, 3000.)
	assert.Less(t, r.Requests, 4.)
	assert.Zero(t, r.Failed)

	s.Rate = 5
	r, err = measure(t, s, 1, io.Discard)
	require.NoError(t, err)
	assert.InDelta(t, 5, r.PerSecond, 2.5)
	assert.Less(t, r.WaitP50, 2000.)
}

func TestGoals(t *testing.T) {
	docs := filepath.Join(t.TempDir(), "docs")
	dir := filepath.Join(docs, "benchmarks")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	page := docs + "/benchmarks.md"
	marks := "<!-- queue goals -->\n<!-- end queue goals -->\n"
	require.NoError(t, os.WriteFile(page, []byte(marks), 0o600))
	var out, progress strings.Builder
	args := []string{"-goals", "-seeds", "1", "-warm", "1s", "-time", "5s", "-many", "2000",
		"-plots", dir}
	require.NoError(t, program(t, args, &out, &progress))
	require.NoError(t, plain.Check(out.String()))
	require.NoError(t, plain.Check(progress.String()))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "| after many jobs | requests per claim |")
	for _, name := range []string{"queue-goals.csv", "queue-goals-runs.csv"} {
		assert.FileExists(t, filepath.Join(dir, name))
	}
}

func TestArguments(t *testing.T) {
	var out strings.Builder
	require.ErrorIs(t, program(t, []string{"-h"}, io.Discard, &out), flag.ErrHelp)
	require.NoError(t, plain.Check(out.String()))
	for _, bad := range [][]string{
		{"-producers", "0"}, {"-seeds", "0"}, {"-rate", "-1"}, {"-profile", "none"}, {"-none"},
	} {
		assert.Error(t, program(t, bad, io.Discard, io.Discard), bad)
	}
	out.Reset()
	args := []string{"-seeds", "1", "-warm", "1s", "-time", "1s", "-throttle"}
	require.NoError(t, program(t, args, &out, io.Discard))
	require.NoError(t, plain.Check(out.String()))
}
