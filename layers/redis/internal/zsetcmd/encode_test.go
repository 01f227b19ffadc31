package zsetcmd

import (
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
// binary, and long.
func ordered() []entry {
	long := strings.Repeat("l", 300)
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
	header := treeHeader{n: 300, root: 5, next: 7}
	inner := &node{children: []child{{3, 200, entry{[]byte("a"), 1}}, {4, 1, entry{nil, 2}}}}
	var lines []string
	for _, b := range [][]byte{
		encode(ordered()), header.encode(), appendScore(nil, -1.5),
		encodeNode(&node{entries: ordered()[:3]}), encodeNode(inner),
	} {
		lines = append(lines, hex.EncodeToString(b))
	}
	assert.Equal(t, strings.TrimSpace(string(golden)), strings.Join(lines, "\n"))

	got, err := decode(encode(ordered()))
	require.NoError(t, err)
	assert.Equal(t, ordered(), got)
	back, err := decodeHeader(header.encode())
	require.NoError(t, err)
	assert.Equal(t, header, back)
	nd, err := decodeNode(encodeNode(inner))
	require.NoError(t, err)
	assert.Equal(t, encodeNode(inner), encodeNode(nd))
}

func TestOrder(t *testing.T) {
	assert.True(t, slices.IsSortedFunc(ordered(), compare))
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
	h := treeHeader{n: 1, root: 1, next: 2}
	for name, body := range map[string][]byte{
		"empty": nil, "newer": append([]byte{2}, h.encode()[1:]...), "cut": h.encode()[:8],
		"no member": treeHeader{root: 1, next: 2}.encode(), "no root": treeHeader{n: 1}.encode(),
		"too many":   treeHeader{n: -1, root: 1, next: 2}.encode(),
		"old as new": treeHeader{n: 1, root: 2, next: 2}.encode(),
	} {
		_, err := decodeHeader(body)
		require.ErrorIs(t, err, keys.ErrDamaged, name)
	}
	leaf := encodeNode(&node{entries: ordered()[:1]})
	for name, body := range map[string][]byte{
		"empty": nil, "newer": append([]byte{2}, leaf[1:]...), "no entry": leaf[:2],
		"cut": leaf[:len(leaf)-1], "of no kind": append([]byte{format, 2}, leaf[2:]...),
		"a child without an ID":   append([]byte{format, innerNode, 0, 1}, leaf[2:]...),
		"a child without entries": append([]byte{format, innerNode, 1, 0}, leaf[2:]...),
		"cut within a child":      {format, innerNode, 1},
	} {
		_, err := decodeNode(body)
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

func FuzzDecodeNode(f *testing.F) {
	f.Add(encodeNode(&node{entries: ordered()}))
	f.Add(encodeNode(&node{children: []child{{3, 200, ordered()[0]}, {4, 1, ordered()[2]}}}))
	f.Fuzz(func(t *testing.T, body []byte) {
		nd, err := decodeNode(body)
		if err != nil {
			require.ErrorIs(t, err, keys.ErrDamaged)
			return
		}
		again, err := decodeNode(encodeNode(nd))
		require.NoError(t, err)
		assert.Equal(t, nd, again)
	})
}
