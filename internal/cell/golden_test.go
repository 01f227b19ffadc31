package cell_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/cell"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden are the cells in testdata. The files are the format: if one would change,
// the format has got a new version.
func golden() map[string]*cell.Cell {
	external := cell.Value{
		Kind: cell.External, Ref: "01000000000000000000000000000001",
		Size: 5_000_000, Sum: 0x1c291ca3,
	}
	staged := &cell.Cell{Intent: intent(2, cell.Staged, cell.Put)}
	staged.Intent.List[1].Expected = "" // an insert
	pending := locked(intent(2, cell.Pending, cell.Lock))
	pending.Intent.Members = cell.Members{List: members("=m").List, Long: true}
	long := locked(intent(2, cell.Staged, cell.Delete))
	long.Intent.Members = cell.Members{List: members(manyNames(12)...).List, Long: true}
	marked := &cell.Cell{Value: inline(""), Writer: id(3), Recent: ids(3, 2), Marks: marks(2, 3)}
	const due = 1_900_000_000
	renewed := locked(intent(2, cell.Pending, cell.Put))
	renewed.Value = expiring(renewed.Value, due)
	renewed.Intent.Value = expiring(renewed.Intent.Value, due+3600)
	return map[string]*cell.Cell{
		"value":     valued(),
		"tombstone": {Writer: id(2), Recent: ids(2, 1)},
		"fenced":    {},
		"staged":    staged,
		"pending":   pending,
		"long":      long,
		"marks":     marked,
		"external":  {Value: external, Writer: id(1), Recent: ids(1)},
		"condemned": {Writer: id(2), Recent: ids(2, 1), Condemned: true},

		"expiring":          {Value: expiring(inline("old"), due), Writer: id(1), Recent: ids(1)},
		"expiring-external": {Value: expiring(external, due), Writer: id(1), Recent: ids(1)},
		"expiring-intent":   renewed,
	}
}

func manyNames(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("+users/=user%03d", i))
	}
	return names
}

func TestGolden(t *testing.T) {
	for name, c := range golden() {
		path := filepath.Join("testdata", name+".cell")
		if *update {
			require.NoError(t, os.WriteFile(path, cell.Encode(c, nonce), 0o644))
		}
		stored, err := os.ReadFile(path)
		require.NoError(t, err)
		got, err := cell.Decode(stored)
		require.NoError(t, err, name)
		assert.Equal(t, c, got, name)
		assert.Equal(t, stored, cell.Encode(c, nonce), "%s: the format must not change", name)
	}
	c, err := cell.Decode(oldCondemned(t))
	require.NoError(t, err)
	assert.Equal(t, golden()["condemned"], c, "as version 1 stored it")
	files, err := filepath.Glob(filepath.Join("testdata", "*.cell"))
	require.NoError(t, err)
	assert.Len(t, files, len(golden())+1, "every golden file is tested")
}

// oldCondemned is a condemned tombstone as version 1 of the format has it: it is read, but
// not written any more.
func oldCondemned(t *testing.T) []byte {
	b, err := os.ReadFile(filepath.Join("testdata", "condemned.v1.cell"))
	require.NoError(t, err)
	return b
}

// The dump in docs/format.md is a golden file, byte by byte.
func TestDocumentedDump(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "format.md"))
	require.NoError(t, err)
	var dumped []byte
	line := regexp.MustCompile(`(?m)^([0-9a-f]{2})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:  |$)`)
	for _, m := range line.FindAllStringSubmatch(string(page), -1) {
		assert.Equal(t, fmt.Sprintf("%02x", len(dumped)), m[1], "offset of %q", m[0])
		b, err := hex.DecodeString(strings.ReplaceAll(m[2], " ", ""))
		require.NoError(t, err)
		dumped = append(dumped, b...)
	}
	stored, err := os.ReadFile(filepath.Join("testdata", "staged.cell"))
	require.NoError(t, err)
	assert.Equal(t, stored, dumped)
}
