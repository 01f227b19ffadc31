package zsetcmd

import (
	"bytes"
	"encoding/hex"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// ordered are entries in the order of a set: with scores of all kinds, and members that are empty,
// binary, and as long as a name in the order is, or longer.
func ordered() []entry {
	long := strings.Repeat("l", orderMax)
	return []entry{
		{[]byte("m"), math.Inf(-1)}, {[]byte("m"), -1e300}, {[]byte("m"), -2}, {[]byte("n"), -2},
		{[]byte("m"), -math.SmallestNonzeroFloat64}, {[]byte{}, 0}, {[]byte{0}, 0},
		{[]byte("a"), 0}, {[]byte("a\x00"), 0}, {[]byte(long), 0}, {[]byte(long + "1"), 0},
		{[]byte{0xff}, 0}, {[]byte("a"), math.SmallestNonzeroFloat64}, {[]byte("a"), 1.5},
		{[]byte("a"), math.Inf(1)},
	}
}

// TestGolden fails when the meaning of what is stored changes: then format goes up, and the old one
// stays readable.
func TestGolden(t *testing.T) {
	golden, err := os.ReadFile("testdata/golden.txt")
	require.NoError(t, err)
	lines := []string{
		hex.EncodeToString(encode(ordered())), hex.EncodeToString(encodeHeader(300)),
		hex.EncodeToString(appendScore(nil, -1.5)),
	}
	for _, e := range ordered() {
		key, _ := orderKey(e)
		lines = append(lines, hex.EncodeToString(key))
	}
	assert.Equal(t, strings.TrimSpace(string(golden)), strings.Join(lines, "\n"))

	got, err := decode(encode(ordered()))
	require.NoError(t, err)
	assert.Equal(t, ordered(), got)
	n, err := decodeHeader(encodeHeader(300))
	require.NoError(t, err)
	assert.Equal(t, 300, n)
}

func TestOrderKeys(t *testing.T) {
	entries := ordered()
	assert.True(t, slices.IsSortedFunc(entries, compare))
	var names [][]byte
	for _, e := range entries {
		key, value := orderKey(e)
		names = append(names, key)
		back, long, err := parseOrder(key)
		require.NoError(t, err)
		assert.Equal(t, len(e.member) > orderMax, long)
		if long {
			assert.Equal(t, e.member, value)
			e.member = e.member[:orderMax]
		}
		assert.Equal(t, e, back)
	}
	assert.True(t, slices.IsSortedFunc(names, bytes.Compare))
}

func TestDamaged(t *testing.T) {
	two := encode([]entry{{[]byte("a"), 1}, {[]byte("b"), 1}})
	swapped := append([]byte{format}, append(slices.Clone(two[11:]), two[1:11]...)...)
	for name, body := range map[string][]byte{
		"empty": nil, "newer": append([]byte{2}, two[1:]...), "no member": {format},
		"cut": two[:len(two)-1], "cut within a score": two[:14], "cut behind a score": two[:19],
		"out of order": swapped, "twice": append(slices.Clone(two), two[11:]...),
		"not a number": encode([]entry{{[]byte("a"), math.NaN()}}),
		"negative 0":   encode([]entry{{[]byte("a"), math.Copysign(0, -1)}}),
	} {
		_, err := decode(body)
		require.ErrorIs(t, err, keys.ErrDamaged, name)
	}
	for name, body := range map[string][]byte{
		"empty": nil, "newer": append([]byte{2}, encodeHeader(1)[1:]...),
		"no member": encodeHeader(0),
		"cut":       encodeHeader(1)[:8], "too many": encodeHeader(-1),
	} {
		_, err := decodeHeader(body)
		require.ErrorIs(t, err, keys.ErrDamaged, name)
	}
	for name, key := range map[string][]byte{
		"cut": {1}, "too long": append(orderScore(1), make([]byte, orderMax+1)...),
		"not a number": orderScore(math.NaN()),
		"negative 0":   []byte("\x7f\xff\xff\xff\xff\xff\xff\xff"),
	} {
		_, _, err := parseOrder(key)
		require.ErrorIs(t, err, keys.ErrDamaged, name)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(ordered()))
	f.Add([]byte{format, 1})
	f.Fuzz(func(t *testing.T, body []byte) {
		entries, err := decode(body)
		if err != nil {
			require.ErrorIs(t, err, keys.ErrDamaged)
			return
		}
		again, err := decode(encode(entries))
		require.NoError(t, err)
		assert.Equal(t, entries, again)
	})
}

func FuzzParseOrder(f *testing.F) {
	for _, e := range ordered() {
		key, _ := orderKey(e)
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		e, long, err := parseOrder(key)
		if err != nil {
			require.ErrorIs(t, err, keys.ErrDamaged)
			return
		}
		if !long {
			again, _ := orderKey(e)
			assert.Equal(t, key, again)
		}
	})
}
