package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/store"
)

// batcher writes several objects at one instant, while nobody else writes.
type batcher struct{ *memory.Backend }

func (b batcher) PutAll(
	ctx context.Context, writes []backend.Write,
) (at []backend.Stamp, refused int, err error) {
	for i, w := range writes {
		made, err := b.Put(ctx, w.Name, w.Data, w.If)
		if err != nil {
			return nil, i, err
		}
		at = append(at, made)
	}
	return at, 0, nil
}

func (batcher) BatchMax() int { return 1 << 20 }

// openBatcher opens a store that sends writes together.
func openBatcher(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	o.Backend = batcher{memory.New()}
	st, err := store.Open(background, o)
	require.NoError(t, err)
	return st
}

// TestSealedBatches: a handle that may not write has no way to send several writes either.
func TestSealedBatches(t *testing.T) {
	o := (&wire{mem: memory.New()}).options()
	require.True(t, openBatcher(t, o).Batches())
	o.Backend = batcher{memory.New()}
	_, err := store.Open(background, o)
	require.NoError(t, err)
	o.ReadOnly = true
	st, err := store.Open(background, o)
	require.NoError(t, err)
	assert.False(t, st.Batches())
	assert.False(t, st.SendsTogether(nil))
}

// TestBatchOntoDisk: the second tier has what a batch has written, as what a single write has.
func TestBatchOntoDisk(t *testing.T) {
	d := disk{}
	o := (&wire{mem: memory.New()}).options()
	o.Cache.Onto(d)
	st := openBatcher(t, o)
	writes := []*store.Write{
		st.Prepare(store.NoObject("=a"), valued(1)), st.Prepare(store.NoObject("=b"), valued(2)),
	}
	result, seen, _, err := st.SendAll(background, writes)
	require.NoError(t, err)
	require.Equal(t, store.Applied, result)
	var versions []string
	for _, on := range d {
		versions = append(versions, on.version)
	}
	assert.ElementsMatch(t, []string{string(seen[0].Version), string(seen[1].Version)}, versions)
}

// TestBatchesShowChangeRate: refused batches, too, tell how fast others change what is cached.
func TestBatchesShowChangeRate(t *testing.T) {
	o := (&wire{mem: memory.New()}).options()
	st := openBatcher(t, o)
	next := []*store.Write{
		st.Prepare(store.NoObject("=a"), valued(1)), st.Prepare(store.NoObject("=b"), valued(2)),
	}
	_, seen, _, err := st.SendAll(background, next)
	require.NoError(t, err)
	_, moved, err := st.Send(background, st.Prepare(seen[1], valued(3)))
	require.NoError(t, err)
	for range 64 {
		result, _, refused, err := st.SendAll(background, []*store.Write{
			st.Prepare(seen[1], valued(4)), st.Prepare(moved, valued(4)),
		})
		require.ErrorIs(t, err, backend.ErrPrecondition)
		require.Equal(t, store.Refused, result)
		require.Zero(t, refused)
	}
	moved.Until = moved.Until.AddDate(0, 0, -1)
	assert.True(t, st.Doubtful(moved))
}

// careless is a batcher that breaks its contract.
type careless struct{ batcher }

func (c careless) PutAll(
	ctx context.Context, writes []backend.Write,
) (at []backend.Stamp, refused int, err error) {
	at, refused, err = c.batcher.PutAll(ctx, writes)
	if err != nil {
		return nil, -1, err
	}
	return at[1:], refused, nil
}

// TestCarelessBatcher: what a backend leaves out is not known, and brings nobody down.
func TestCarelessBatcher(t *testing.T) {
	o := (&wire{mem: memory.New()}).options()
	o.Backend = careless{batcher{memory.New()}}
	st, err := store.Open(background, o)
	require.NoError(t, err)
	writes := []*store.Write{
		st.Prepare(store.NoObject("=a"), valued(1)), st.Prepare(store.NoObject("=b"), valued(2)),
	}
	result, _, _, err := st.SendAll(background, writes)
	require.ErrorContains(t, err, "1 versions of 2 writes")
	require.Equal(t, store.Unknown, result)
	result, _, refused, err := st.SendAll(background, writes)
	require.ErrorIs(t, err, backend.ErrPrecondition)
	require.Equal(t, store.Refused, result)
	require.Zero(t, refused)
}
