package system_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
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

func TestCheckOfExternalValues(t *testing.T) {
	v := newVault(t)
	for i := range 5 {
		v.write(fmt.Sprint(i), large(i))
	}
	name, data := orphan(1)
	_, err := v.mem.Put(v.ctx, "db/"+name, data, backend.IfAbsent())
	require.NoError(t, err)
	r := checked(t, v.db)
	assert.EqualValues(t, 5, r.Values)
	assert.EqualValues(t, 5, r.External)
	assert.EqualValues(t, 1, r.Orphans)
	assert.EqualValues(t, len(data), r.OrphanBytes)

	page, err := v.mem.List(v.ctx, backend.ListOptions{Prefix: "db/+c/*"})
	require.NoError(t, err)
	damaged, lost := page.Objects[2], page.Objects[4]
	_, err = v.mem.Put(v.ctx, damaged.Name, large(9), backend.IfVersion(damaged.Version))
	require.NoError(t, err)
	require.NoError(t, v.mem.Delete(v.ctx, lost.Name, lost.Version))
	r, err = v.db.Check(v.ctx, strictkv.CheckOptions{})
	require.NoError(t, err)
	require.Len(t, r.Problems, 2)
	assert.Equal(t, damaged.Name, r.Problems[0].Object)
	assert.Contains(t, r.Problems[0].What, "checksum")
	assert.Equal(t, lost.Name, r.Problems[1].Object)
	assert.Contains(t, r.Problems[1].What, "missing")
}

// TestCheckWhileOthersWork: external values come and go while a check looks for them.
func TestCheckWhileOthersWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vault{t: t, ctx: ctx, mem: memory.New()}
		v.open(simulated.New(v.mem, nil, simulated.GCS()))
		until := time.Now().Add(time.Minute)
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := 0; time.Now().Before(until); i++ {
					assert.NoError(t, v.db.Tx(ctx, func(tx *strictkv.Tx) error {
						for k := range 3 {
							if err := tx.Write(v.coll, keyOf((w+i+k)%6), large(w*i)); err != nil {
								return err
							}
						}
						return nil
					}))
				}
			})
		}
		var found strictkv.CheckReport
		other, err := strictkv.Open(ctx, "db", simulated.New(v.mem, nil, simulated.GCS()))
		require.NoError(t, err)
		for time.Now().Before(until) {
			r, err := other.Check(ctx, strictkv.CheckOptions{})
			assert.NoError(t, err)
			assert.Empty(t, r.Problems)
			found.External += r.External
			found.Committed += r.Committed
			found.Orphans += r.Orphans
		}
		wg.Wait()
		assert.Positive(t, found.External)
		assert.Positive(t, found.Committed)
		assert.Positive(t, found.Orphans)
		require.NoError(t, other.Close(ctx))
		require.NoError(t, v.db.Close(ctx))
		time.Sleep(time.Minute)
	})
}
