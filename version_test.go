package strictkv_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
)

// versionOf is a key's version, as a new handle reads it from the store.
func versionOf(t *testing.T, b backend.Backend, key string) (v strictkv.Version) {
	t.Helper()
	db, err := strictkv.Open(t.Context(), "db", b)
	require.NoError(t, err)
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	require.NoError(t, db.View(t.Context(), func(tx *strictkv.Tx) (err error) {
		v, err = tx.ReadVersion(c, []byte(key))
		return err
	}))
	i, err := c.ReadItem(t.Context(), []byte(key))
	if v.IsZero() {
		require.ErrorIs(t, err, strictkv.ErrNotFound)
	} else {
		require.NoError(t, err)
		require.Equal(t, v, i.Version)
	}
	return v
}

func openDB(t *testing.T, b backend.Backend, opts ...strictkv.Option) (
	*strictkv.DB, *strictkv.Collection,
) {
	t.Helper()
	db, err := strictkv.Open(t.Context(), "db", b, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(ctx) })
	return db, db.Collection([]byte("c"))
}

func TestVersionsChangeWithWritesAlone(t *testing.T) {
	b := memory.New()
	db, c := openDB(t, b, strictkv.WithInlineMax(3))
	assert.True(t, versionOf(t, b, "a").IsZero())
	var all []strictkv.Version
	for _, v := range []string{"one", "one", "external"} {
		require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			require.NoError(t, tx.Write(c, []byte("a"), []byte(v)))
			require.NoError(t, tx.Write(c, []byte("b"), nil))
			own, err := tx.ReadVersion(c, []byte("a"))
			assert.True(t, own.IsZero(), "not known before the commit")
			return err
		}))
		v := versionOf(t, b, "a") // there may still be an intent
		assert.False(t, v.IsZero())
		assert.NotContains(t, all, v, "an equal value has another version")
		assert.Equal(t, v, versionOf(t, b, "b"), "of one transaction")
		all = append(all, v)
	}
	last := all[2]
	require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		if err := tx.Lock(c, []byte("a")); err != nil {
			return err
		}
		return tx.Write(c, []byte("b"), nil)
	}))
	assert.Equal(t, last, versionOf(t, b, "a"), "a lock")
	require.NoError(t, db.Close(t.Context()))
	assert.Equal(t, last, versionOf(t, b, "a"), "all folded")
	db, c = openDB(t, b)
	_, err := db.Sweep(t.Context(), strictkv.SweepOptions{Horizon: -1})
	require.NoError(t, err)
	assert.Equal(t, last, versionOf(t, b, "a"), "swept")
	for i, err := range c.Items(t.Context(), strictkv.Range{}) {
		require.NoError(t, err)
		assert.Equal(t, string(i.Key) == "a", last == i.Version)
	}
	require.NoError(t, db.View(t.Context(), func(tx *strictkv.Tx) error {
		for i, err := range tx.Scan(c, strictkv.Range{}) {
			require.NoError(t, err)
			assert.Equal(t, string(i.Key) == "a", last == i.Version)
			i.State = strictkv.State{} // which scans alone tell
			read, err := tx.ReadItem(c, i.Key)
			require.NoError(t, err)
			assert.Equal(t, i, read)
		}
		for i, err := range tx.Scan(c, strictkv.Range{KeysOnly: true}) {
			require.NoError(t, err)
			assert.True(t, i.Version.IsZero())
		}
		return nil
	}))
	require.NoError(t, c.Delete(t.Context(), []byte("a")))
	assert.True(t, versionOf(t, b, "a").IsZero())
}

func TestRequire(t *testing.T) {
	b := memory.New()
	db, c := openDB(t, b)
	a, other := []byte("a"), []byte("b")
	require.NoError(t, c.Write(t.Context(), a, []byte("1")))
	old := versionOf(t, b, "a")
	require.NoError(t, c.Write(t.Context(), a, []byte("2")))
	now := versionOf(t, b, "a")
	replace := func(require strictkv.Version) error {
		return db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			_ = tx.Require(c, a, require) // it sticks
			return tx.Write(c, other, []byte("x"))
		})
	}
	for _, v := range []strictkv.Version{old, {}} {
		err := replace(v)
		require.ErrorIs(t, err, strictkv.ErrVersion)
		var e *strictkv.VersionError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, strictkv.VersionError{Want: v, Found: now}, *e)
		assert.True(t, versionOf(t, b, "b").IsZero())
	}
	require.NoError(t, replace(now))
	require.NoError(t, c.Delete(t.Context(), a))
	require.ErrorIs(t, replace(now), strictkv.ErrVersion)
	require.NoError(t, replace(strictkv.Version{}), "a deleted key has no value")

	require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		require.NoError(t, tx.Require(c, a, strictkv.Version{}))
		require.NoError(t, tx.Write(c, a, []byte("3")))
		return tx.Require(c, a, strictkv.Version{}) // of before the transaction
	}))
	require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		require.NoError(t, tx.Delete(c, a))
		return tx.Require(c, a, versionOf(t, b, "a"))
	}))
}

// What is required is read, so it must hold at the commit, and must not fail for what was in
// the cache alone.
func TestRequireIsValidated(t *testing.T) {
	b := memory.New()
	db, c := openDB(t, b)
	_, other := openDB(t, b)
	a := []byte("a")
	for _, kind := range []string{"blind", "read only", "several keys"} {
		require.NoError(t, c.Write(t.Context(), a, []byte("1")))
		v := versionOf(t, b, "a")
		err := db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			if err := tx.Require(c, a, v); err != nil {
				return err
			}
			require.NoError(t, other.Write(t.Context(), a, []byte("2")))
			switch kind {
			case "blind":
				return tx.Write(c, a, []byte("3"))
			case "several keys":
				return tx.Write(c, []byte("b"), []byte("3"))
			}
			_, err := tx.Read(c, []byte("b"))
			if err != nil {
				assert.ErrorIs(t, err, strictkv.ErrNotFound)
			}
			return nil
		})
		require.ErrorIs(t, err, strictkv.ErrVersion, kind)
	}
	v := versionOf(t, b, "a")
	require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		return tx.Require(c, a, v)
	}), "this handle's cache has an old version")
}

// A group's riders write one after another in one attempt: what is required is what the store
// has before all of them.
func TestRequireInACrowd(t *testing.T) { synctest.Test(t, requireInACrowd) }

func requireInACrowd(t *testing.T) {
	b := faulty.New(memory.New(), faulty.Options{Delay: 1, DelayMax: 10 * time.Millisecond})
	db, c := openDB(t, b)
	require.NoError(t, c.Write(t.Context(), []byte("n"), []byte{0}))
	const clients, each = 8, 12
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for done := 0; done < each; {
				i, err := c.ReadItem(ctx, []byte("n"))
				if !assert.NoError(t, err) {
					return
				}
				err = db.Tx(ctx, func(tx *strictkv.Tx) error {
					if rand.N(2) == 0 {
						_ = tx.Write(c, []byte("n"), []byte{i.Value[0] + 1})
						return tx.Require(c, []byte("n"), i.Version)
					}
					v, err := tx.ReadVersion(c, []byte("n"))
					assert.False(t, err == nil && v.IsZero(), "the key always has a value")
					if err == nil && v != i.Version {
						return tx.Abort()
					}
					return tx.Write(c, []byte("n"), []byte{i.Value[0] + 1})
				})
				if err == nil {
					done++
				}
			}
		})
	}
	wg.Wait()
	got, err := c.Read(t.Context(), []byte("n"))
	require.NoError(t, err)
	assert.Equal(t, []byte{clients * each}, got)
	assert.Positive(t, db.Stats().Grouped)
}

func TestVersionAsText(t *testing.T) {
	b := memory.New()
	_, c := openDB(t, b)
	require.NoError(t, c.Write(t.Context(), []byte("a"), nil))
	for _, v := range []strictkv.Version{{}, versionOf(t, b, "a")} {
		got, err := strictkv.ParseVersion(v.String())
		require.NoError(t, err)
		assert.Equal(t, v, got)
		data, err := json.Marshal(map[string]strictkv.Version{"v": v})
		require.NoError(t, err)
		var back map[string]strictkv.Version
		require.NoError(t, json.Unmarshal(data, &back))
		assert.Equal(t, v, back["v"])
	}
	digits := versionOf(t, b, "a").String()
	assert.Len(t, digits, 32)
	for _, s := range []string{
		"x", "00", digits[:31], digits + "0", strings.Repeat("0", 32), strings.Repeat("A", 32),
		strings.Repeat("z", 32), `"` + digits + `"`, strings.Repeat("1", 1000),
	} {
		v, err := strictkv.ParseVersion(s)
		require.ErrorIs(t, err, strictkv.ErrInvalid, s)
		assert.True(t, v.IsZero())
	}
}
