package typed_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/typed"
)

// TestExpiry: Set and Insert give a value an end, Update keeps it, and Set without it removes it.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		db := open(t, memory.New())
		c := typed.New(db.Collection([]byte("sessions")), typed.String[string](),
			typed.String[string]())
		end := strictkv.ExpireAt(time.Now().Add(time.Hour))
		again := func(string, bool) (string, error) { return "b", nil }
		require.NoError(t, c.Auto().Set(ctx, "set", "a", end))
		require.NoError(t, c.Auto().Insert(ctx, "insert", "a", end))
		require.NoError(t, c.Auto().Set(ctx, "updated", "a", end))
		require.NoError(t, c.Auto().Set(ctx, "replaced", "a", end))
		require.NoError(t, c.Auto().Update(ctx, "updated", again))
		require.NoError(t, c.Auto().Set(ctx, "replaced", "b"))
		require.NoError(t, c.Auto().Update(ctx, "new", again))
		inTx(t, db, func(tx *strictkv.Tx) {
			require.NoError(t, c.Set(tx, "own", "a", end))
			require.NoError(t, c.Update(tx, "own", again))
			assert.Equal(t, "insert new own replaced set updated",
				keys(c.Scan(tx, typed.Range[string]{})))
		})
		time.Sleep(24 * time.Hour)
		inTx(t, db, func(tx *strictkv.Tx) {
			assert.Equal(t, "new replaced", keys(c.Scan(tx, typed.Range[string]{})))
		})
	})
}

// TestNoExpiryWithIndexes: an entry would stay when its value has gone.
func TestNoExpiryWithIndexes(t *testing.T) {
	u := usersOf(open(t, memory.New()))
	end := strictkv.ExpireAt(time.Unix(1<<33, 0))
	for _, err := range []error{
		u.Auto().Set(t.Context(), "a", user{}, end), u.Auto().Insert(t.Context(), "a", user{}, end),
	} {
		require.ErrorIs(t, err, strictkv.ErrInvalid)
		assert.ErrorContains(t, err, "indexes")
	}
	_, ok, err := u.Auto().Get(t.Context(), "a")
	require.NoError(t, err)
	assert.False(t, ok)
}
