package strictkv_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/txn"
)

// TestLimitsInProse: what is written about limits is what the constants say.
func TestLimitsInProse(t *testing.T) {
	const mib = 1 << 20
	key := fmt.Sprintf("1 to %d bytes", keyspace.KeyMax)
	name := fmt.Sprintf("%d bytes", keyspace.CellMax)
	value := fmt.Sprintf("%d MiB", strictkv.ValueMax/mib)
	inline := fmt.Sprintf("above %d MiB", strictkv.DefaultInlineMax/mib)
	members := fmt.Sprint(cell.MembersMax)
	scanned := fmt.Sprintf("%d %03d %03d", txn.ScannedMax/1_000_000,
		txn.ScannedMax/1000%1000, txn.ScannedMax%1000)
	for file, want := range map[string][]string{
		"doc.go": {key, name, value, inline, "at most " + members + " keys",
			"scans at most " + scanned},
		"README.md": {value},
		"docs/guarantees.md": {key, name, value, inline,
			"written by one transaction | " + members + " ", "transaction | " + scanned},
		"docs/backends.md": {
			fmt.Sprintf("up to %d.", keyspace.CellMax), "up to " + value,
			fmt.Sprintf("more than %d MiB is read", backend.ObjectMax/mib),
			fmt.Sprintf("`WithConcurrency`, %d", strictkv.DefaultConcurrency),
		},
		"docs/operations.md": {key, name, "values " + value, inline,
			"at most " + members + " keys",
			fmt.Sprintf("%d MiB, or a quarter", strictkv.DefaultCacheSizeMax/mib),
			fmt.Sprintf("| %.0f s |", strictkv.DefaultPatience.Seconds()),
			fmt.Sprintf("%d requests", strictkv.DefaultConcurrency)},
	} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		prose := strings.Join(strings.Fields(strings.ReplaceAll(string(text), "//", " ")), " ")
		for _, limit := range want {
			assert.Contains(t, prose, limit, file)
		}
	}
}
