package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/plain"
)

func TestProgram(t *testing.T) {
	var out strings.Builder
	require.ErrorIs(t, program(t.Context(), []string{"-h"}, io.Discard, &out), flag.ErrHelp)
	base := filepath.Join(t.TempDir(), "engines")
	args := []string{
		"-dir", t.TempDir(), "-time", "1ms", "-keys", "10", "-scan", "10", "-records", "10",
		"-rounds", "1", "-parts", "unsynced,space", "-out", base,
	}
	require.NoError(t, program(t.Context(), args, &out, &out))
	text, err := os.ReadFile(base + ".csv")
	require.NoError(t, err)
	assert.Equal(t, 1+6, strings.Count(string(text), "\n"))
	require.NoError(t, plain.Check(out.String()))
	assert.Error(t, program(t.Context(), []string{"-rounds", "0"}, io.Discard, io.Discard))
}

func TestMedians(t *testing.T) {
	lines := medians([]row{
		{"a", "1/s", "pebble", 1, 3}, {"a", "1/s", "pebble", 2, 1}, {"a", "1/s", "pebble", 3, 2},
		{"a", "1/s", "bbolt", 1, 7},
	})
	assert.Equal(t, []line{{What: "a", Unit: "1/s", Pebble: 2, Bolt: 7}}, lines)
}
