package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/snapshot/internal/table"
)

// TestUnknownStates: a key whose State is not told is read, also where the base knows none.
func TestUnknownStates(t *testing.T) {
	s := Dir(t.TempDir())
	name, err := Build(t.Context(), s, func(yield func(k, v []byte) bool) {
		yield([]byte("k"), []byte("old"))
	})
	require.NoError(t, err)
	require.NoError(t, saving(t.Context(), s, func(in session) error {
		from, err := openOrigins(t.Context(), s, name)
		require.NoError(t, err)
		d := &diff{ctx: t.Context(), from: from}
		d.save, err = newSave(in)
		require.NoError(t, err)
		require.NoError(t, d.run(func(yield func(strictkv.Item, error) bool) {
			yield(strictkv.Item{Key: []byte("k")}, nil)
		}, func([]byte) (strictkv.Item, error) {
			return strictkv.Item{Key: []byte("k"), Value: []byte("new")}, nil
		}))
		name, err = d.publish(table.Meta{Base: from.files[0].Name, Length: d.length})
		require.NoError(t, err)
		return from.close()
	}))
	snap, err := Open(t.Context(), s, name)
	require.NoError(t, err)
	v, err := snap.Get(t.Context(), []byte("k"))
	require.NoError(t, err)
	require.Equal(t, "new", string(v))
	require.NoError(t, snap.Close())
}
