package typed_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/layers/typed"
)

// cost is what a call costs until it returns: round trips, and requests.
type cost struct{ rounds, reads, writes, lists int64 }

// TestCosts pins the table of docs/typed.md: ten accounts, one of them read or changed, by a
// handle that has not seen it, and again by the same one.
func TestCosts(t *testing.T) {
	none := account{}
	for _, x := range []struct {
		call       string
		do         func(u accounts, tx *strictkv.Tx) error
		cold, warm cost
	}{
		{"insert", func(u accounts, tx *strictkv.Tx) error {
			k := time.Now().String() // another one each time
			return u.Insert(tx, k, account{k, k})
		}, cost{1, 0, 3, 0}, cost{1, 0, 3, 0}},
		{"set, same index keys", func(u accounts, tx *strictkv.Tx) error {
			return u.Set(tx, "a", account{"a", "city"})
		}, cost{2, 1, 1, 0}, cost{1, 0, 1, 0}},
		{"set, other index keys", func(u accounts, tx *strictkv.Tx) error {
			k := time.Now().String()
			return u.Set(tx, "a", account{k, k})
		}, cost{3, 3, 5, 0}, cost{1, 0, 5, 0}},
		{"delete", func(u accounts, tx *strictkv.Tx) error {
			return u.Delete(tx, "a")
		}, cost{3, 3, 3, 0}, cost{1, 1, 0, 0}},
		{"unique get", func(u accounts, tx *strictkv.Tx) error {
			_, _, ok, err := u.mail.Get(tx, "a")
			assert.True(t, ok)
			return err
		}, cost{3, 3, 0, 0}, cost{1, 2, 0, 0}},
		{"find 10", func(u accounts, tx *strictkv.Tx) error {
			n := 0
			for i, err := range u.city.Find(tx, "city", typed.Range[string]{}) {
				require.NoError(t, err)
				assert.NotEqual(t, none, i.Value)
				n++
			}
			assert.Equal(t, 10, n)
			return nil
		}, cost{4, 30, 0, 2}, cost{2, 10, 0, 2}},
		{"find 10, keys only", func(u accounts, tx *strictkv.Tx) error {
			n := 0
			for _, err := range u.city.Find(tx, "city", typed.Range[string]{KeysOnly: true}) {
				require.NoError(t, err)
				n++
			}
			assert.Equal(t, 10, n)
			return nil
		}, cost{2, 0, 0, 2}, cost{2, 0, 0, 2}},
	} {
		t.Run(x.call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memory.New()
				ten := accountsOf(openSlow(t, b))
				for i := range 10 {
					k := string(rune('a' + i))
					require.NoError(t, ten.Auto().Insert(t.Context(), k, account{k, "city"}))
				}
				require.NoError(t, ten.Raw().DB().Close(t.Context()))
				u := accountsOf(openSlow(t, b))
				for i, want := range []cost{x.cold, x.warm} {
					assert.Equal(t, want, u.measure(t, x.do), "warm: %v", i == 1)
					time.Sleep(time.Minute)
				}
				require.NoError(t, u.Raw().DB().Close(t.Context()))
			})
		})
	}
}

func openSlow(t *testing.T, b *memory.Backend) *strictkv.DB {
	rt := seam.FromContext(t.Context())
	slow := simulated.New(b, rt, simulated.Constant(time.Second))
	db, err := strictkv.Open(t.Context(), "test", slow, strictkv.WithProbe(strictkv.ProbeNever))
	require.NoError(t, err)
	return db
}

// measure measures a transaction.
func (u accounts) measure(
	t *testing.T, do func(u accounts, tx *strictkv.Tx) error,
) cost {
	db := u.Raw().DB()
	before, began := db.Stats(), time.Now()
	require.NoError(t, db.Tx(context.Background(), func(tx *strictkv.Tx) error {
		return do(u, tx)
	}))
	s := db.Stats().Sub(before)
	return cost{int64(time.Since(began) / time.Second), s.Gets, s.Puts, s.Lists}
}
