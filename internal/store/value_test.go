package store_test

import (
	"bytes"
	"context"
	"log/slog"
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

// TestDamagedValue: bytes that are not those which were written are never given to anybody.
func TestDamagedValue(t *testing.T) {
	for _, wrong := range []string{"valuf", "valu", ""} {
		st, w := open(t, memory.New())
		v, _, err := st.Upload(background, "=a", st.NewValue([]byte("value")), []byte("value"))
		require.NoError(t, err)
		at := valuesIn(t, w)[0]
		_, err = w.mem.Put(background, at.Name, []byte(wrong), backend.IfVersion(at.Version))
		require.NoError(t, err)

		var log bytes.Buffer
		o := w.options()
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		other, err := store.Open(background, o)
		require.NoError(t, err)
		for range 2 {
			_, err = other.Download(background, "=a", v)
			require.ErrorIs(t, err, backend.ErrCorrupt)
			require.ErrorContains(t, err, at.Name)
			require.ErrorIs(t, other.Verify(background, "=a", v), backend.ErrCorrupt)
		}
		assert.Contains(t, log.String(), "damaged")
		assert.Contains(t, log.String(), at.Name)
	}
}

// TestValueIsFetchedOnce: what was fetched, be it from the disk, is remembered.
func TestValueIsFetchedOnce(t *testing.T) {
	for _, onDisk := range []bool{false, true} {
		mem, d := memory.New(), disk{}
		st, _ := restart(t, mem, d)
		v, _, err := st.Upload(background, "=a", st.NewValue([]byte("value")), []byte("value"))
		require.NoError(t, err)
		if !onDisk {
			clear(d)
		}
		st, w := restart(t, mem, d)
		for range 2 {
			data, err := st.Download(background, "=a", v)
			require.NoError(t, err)
			assert.Equal(t, "value", string(data))
			clear(d)
		}
		if onDisk {
			assert.Empty(t, w.sent)
		} else {
			assert.Len(t, w.sent, 1)
		}
	}
}
