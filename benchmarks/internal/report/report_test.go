package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/benchmarks/internal/report"
)

type row struct {
	Name  string  `json:"name"`
	Rate  float64 `json:"rate"`
	Count int64   `json:"count"`
	None  int     `json:"none" show:"nonzero"`
}

var rows = []row{{"a, b", 5432.16789, 3, 0}, {"c", 0.0123456, 0, 0}}

func TestFiles(t *testing.T) {
	base := filepath.Join(t.TempDir(), "new", "rows")
	require.NoError(t, report.Files(base, rows))
	for ext, want := range map[string]string{
		".csv": "name,rate,count,none\n\"a, b\",5432.16789,3,0\nc,0.0123456,0,0\n",
		".json": `[
{"name":"a, b","rate":5432.16789,"count":3,"none":0},
{"name":"c","rate":0.0123456,"count":0,"none":0}
]
`,
	} {
		got, err := os.ReadFile(base + ext)
		require.NoError(t, err)
		assert.Equal(t, want, string(got), ext)
	}
	assert.Error(t, report.Files(filepath.Join(base+".csv", "below a file"), rows))
}

// TestTitles: what rows have in common stands above them, and names are short.
func TestTitles(t *testing.T) {
	type row struct {
		Kind string  `json:"kind" show:"title"`
		Rate float64 `json:"rate" column:"transactions per second" short:"per s"`
		Met  string  `json:"met"`
	}
	var b strings.Builder
	require.NoError(t, report.Table(&b, []row{{"a", 1, "yes"}, {"a", 10, "ü"}, {"b", 2, "no"}}))
	want := "\n  per s  met\na\n      1  yes\n     10  ü\nb\n      2  no\n"
	assert.Equal(t, want, b.String())
	b.Reset()
	require.NoError(t, report.Markdown(&b, []row{{"a", 1, "yes"}}))
	assert.Contains(t, b.String(), "| kind | transactions per second | met |\n")
}

func TestTable(t *testing.T) {
	var b strings.Builder
	require.NoError(t, report.Table(&b, rows))
	want := "\n  name     rate  count\n  a, b     5432      3\n  c     0.01235      0\n"
	assert.Equal(t, want, b.String())
	b.Reset()
	require.NoError(t, report.JSON[row](&b, nil))
	assert.JSONEq(t, "[]", b.String())
}
