package keys

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// samples are values whose stored form never changes.
func samples() map[string]struct {
	Entry
	name []byte
} {
	i := bytes.Repeat([]byte{7}, idLen)
	return map[string]struct {
		Entry
		name []byte
	}{
		"string":   {Entry{Kind: String, Body: []byte("ab")}, nil},
		"expires":  {Entry{Kind: String, Body: []byte("ab"), Expires: 1_700_000_000_123}, nil},
		"named":    {Entry{Kind: Set, Body: []byte("ab")}, []byte("long")},
		"nameless": {Entry{Kind: List, Body: []byte("ab"), Expires: 1}, []byte{}},
		"large":    {Entry{Kind: Hash, Large: true, Body: append(i, 1)}, nil},
		"watched":  {Entry{Kind: SortedSet, Large: true, Body: i, watched: true}, nil},
	}
}

// TestFormat compares stored values with testdata/entries, which never changes.
func TestFormat(t *testing.T) {
	golden, err := os.ReadFile("testdata/entries")
	require.NoError(t, err)
	all := samples()
	lines := strings.Split(strings.TrimSpace(string(golden)), "\n")
	assert.Len(t, lines, len(all))
	for _, line := range lines {
		name, digits, _ := strings.Cut(line, " ")
		want, err := hex.DecodeString(digits)
		require.NoError(t, err)
		x := all[name]
		assert.Equal(t, want, x.encode(x.name), name)
		e, named, err := decode(want)
		require.NoError(t, err)
		assert.Equal(t, x.Entry, e, name)
		assert.Equal(t, x.name, named, name)
	}
}

func TestDamaged(t *testing.T) {
	for _, x := range [][]byte{
		{}, {1}, {2, 1}, {1, 0}, {1, 6}, {1, 1 | flagExpires, 1}, {1, 1 | flagNamed},
		{1, 1 | flagLarge},
		{1, 2 | flagLarge, 1, 2}, {1, 1 | flagNamed, 5, 1},
	} {
		_, _, err := decode(x)
		assert.ErrorIs(t, err, ErrDamaged, "%x", x)
	}
}

func FuzzDecode(f *testing.F) {
	for _, x := range samples() {
		f.Add(x.encode(x.name))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		e, name, err := decode(value)
		if err != nil {
			assert.ErrorIs(t, err, ErrDamaged)
			return
		}
		again, named, err := decode(e.encode(name))
		require.NoError(t, err)
		assert.Equal(t, e, again)
		assert.Equal(t, name, named)
	})
}

// TestStore keeps names apart, and in their order where they stand for themselves.
func TestStore(t *testing.T) {
	for _, x := range []struct {
		name  string
		plain bool
	}{
		{"", false}, {"a", true}, {"\x00", false}, {"\x01a", false}, {"\x02", true},
		{strings.Repeat("x", plainMax), true}, {strings.Repeat("x", plainMax+1), false},
	} {
		key, named := store([]byte(x.name))
		assert.Equal(t, x.plain, plain(key), "%.10q", x.name)
		assert.Equal(t, x.plain, named == nil)
		if x.plain {
			assert.Equal(t, x.name, string(key))
		} else {
			assert.Equal(t, x.name, string(named))
		}
	}
}
