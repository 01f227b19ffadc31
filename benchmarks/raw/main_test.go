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
	dir := t.TempDir()
	var out strings.Builder
	require.ErrorIs(t, program(t, []string{"-h"}, io.Discard, &out), flag.ErrHelp)
	for name, args := range map[string][]string{
		"simulated": {"-profile", "s3"},
		"folder":    {"-bucket", "file://" + filepath.Join(dir, "folder") + "?nosync=true"},
	} {
		base := filepath.Join(dir, name)
		args = append(args, "-n", "3", "-out", base)
		require.NoError(t, program(t, args, &out, &out), name)
		text, err := os.ReadFile(base + ".csv")
		require.NoError(t, err)
		assert.Equal(t, 1+3*3, strings.Count(string(text), "\n"), name)
	}
	require.NoError(t, plain.Check(out.String()))
	assert.Error(t, program(t, []string{"-n", "0"}, io.Discard, io.Discard))
}
