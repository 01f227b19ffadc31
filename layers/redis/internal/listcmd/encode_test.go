package listcmd

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// TestGolden fails when the meaning of what is stored changes: then format goes up, and the old one
// stays readable.
func TestGolden(t *testing.T) {
	golden, err := os.ReadFile("testdata/golden.txt")
	require.NoError(t, err)
	items := [][]byte{[]byte("a"), {}, bytes.Repeat([]byte("long"), 40), {0, 0xff}}
	h := header{first: middle - 3, n: 300}
	assert.Equal(t, strings.TrimSpace(string(golden)),
		hex.EncodeToString(encode(items))+"\n"+hex.EncodeToString(h.encode()))

	got, err := decode(encode(items))
	require.NoError(t, err)
	assert.Equal(t, items, got)
	back, err := decodeHeader(h.encode())
	require.NoError(t, err)
	assert.Equal(t, h, back)
}

func TestDamaged(t *testing.T) {
	for name, body := range map[string]string{
		"empty": "", "newer": "\x02\x01a", "no element": "\x01", "cut": "\x01\x02a",
		"cut within a length": "\x01\x80", "long": "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a",
	} {
		_, err := decode([]byte(body))
		require.ErrorIs(t, err, keys.ErrDamaged, name)
	}
	h := header{first: middle, n: 1}
	for name, body := range map[string][]byte{
		"empty": nil, "newer": append([]byte{2}, h.encode()[1:]...), "cut": h.encode()[:16],
		"no element": header{first: middle}.encode(), "nowhere": header{n: 1}.encode(),
		"far": header{first: 3 * middle, n: 1}.encode(), "negative": header{middle, -1}.encode(),
	} {
		_, err := decodeHeader(body)
		require.ErrorIs(t, err, keys.ErrDamaged, name)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x01\x01a\x00\x02bc"))
	f.Add([]byte("\x01\x80"))
	f.Fuzz(func(t *testing.T, body []byte) {
		items, err := decode(body)
		if err != nil {
			require.ErrorIs(t, err, keys.ErrDamaged)
			return
		}
		again, err := decode(encode(items))
		require.NoError(t, err)
		assert.Equal(t, items, again)
	})
}
