package keyspace_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/keyspace"
)

const id = "0123456789abcdef0123456789abcdef"

func TestValueNames(t *testing.T) {
	nested, err := keyspace.Path("").Collection([]byte("a/b"))
	require.NoError(t, err)
	for _, path := range []keyspace.Path{"", nested} {
		for _, key := range []string{"k", ".", "a.b", "\x00/\xff", strings.Repeat("/", 300)} {
			cell, err := path.Cell("db", []byte(key))
			require.NoError(t, err)
			name := keyspace.Value(cell, id)
			assert.Less(t, name, cell, "external values are listed before the cells")
			got, gotID, err := keyspace.ParseValue(name)
			require.NoError(t, err, name)
			assert.Equal(t, cell, got)
			assert.Equal(t, id, gotID)
			_, _, err = keyspace.ParseCell(name)
			require.Error(t, err, "a value is no cell")
		}
	}
}

func TestValueNamesHaveRoom(t *testing.T) {
	var path keyspace.Path
	var err error
	for len(path) < keyspace.CellMax-keyspace.KeyMax {
		path, err = path.Collection([]byte(strings.Repeat("c", 100)))
		require.NoError(t, err)
	}
	key := strings.Repeat("k", keyspace.CellMax-len(path)-len("db/="))
	cell, err := path.Cell("db", []byte(key))
	require.NoError(t, err)
	require.Len(t, "db/"+cell, keyspace.CellMax)
	assert.LessOrEqual(t, len("db/"+keyspace.Value(cell, id)), keyspace.NameMax)
}

func TestNoValueNames(t *testing.T) {
	for _, name := range []string{
		"", "*", "=k", "=k." + id, "*k", "*k." + id[1:], "*k." + strings.ToUpper(id),
		"*k-" + id, "*." + id, "*\x01." + id, "x/*k." + id, "*k." + id + "0", "meta", "*k./" + id,
	} {
		_, _, err := keyspace.ParseValue(name)
		require.Error(t, err, "%q", name)
	}
}

func TestClockNames(t *testing.T) {
	assert.True(t, keyspace.IsClock(keyspace.Clock(id)))
	names := keyspace.Probes(id)
	assert.True(t, slices.IsSorted(names[:]))
	for _, name := range names {
		assert.True(t, keyspace.IsClock(name), name)
	}
	for _, name := range []string{
		"clock", "clock.", "clock." + id[1:], "meta", "=clock." + id, id, "clock." + id + ".",
		"clock." + id + ".A_", "clock." + id + ".b", "clock." + id[1:] + ".A", names[0] + ".A",
	} {
		assert.False(t, keyspace.IsClock(name), name)
	}
}

func TestHintNames(t *testing.T) {
	for _, h := range []keyspace.Hint{
		{0, id, 0}, {0, id, 1}, {1, id, 0}, {1_700_000_000_000_000_000, id, 1 << 31},
		{math.MaxInt64, id, math.MaxUint32},
	} {
		name := h.Name()
		back, err := keyspace.ParseHint(name)
		require.NoError(t, err, name)
		assert.Equal(t, h, back)
		assert.True(t, keyspace.IsHint(name))
		assert.Less(t, keyspace.HintsFrom(h.Time), name)
		assert.Equal(t, keyspace.HintKind, keyspace.KindOf(name))
		if h.Time > 0 {
			before := keyspace.Hint{Time: h.Time - 1, Handle: strings.Repeat("f", 32)}
			assert.Greater(t, keyspace.HintsFrom(h.Time), before.Name())
		}
		for _, other := range []string{
			name + "0", name[1:], name[:len(name)-1], strings.ToUpper(name), "+" + name,
			strings.Replace(name, ".", "-", 1), "lost/" + name, name + ".",
		} {
			assert.False(t, keyspace.IsHint(other), other)
		}
	}
	for _, name := range []string{
		"", "feed/", "feed/..", "feed/8000000000000000." + id + ".00000001",
		"feed/000000000000000g." + id + ".00000001", "feed/0000000000000001." + id,
	} {
		assert.False(t, keyspace.IsHint(name), name)
	}
	assert.Equal(t, keyspace.HintsFrom(0), keyspace.HintsFrom(-5))
}
