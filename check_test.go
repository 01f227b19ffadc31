package strictkv_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
)

// checked runs Check and expects no problem.
func checked(t *testing.T, db *strictkv.DB) strictkv.CheckReport {
	t.Helper()
	r, err := db.Check(t.Context(), strictkv.CheckOptions{})
	require.NoError(t, err)
	require.Empty(t, r.Problems, "the database is not sound")
	return r
}

func TestCheck(t *testing.T) {
	b := memory.New()
	db, err := strictkv.Open(t.Context(), "example", b)
	require.NoError(t, err)
	users := db.Collection([]byte("users"))
	for i := range 200 {
		require.NoError(t, users.Write(t.Context(), keyOf(i), []byte("x")))
	}
	require.NoError(t, users.Delete(t.Context(), keyOf(7)))

	r := checked(t, db)
	assert.EqualValues(t, 201, r.Objects, "meta and one object for each key")
	assert.EqualValues(t, 199, r.Values)
	assert.EqualValues(t, 1, r.Tombstones)

	other, err := db.Check(t.Context(), strictkv.CheckOptions{
		Collection: db.Collection([]byte("other")),
	})
	require.NoError(t, err)
	assert.Zero(t, other.Objects, "the check is limited to a collection")

	require.NoError(t, db.Close(t.Context()))
	_, err = db.Check(t.Context(), strictkv.CheckOptions{})
	require.ErrorIs(t, err, strictkv.ErrClosed)
}

func TestCheckFindsDamage(t *testing.T) {
	b := memory.New()
	db, err := strictkv.Open(t.Context(), "example", b)
	require.NoError(t, err)
	users := db.Collection([]byte("users"))
	require.NoError(t, users.Write(t.Context(), []byte("alice"), []byte("x")))

	name := "example/+users/=alice"
	o, err := b.Get(t.Context(), name, "")
	require.NoError(t, err)
	flipped := append([]byte{}, o.Data...)
	flipped[len(flipped)/2] ^= 1
	_, err = b.Put(t.Context(), name, flipped, backend.IfVersion(o.Version))
	require.NoError(t, err)
	_, err = b.Put(t.Context(), "example/stranger", []byte("hello"), backend.IfAbsent())
	require.NoError(t, err)

	var calls int
	r, err := db.Check(t.Context(), strictkv.CheckOptions{
		Progress: func(strictkv.CheckReport) { calls++ },
	})
	require.NoError(t, err)
	assert.Positive(t, calls, "progress is reported")
	require.Len(t, r.Problems, 2)
	assert.Equal(t, name, r.Problems[0].Object)
	assert.Contains(t, r.Problems[0].What, "checksum")
	assert.Equal(t, "example/stranger", r.Problems[1].Object)
	assert.True(t, strings.HasPrefix(r.Problems[1].What, "foreign object"))
}
