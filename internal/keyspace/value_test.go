package keyspace_test

import (
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
