package strictkv_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

// states are those that a scan for keys alone tells, and what Items tells beside values.
func states(t *testing.T, db *strictkv.DB, c *strictkv.Collection) map[string]strictkv.State {
	t.Helper()
	all := map[string]strictkv.State{}
	require.NoError(t, db.View(t.Context(), func(tx *strictkv.Tx) error {
		clear(all)
		for item, err := range tx.Scan(c, strictkv.Range{KeysOnly: true}) {
			if err != nil {
				return err
			}
			all[string(item.Key)] = item.State
		}
		return nil
	}))
	for item, err := range c.Items(t.Context(), strictkv.Range{}) {
		require.NoError(t, err)
		assert.Equal(t, all[string(item.Key)], item.State)
	}
	return all
}

// TestState: a State changes with each write of the key and no other's, costs no read, and is of
// one database.
func TestState(t *testing.T) {
	mem := memory.New()
	open := func(name string) *strictkv.DB {
		db, err := strictkv.Open(t.Context(), name, mem)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close(t.Context())) })
		return db
	}
	db, other := open("a"), open("b")
	c, d := db.Collection([]byte("c")), other.Collection([]byte("c"))
	for i := range 10 {
		key := fmt.Append(nil, i)
		require.NoError(t, c.Write(t.Context(), key, []byte("x")))
		require.NoError(t, d.Write(t.Context(), key, []byte("x")))
	}
	first := states(t, db, c)
	require.Len(t, first, 10)
	seen := map[strictkv.State]bool{{}: true}
	for _, all := range []map[string]strictkv.State{first, states(t, other, d)} {
		for _, s := range all {
			assert.False(t, seen[s])
			seen[s] = true
		}
	}
	require.NoError(t, c.Write(t.Context(), []byte("7"), []byte("x")))
	fresh := open("a")
	before := fresh.Stats()
	again := map[string]strictkv.State{}
	for item, err := range fresh.Collection([]byte("c")).Items(t.Context(),
		strictkv.Range{KeysOnly: true}) {
		require.NoError(t, err)
		again[string(item.Key)] = item.State
	}
	assert.Zero(t, fresh.Stats().Sub(before).Gets)
	for key, s := range first {
		assert.Equal(t, key != "7", s == again[key], key)
	}
}
