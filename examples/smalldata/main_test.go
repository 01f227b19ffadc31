package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMadeUp(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, "", "", 3000))
	assert.Contains(t, out.String(), "of 3000 rows")
	assert.Contains(t, out.String(), "customer-000002999: ")
	assert.Contains(t, out.String(), "went through 3000 records")
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "in.csv")
	require.NoError(t, os.WriteFile(file, []byte("b,2,x\na,1\nc,\"3,4\"\nb,5\n"), 0o600))
	var out strings.Builder
	require.NoError(t, run(&out, file, filepath.Join(dir, "out"), 0))
	assert.Contains(t, out.String(), "  c: 3,4\n  b: 5\n  a: 1\n")
	require.NoError(t, os.WriteFile(file, []byte("a,\"1"), 0o600))
	require.Error(t, run(&out, file, dir, 0))
}
