package strictkv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
)

func TestUpdate(t *testing.T) {
	s := newShop(t)
	makes := func(want, value []byte, err error) func([]byte) ([]byte, error) {
		return func(old []byte) ([]byte, error) {
			assert.Equal(t, want, old)
			return value, err
		}
	}
	key, ours := []byte("key"), errors.New("ours")
	require.NoError(t, s.c.Update(s.ctx, key, makes([]byte("value"), []byte("new"), nil)))
	s.sees(t, "key", "new")
	assert.Same(t, ours, s.c.Update(s.ctx, key, makes([]byte("new"), []byte("lost"), ours)))
	s.sees(t, "key", "new")
	err := s.c.Update(s.ctx, key, makes([]byte("new"), nil, nil))
	require.ErrorIs(t, err, strictkv.ErrInvalid, "a forgotten value deletes nothing")
	require.ErrorContains(t, err, "strictkv.Remove")
	s.sees(t, "key", "new")
	remove := fmt.Errorf("enough: %w", strictkv.Remove)
	require.NoError(t, s.c.Update(s.ctx, key, makes([]byte("new"), nil, remove)))
	s.sees(t, "key", nil)
	before := s.db.Stats()
	require.NoError(t, s.c.Update(s.ctx, key, makes(nil, nil, strictkv.Remove)), "it is gone")
	assert.Zero(t, s.db.Stats().Sub(before).Puts)
	require.NoError(t, s.c.Update(s.ctx, key, makes(nil, []byte{}, nil)))
	s.sees(t, "key", "")
}

// TestCollectionsOfWhatIsNotAllowed: errors end the loop.
func TestCollectionsOfWhatIsNotAllowed(t *testing.T) {
	s := newShop(t)
	errorOf := func(seq func(yield func([]byte, error) bool)) (err error) {
		for name, e := range seq {
			require.Nil(t, name)
			require.NoError(t, err, "an error ends the loop")
			err = e
		}
		return err
	}
	bad := s.db.Collection(nil)
	require.ErrorIs(t, errorOf(bad.Collections(s.ctx)), strictkv.ErrInvalidKey)
	require.ErrorIs(t, errorOf(bad.Collection([]byte("x")).Collections(s.ctx)),
		strictkv.ErrInvalidKey)
	ended, cancel := context.WithCancel(s.ctx)
	cancel()
	require.ErrorIs(t, errorOf(s.db.Collections(ended)), context.Canceled)
	require.NoError(t, s.db.Close(s.ctx))
	require.ErrorIs(t, errorOf(s.db.Collections(s.ctx)), strictkv.ErrClosed)
	require.ErrorIs(t, errorOf(s.c.Collections(s.ctx)), strictkv.ErrClosed)
}

// TestForeignFolders: what is not the database's is no collection.
func TestForeignFolders(t *testing.T) {
	s := newShop(t)
	s.damaged = true
	for _, name := range []string{"+foreign/x", "+!!/=k", "+x", "other/=k", "+c/+c/*k.1"} {
		_, err := s.store.Put(s.ctx, "example/"+name, make([]byte, 64), backend.IfAbsent())
		require.NoError(t, err)
	}
	var got [][]byte
	for name, err := range s.db.Collections(s.ctx) {
		require.NoError(t, err)
		got = append(got, bytes.Clone(name))
	}
	assert.Equal(t, [][]byte{[]byte("c")}, got)
}

func TestDropOfWhatIsNotAllowed(t *testing.T) {
	s := newShop(t)
	drop := func(c *strictkv.Collection, ctx context.Context, opts ...strictkv.WalkOption) error {
		n, err := c.Drop(ctx, opts...)
		require.Zero(t, n)
		return err
	}
	ended, cancel := context.WithCancel(s.ctx)
	cancel()
	require.ErrorIs(t, drop(s.db.Collection(nil), s.ctx), strictkv.ErrInvalidKey)
	require.ErrorIs(t, drop(s.c, s.ctx, nil), strictkv.ErrInvalid)
	require.ErrorIs(t, drop(s.c, ended), context.Canceled)
	s.sees(t, "key", "value")
	require.NoError(t, s.db.Close(s.ctx))
	require.ErrorIs(t, drop(s.c, s.ctx), strictkv.ErrClosed)
}

func TestItemsOfWhatIsNotAllowed(t *testing.T) {
	s := newShop(t)
	errorOf := func(
		c *strictkv.Collection, ctx context.Context, r strictkv.Range, opts ...strictkv.WalkOption,
	) (err error) {
		for item, e := range c.Items(ctx, r, opts...) {
			require.NoError(t, err, "an error ends the loop")
			require.Zero(t, item)
			err = e
		}
		return err
	}
	all, long := strictkv.Range{}, make([]byte, 514)
	ended, cancel := context.WithCancel(s.ctx)
	cancel()
	for name, x := range map[string]struct{ got, want error }{
		"no name":       {errorOf(s.db.Collection(nil), s.ctx, all), strictkv.ErrInvalidKey},
		"a long bound":  {errorOf(s.c, s.ctx, strictkv.Range{From: long}), strictkv.ErrInvalidKey},
		"a limit below": {errorOf(s.c, s.ctx, strictkv.Range{Limit: -1}), strictkv.ErrInvalid},
		"a nil option":  {errorOf(s.c, s.ctx, all, nil), strictkv.ErrInvalid},
		"nobody waits":  {errorOf(s.c, ended, all), context.Canceled},
	} {
		assert.ErrorIs(t, x.got, x.want, name)
	}
	require.NoError(t, s.db.Close(s.ctx))
	require.ErrorIs(t, errorOf(s.c, s.ctx, all), strictkv.ErrClosed)
}
