package store_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/cell"
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

// shaped is a batcher that the test shapes.
type shaped struct {
	batcher
	before, after func() error // nil: nothing
	max           int
	once          bool // what it declares of how often writes are sent
}

func (s shaped) PutAll(
	ctx context.Context, writes []backend.Write,
) (at []backend.Stamp, refused int, err error) {
	if s.before != nil {
		if err := s.before(); err != nil {
			return nil, 0, err
		}
	}
	at, refused, err = s.batcher.PutAll(ctx, writes)
	if s.after != nil && err == nil {
		err = s.after()
	}
	return at, refused, err
}

func (s shaped) BatchMax() int { return s.max }

func (s shaped) Capabilities() backend.Capabilities {
	return backend.Capabilities{SendsOnce: s.once}
}

func openShaped(t *testing.T, s shaped) *store.Store {
	t.Helper()
	s.batcher = batcher{memory.New()}
	o := (&wire{}).options()
	o.Backend = s
	st, err := store.Open(background, o)
	require.NoError(t, err)
	return st
}

// TestSendsTogether: as many bytes as the store takes, by requests of which none arrives twice. A
// wrapper of a store that takes none says so by a bound of 0.
func TestSendsTogether(t *testing.T) {
	size := len(cell.Encode(valued(1), 1))
	for _, x := range []struct {
		max             int
		once            bool
		batches, suffit bool
	}{
		{2 * size, true, true, true}, {2*size - 1, true, true, false},
		{2 * size, false, false, false}, {0, true, false, false},
	} {
		st := openShaped(t, shaped{max: x.max, once: x.once})
		assert.Equal(t, x.batches, st.Batches(), x)
		assert.Equal(t, x.suffit, st.SendsTogether([]*store.Write{
			st.Prepare(store.NoObject("=a"), valued(1)),
			st.Prepare(store.NoObject("=b"), valued(2)),
		}), x)
	}
}

// TestBatchThatIsNotApplied: it is told why.
func TestBatchThatIsNotApplied(t *testing.T) {
	gone, cancel := context.WithCancel(background)
	cancel()
	for _, x := range []struct {
		ctx  context.Context
		err  error
		want error
	}{
		{gone, nil, context.Canceled},
		{background, backend.ErrThrottled, backend.ErrUnavailable},
		{background, backend.ErrDenied, backend.ErrDenied},
	} {
		synctest.Test(t, func(t *testing.T) {
			st := openShaped(t, shaped{
				before: func() error { return x.err }, max: 1 << 20, once: true,
			})
			result, _, _, err := st.SendAll(x.ctx, []*store.Write{
				st.Prepare(store.NoObject("=a"), valued(1)),
			})
			require.ErrorIs(t, err, x.want)
			assert.Equal(t, store.NotApplied, result)
		})
	}
}

// TestOwnBatchReplacesWhatWasReadWhileItWasOnItsWay: as a single write does.
func TestOwnBatchReplacesWhatWasReadWhileItWasOnItsWay(t *testing.T) {
	var st *store.Store
	st = openShaped(t, shaped{
		before: func() error { _, err := st.Read(background, "=a"); return err },
		max:    1 << 20, once: true,
	})
	_, seen, _, err := st.SendAll(background, []*store.Write{
		st.Prepare(store.NoObject("=a"), valued(1)),
	})
	require.NoError(t, err)
	assert.Equal(t, seen[0].Version, cached(t, st).Version)
}
