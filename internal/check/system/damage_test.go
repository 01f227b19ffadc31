package system_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
)

// damage flips a bit in the middle of an object.
func damage(t *testing.T, mem *memory.Backend, name string) {
	t.Helper()
	o, err := mem.Get(t.Context(), name, "")
	require.NoError(t, err)
	flipped := bytes.Clone(o.Data)
	flipped[len(flipped)/2] ^= 1
	_, err = mem.Put(t.Context(), name, flipped, backend.IfVersion(o.Version))
	require.NoError(t, err)
}

// withDamage is a database with keys a to e in a collection c, of which c is damaged, and in one
// that has no other key.
func withDamage(t *testing.T) (*memory.Backend, *strictkv.DB) {
	t.Helper()
	mem := memory.New()
	db, err := strictkv.Open(t.Context(), "db", mem)
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		require.NoError(t, c.Write(t.Context(), []byte(key), []byte("value of "+key)))
	}
	only := db.Collection([]byte("only"))
	require.NoError(t, only.Write(t.Context(), []byte("key"), []byte("value")))
	require.NoError(t, db.Close(t.Context()))
	damage(t, mem, "db/+c/=c")
	damage(t, mem, "db/+only/=key")
	db, err = strictkv.Open(t.Context(), "db", mem)
	require.NoError(t, err)
	return mem, db
}

// TestDamageStopsOnlyItsKey: everything that does not want the damaged key goes on.
func TestDamageStopsOnlyItsKey(t *testing.T) {
	_, db := withDamage(t)
	c := db.Collection([]byte("c"))
	for name, walk := range walkers {
		assert.Equal(t, "a b ", walk(t, db, strictkv.Range{To: []byte("c")}), name)
		assert.Equal(t, "d e ", walk(t, db, strictkv.Range{From: []byte("c\x00")}), name)
		assert.Equal(t, "a b c d e ", walk(t, db, strictkv.Range{KeysOnly: true}), name)
	}
	_, err := c.Read(t.Context(), []byte("c"))
	require.ErrorIs(t, err, strictkv.ErrCorrupt)
	for name, write := range map[string]func() error{
		"write":  func() error { return c.Write(t.Context(), []byte("c"), nil) },
		"delete": func() error { return c.Delete(t.Context(), []byte("c")) },
		"insert": func() error { return c.Insert(t.Context(), []byte("c"), nil) },
	} {
		err := write()
		require.ErrorIs(t, err, strictkv.ErrCorrupt, name)
		require.NotErrorIs(t, err, strictkv.ErrInDoubt, name)
	}
	var names []string
	for name, err := range db.Collections(t.Context()) {
		require.NoError(t, err)
		names = append(names, string(name))
	}
	assert.Equal(t, []string{"c", "only", "sums"}, names, "what is damaged may be a value")
	r, err := db.Check(t.Context(), strictkv.CheckOptions{})
	require.NoError(t, err)
	assert.Len(t, r.Problems, 2)
	assert.EqualValues(t, 5, r.Values)
	swept, err := db.Sweep(t.Context(), strictkv.SweepOptions{})
	require.NoError(t, err)
	assert.Zero(t, swept.Failed)
}

// TestDropPassesOverDamage: the other keys are deleted, and the error tells of the damage.
func TestDropPassesOverDamage(t *testing.T) {
	_, db := withDamage(t)
	n, err := db.Collection([]byte("c")).Drop(t.Context())
	require.ErrorIs(t, err, strictkv.ErrCorrupt)
	assert.ErrorContains(t, err, "1 keys can't be read")
	assert.EqualValues(t, 4, n)
	assert.Equal(t, "c ", walkers["items"](t, db, strictkv.Range{KeysOnly: true}))
}

// TestDamagedIntent: a cell that a sweep and Collections must read, since its size says that
// an intent is in it.
func TestDamagedIntent(t *testing.T) {
	mem, db := withDamage(t)
	for _, name := range []string{"db/+c/=x", "db/+x/=x", "db/+y/+z/=x"} {
		create(t, mem, name, strings.Repeat("x", 102))
	}
	var names []string
	for name, err := range db.Collections(t.Context()) {
		require.NoError(t, err)
		names = append(names, string(name))
	}
	assert.Equal(t, []string{"c", "only", "x", "y"}, names)
	require.NoError(t, db.Collection([]byte("c")).Delete(t.Context(), []byte("a")))
	r, err := db.Sweep(t.Context(), strictkv.SweepOptions{Horizon: -1})
	require.ErrorIs(t, err, strictkv.ErrCorrupt)
	assert.EqualValues(t, 3, r.Failed)
	assert.EqualValues(t, 1, r.Tombstones, "what is behind the damage is swept")
}

// TestReadMultiWithOneBadKey: one key's error is its own, whatever is wrong; the transaction
// fails with it.
func TestReadMultiWithOneBadKey(t *testing.T) {
	_, db := withDamage(t)
	_, other := withDamage(t)
	c := db.Collection([]byte("c"))
	for name, x := range map[string]struct {
		key  strictkv.Key
		want error
	}{
		"empty":             {c.Key(nil), strictkv.ErrInvalidKey},
		"too long":          {c.Key(make([]byte, 513)), strictkv.ErrInvalidKey},
		"no collection":     {strictkv.Key{Key: []byte("a")}, strictkv.ErrInvalid},
		"of another handle": {other.Collection([]byte("c")).Key([]byte("a")), strictkv.ErrInvalid},
		"damaged":           {c.Key([]byte("c")), strictkv.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			err := db.View(t.Context(), func(tx *strictkv.Tx) error {
				none := c.Key([]byte("none"))
				r := tx.ReadMulti(c.Key([]byte("a")), x.key, c.Key([]byte("d")), none)
				assert.NoError(t, r[0].Err)
				assert.Equal(t, "value of a", string(r[0].Value))
				assert.ErrorIs(t, r[1].Err, x.want)
				assert.NoError(t, r[2].Err)
				assert.Equal(t, "value of d", string(r[2].Value))
				assert.ErrorIs(t, r[3].Err, strictkv.ErrNotFound)
				_, err := tx.Read(c, []byte("a"))
				assert.ErrorIs(t, err, x.want, "it sticks")
				return nil
			})
			require.ErrorIs(t, err, x.want)
		})
	}
}

// TestDamagedMember: what a check can't find out about an intent, since another member is
// damaged, it tells, and goes on.
func TestDamagedMember(t *testing.T) {
	mem := memory.New()
	db, err := strictkv.Open(t.Context(), "db", mem)
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		for _, key := range []string{"a", "b"} {
			if err := tx.Write(c, []byte(key), []byte("value")); err != nil {
				return err
			}
		}
		return nil
	}))
	damage(t, mem, "db/+c/=a") // before the handle has resolved the intents
	other, err := strictkv.Open(t.Context(), "db", mem)
	require.NoError(t, err)
	r, err := other.Check(t.Context(), strictkv.CheckOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, r.Problems)
	assert.Equal(t, "db/+c/=a", r.Problems[0].Object)
	require.NoError(t, db.Close(t.Context()))
}
