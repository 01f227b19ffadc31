package table

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew: only before a format is used")

// goldens are files of the format, by their names in testdata.
func goldens() map[string]struct {
	meta    Meta
	entries []Entry
} {
	type file = struct {
		meta    Meta
		entries []Entry
	}
	return map[string]file{
		"empty": {Meta{}, nil},
		"base": {Meta{Length: 2}, []Entry{
			{Key: []byte("alice"), Value: []byte("1")},
			{Key: []byte("alina"), Value: nil, Expires: 1_800_000_000_000_000_000},
		}},
		"layer": {Meta{Base: Sum{1, 2, 3}, Length: 2}, []Entry{
			{Key: []byte("alice"), Deleted: true}, {Key: []byte("bob"), Value: []byte("2")},
		}},
		"origin": {Meta{Instant: time.Unix(1_700_000_000, 5), ItemWise: true}, []Entry{
			{Key: []byte("alice"), Value: []byte("12345678")},
		}},
	}
}

// TestGolden: what was written once is read for ever, and is written so again.
func TestGolden(t *testing.T) {
	for name, g := range goldens() {
		path := filepath.Join("testdata", name+".snap")
		now := written(t, g.meta, g.entries...)
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(path, now, 0o600))
		}
		then, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(then, now), "%s is written as it was", name)
		f, _ := opened(t, then)
		require.NoError(t, f.Verify(t.Context()))
		walk(t, f, g.entries)
		assert.Equal(t, g.meta.Base, f.Base)
		assert.Equal(t, g.meta.ItemWise, f.ItemWise)
		assert.True(t, g.meta.Instant.Equal(f.Instant))
	}
}

// TestGoldenSegments: where segments and blocks end is part of what makes equal content have an
// equal name.
func TestGoldenSegments(t *testing.T) {
	var many []Entry
	for i := range 9000 {
		value := bytes.Repeat([]byte{byte(i)}, i%700)
		many = append(many, Entry{Key: fmt.Appendf(nil, "key %04d", i), Value: value})
	}
	file := written(t, Meta{Length: -1}, many...)
	sum := sha256.Sum256(file)
	assert.Equal(t, goldenSegments, hex.EncodeToString(sum[:]))
	f, _ := opened(t, file)
	assert.Equal(t, 5, f.Segments())
}

const goldenSegments = "aa492315579420bcc3443279aedbcf2dca666de8c3b90f9332aa02aee0719fe8"
