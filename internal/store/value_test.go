package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/store"
)

// TestUnlinkOfAValueThatMayBeThere: whether an external value was written is not known if the
// upload's outcome is not. It is removed if it is there, and not missed if it is not.
func TestUnlinkOfAValueThatMayBeThere(t *testing.T) {
	st, w := open(t, memory.New())
	v, _, err := st.Upload(background, "=a", st.NewValue([]byte("v")), []byte("v"))
	require.NoError(t, err)
	ref := store.RefID(v.Ref)
	require.NotEqual(t, v.Ref, ref)
	require.NotEmpty(t, valuesIn(t, w))
	for range 2 {
		require.NoError(t, st.Unlink(background, "=a", ref))
		assert.Empty(t, valuesIn(t, w))
	}
}

func valuesIn(t *testing.T, w *wire) []backend.Info {
	page, err := w.mem.List(background, backend.ListOptions{Prefix: prefix + "*"})
	require.NoError(t, err)
	return page.Objects
}

// TestListingsThatFail: whoever lists is told, lest what it has seen passes for all there is.
func TestListingsThatFail(t *testing.T) {
	st, w := open(t, memory.New())
	w.before = func(_ context.Context, op faulty.Op, _ int) error {
		if op.Kind == faulty.List {
			return backend.ErrDenied
		}
		return nil
	}
	var told []error
	for _, err := range st.Folders(background, "") {
		told = append(told, err)
	}
	for _, err := range st.Peek(background, "") {
		told = append(told, err)
	}
	for _, err := range st.List(background, "") {
		told = append(told, err)
	}
	require.Len(t, told, 3)
	for _, err := range told {
		assert.ErrorIs(t, err, backend.ErrDenied)
	}
}
