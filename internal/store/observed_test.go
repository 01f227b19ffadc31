package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// TestObservedRequests: an observer is told of each request how it has ended, and what it moved.
func TestObservedRequests(t *testing.T) {
	var told []observe.Request
	w := &wire{mem: memory.New()}
	o := w.options()
	o.Observer = &observe.Observer{
		Runtime:    seam.Real(),
		RequestEnd: func(_ context.Context, r observe.Request) { told = append(told, r) },
	}
	st, err := store.Open(background, o)
	require.NoError(t, err)
	w.before = func(_ context.Context, op faulty.Op, _ int) error {
		if op.Name == prefix+"denied" {
			return backend.ErrDenied
		}
		return nil
	}
	object := []byte("five!")
	list := func(name string) error {
		_, err := st.ListPage(background, name, "", 1)
		return err
	}
	raw := func(name string) error {
		_, err := st.Raw(background, name)
		return err
	}
	keep := func(name string) error { return st.Keep(background, name, object) }
	remove := func(name string) error {
		_, err := st.Remove(background, name, "v")
		return err
	}
	for name, x := range map[string]struct {
		call func(name string) error
		op   observe.Op
		read int
	}{
		"a read": {raw, observe.Get, len(object)}, "a write": {keep, observe.Put, 0},
		"a listing": {list, observe.List, 0}, "a removal": {remove, observe.Delete, 0},
	} {
		require.NoError(t, st.Keep(background, "there", object))
		told = nil
		require.ErrorIs(t, x.call("denied"), backend.ErrDenied, name)
		require.Len(t, told, 1, name)
		assert.Equal(t, x.op, told[0].Op, name)
		assert.Equal(t, observe.Denied, told[0].Result, name)
		require.ErrorIs(t, told[0].Err, backend.ErrDenied, name)
		assert.Equal(t, prefix+"denied", told[0].Full, name)
		assert.Zero(t, told[0].Read, name)

		told = nil
		_ = x.call("there")
		require.NotEmpty(t, told, name)
		assert.Equal(t, x.op, told[0].Op, name)
		assert.Equal(t, prefix+"there", told[0].Full, name)
		if x.op == observe.Get || x.op == observe.List {
			assert.Equal(t, observe.OK, told[0].Result, name)
			assert.Equal(t, x.read, told[0].Read, name)
		} else {
			assert.Equal(t, observe.Refused, told[0].Result, name)
		}
	}
}
