package main

import (
	"encoding/json"
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

// TestProgram compares some rows with the table of docs/costs.md.
func TestProgram(t *testing.T) {
	base := filepath.Join(t.TempDir(), "rows")
	args := []string{"-runs", "20", "-out", base}
	var out strings.Builder
	require.ErrorIs(t, program(t, []string{"-h"}, io.Discard, &out), flag.ErrHelp)
	require.NoError(t, program(t, args, &out, &out))
	require.NoError(t, plain.Check(out.String()))
	text, err := os.ReadFile(base + ".json")
	require.NoError(t, err)
	var rows []row
	require.NoError(t, json.Unmarshal(text, &rows))
	got := map[string]row{}
	for _, r := range rows {
		got[r.Kind+", "+r.State] = r
	}
	for name, want := range map[string]row{
		"strong read, warm":              {Rounds: 1, Gets: 1, Unchanged: 1, Mean: 31},
		"weak read, 10 s, warm":          {},
		"view of 10 keys, cold":          {Rounds: 2, Gets: 20, Unchanged: 10, Mean: 112},
		"insert, cold":                   {Rounds: 1, Puts: 1, Mean: 70},
		"update of 2 keys, stale":        {Rounds: 3, Gets: 2, Puts: 4, Later: 2, Mean: 220},
		"update of 2 keys, back to back": {Rounds: 1, Puts: 2, Later: 2, Mean: 80},
		"lock 5, write 1, warm":          {Rounds: 1, Puts: 6, Later: 6, Mean: 94},
	} {
		r := got[name]
		assert.InDelta(t, want.Mean, r.Mean, 40, name) // five standard deviations of the mean
		r.Kind, r.State, r.P50, r.P90, r.Mean = "", "", 0, 0, want.Mean
		assert.Equal(t, want, r, name)
	}
	assert.Error(t, program(t, []string{"-profile", "none"}, io.Discard, io.Discard))
	assert.Error(t, program(t, []string{"-runs", "0"}, io.Discard, io.Discard))
}
