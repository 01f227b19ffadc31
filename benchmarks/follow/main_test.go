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

// TestFigures holds followers to what is promised, with wide margins.
func TestFigures(t *testing.T) {
	s := settings{
		Bucket: bucket.Options{Profile: "gcs"}, Keys: 2000, Writers: 4, Followers: 2, Rate: 100,
		Every: time.Second, Warm: 5 * time.Second, Time: 20 * time.Second,
	}
	r, err := measure(t, s, 1, io.Discard)
	require.NoError(t, err)
	assert.InDelta(t, 100, r.PerSecond, 20)
	assert.Less(t, r.P99, 5000.)
	assert.Zero(t, r.Hints)
	assert.Zero(t, r.Failed)

	s.Feed = true
	r, err = measure(t, s, 1, io.Discard)
	require.NoError(t, err)
	assert.Less(t, r.P99, 5000.)
	assert.InDelta(t, 1, r.Hints, .2)
}

func TestGoals(t *testing.T) {
	docs := filepath.Join(t.TempDir(), "docs")
	dir := filepath.Join(docs, "benchmarks")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	page := docs + "/benchmarks.md"
	marks := "<!-- follow goals -->\n<!-- end follow goals -->\n"
	require.NoError(t, os.WriteFile(page, []byte(marks), 0o600))
	var out, progress strings.Builder
	args := []string{"-goals", "-seeds", "1", "-warm", "1s", "-time", "3s", "-keys", "2000",
		"-plots", dir}
	require.NoError(t, program(t, args, &out, &progress))
	require.NoError(t, plain.Check(out.String()))
	require.NoError(t, plain.Check(progress.String()))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "| with a feed | lag p99, ms |")
	for _, name := range []string{"follow-goals.csv", "follow-goals-runs.csv"} {
		assert.FileExists(t, filepath.Join(dir, name))
	}
}

func TestArguments(t *testing.T) {
	var out strings.Builder
	require.ErrorIs(t, program(t, []string{"-h"}, io.Discard, &out), flag.ErrHelp)
	require.NoError(t, plain.Check(out.String()))
	for _, bad := range [][]string{
		{"-writers", "0"}, {"-seeds", "0"}, {"-rate", "-1"}, {"-profile", "none"}, {"-none"},
	} {
		assert.Error(t, program(t, bad, io.Discard, io.Discard), bad)
	}
	out.Reset()
	args := []string{"-seeds", "1", "-keys", "100", "-rate", "10", "-warm", "1s", "-time", "1s"}
	require.NoError(t, program(t, args, &out, io.Discard))
	require.NoError(t, plain.Check(out.String()))
}
