package system_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
)

// dropped is a backend on which something happens at each delete.
type dropped struct {
	backend.Backend
	before func(name string) error
}

func (d dropped) Delete(ctx context.Context, name string, v backend.Version) error {
	if err := d.before(name); err != nil {
		return err
	}
	return d.Backend.Delete(ctx, name, v)
}

// TestDropDatabase: everything goes, strays and external values too, the object meta last.
func TestDropDatabase(t *testing.T) {
	mem, first := strayed(t, strictkv.WithInlineMax(1))
	require.NoError(t, first.Close(t.Context()))
	all, last := mem.Len(), ""
	create(t, mem, "db2/meta", "of another")
	create(t, mem, "db", "of another")
	b := dropped{mem, func(name string) error { last = name; return nil }}
	db, err := strictkv.Open(t.Context(), "db", b, strictkv.WithConcurrency(1))
	require.NoError(t, err)
	var told strictkv.WalkProgress
	n, err := db.Drop(t.Context(), strictkv.Progress(func(p strictkv.WalkProgress) { told = p }))
	require.NoError(t, err)
	assert.EqualValues(t, all, n)
	assert.Equal(t, n, told.Done)
	assert.Equal(t, "db/meta", last)
	assert.Equal(t, 2, mem.Len(), "what is left")
	_, err = db.Drop(t.Context())
	require.ErrorIs(t, err, strictkv.ErrClosed)
	_, err = strictkv.Open(t.Context(), "db", mem, strictkv.MustExist())
	require.ErrorIs(t, err, strictkv.ErrNoDatabase)
}

// TestDropDatabaseAgain: one that fails in the middle leaves a database that can be opened,
// and dropped.
func TestDropDatabaseAgain(t *testing.T) {
	mem, first := strayed(t)
	require.NoError(t, first.Close(t.Context()))
	all := mem.Len()
	b := dropped{mem, func(name string) error {
		if name == "db/+c/=c" {
			return backend.ErrDenied
		}
		return nil
	}}
	db, err := strictkv.Open(t.Context(), "db", b)
	require.NoError(t, err)
	n, err := db.Drop(t.Context())
	require.ErrorIs(t, err, backend.ErrDenied)
	assert.EqualValues(t, all-2, n)
	assert.Equal(t, 2, mem.Len(), "what could not be removed, and meta")
	db, err = strictkv.Open(t.Context(), "db", mem, strictkv.MustExist())
	require.NoError(t, err)
	n, err = db.Drop(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 2, n)
	assert.Zero(t, mem.Len())
}

// TestDropDatabaseOfOthers: what others write meanwhile goes as well, unless they never end.
func TestDropDatabaseOfOthers(t *testing.T) {
	for _, most := range []int{3, 1 << 30} {
		mem, first := strayed(t)
		require.NoError(t, first.Close(t.Context()))
		written := 0
		b := dropped{mem, func(name string) error {
			if written++; name != "db/meta" && written <= most {
				create(t, mem, fmt.Sprintf("db/=%d", written), "new")
			}
			return nil
		}}
		db, err := strictkv.Open(t.Context(), "db", b, strictkv.WithConcurrency(1))
		require.NoError(t, err)
		_, err = db.Drop(t.Context())
		if most == 3 {
			require.NoError(t, err)
			assert.Zero(t, mem.Len())
			continue
		}
		require.ErrorIs(t, err, strictkv.ErrUnavailable)
		_, err = mem.Get(t.Context(), "db/meta", "")
		require.NoError(t, err, "what tells that there is a database")
	}
}
