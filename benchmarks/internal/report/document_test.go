package report_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/benchmarks/internal/report"
)

func TestInsert(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, report.Insert(path, "a", "new"), "no document")
	assert.NoFileExists(t, path)
	page := "x\n<!-- a -->\nold\nold\n<!-- end a -->\ny\n<!-- b -->\n"
	require.NoError(t, os.WriteFile(path, []byte(page), 0o600))
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, report.Insert(path, name, "new\n\n"))
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "x\n<!-- a -->\nnew\n<!-- end a -->\ny\n<!-- b -->\n", string(text))
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	require.NoError(t, report.Markdown(&b, rows[1:]))
	want := "| name | rate | count |\n| --- | ---: | ---: |\n| c | 0.01235 | 0 |\n"
	assert.Equal(t, want, b.String())
}

func TestMachine(t *testing.T) {
	m := report.Machine(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
	assert.True(t, strings.HasPrefix(m, "21 November 2026, "+runtime.GOOS), m)
	assert.Contains(t, m, runtime.Version())
}
