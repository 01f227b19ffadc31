package recordlog

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// golden is a segment of two records.
func golden() []byte {
	b := segmentStart()
	b = appendRecord(b, "0123456789abcdef/c/+c/=key", "v1", []byte("the bytes of a cell"))
	return appendRecord(b, "0123456789abcdef/v/*key.0", "", []byte("an external value"))
}

// The file is the format: if it would change, the format has got a new version.
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/segment.hex")
	require.NoError(t, err)
	want, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	require.NoError(t, err)
	assert.Equal(t, hex.Dump(want), hex.Dump(golden()))
	var got []string
	r := bytes.NewReader(want)
	end, damaged := walk(r, r.Size(), true, func(k []byte, at, size int64) {
		key, version, data, ok := decode(want[at : at+size])
		require.True(t, ok)
		require.Equal(t, string(k), key)
		got = append(got, fmt.Sprintf("%s %q %s", key, version, data))
	})
	assert.EqualValues(t, len(want), end)
	assert.Zero(t, damaged)
	assert.Equal(t, []string{
		`0123456789abcdef/c/+c/=key "v1" the bytes of a cell`,
		`0123456789abcdef/v/*key.0 "" an external value`,
	}, got)
}

// A segment of a newer format is none.
func TestNewerFormat(t *testing.T) {
	b := golden()
	b[len(magic)]++
	end, _ := walk(bytes.NewReader(b), int64(len(b)), true, func([]byte, int64, int64) {
		t.Fatal("a record")
	})
	assert.Zero(t, end)
}

// FuzzWalk: whatever a segment holds, what is found in it is a record as it was written.
func FuzzWalk(f *testing.F) {
	f.Add(golden(), true)
	f.Add(golden()[:80], false)
	f.Add([]byte(magic), true)
	f.Add(append(segmentStart(), make([]byte, 100)...), false)
	f.Fuzz(func(t *testing.T, b []byte, bodies bool) {
		at := int64(segmentHead)
		r := bytes.NewReader(b)
		end, _ := walk(r, r.Size(), bodies, func(k []byte, offset, size int64) {
			require.GreaterOrEqual(t, offset, at)
			at = offset + size
			require.LessOrEqual(t, at, int64(len(b)))
			raw := b[offset:at]
			key, version, data, ok := decode(raw)
			require.True(t, ok || !bodies)
			if ok {
				require.Equal(t, string(k), key)
				require.Equal(t, raw, appendRecord(nil, key, version, data))
			}
		})
		require.LessOrEqual(t, end, int64(len(b)))
		require.True(t, end == 0 || end == at)
	})
}
