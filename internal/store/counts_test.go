package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/store"
)

// ended is what an observer is told of a request's end.
type ended struct {
	op            observe.Op
	result        observe.Result
	read, written int
}

// TestRequestsAreObserved: an observer is told of each request how it has ended, and the counts
// say of how many writes and removals nobody knows.
func TestRequestsAreObserved(t *testing.T) {
	w := &wire{mem: memory.New()}
	other, _ := open(t, w.mem)
	size := len(cell.Encode(valued(1), 1))
	var told []ended
	var cause error
	o := w.options()
	o.Observer = &observe.Observer{RequestEnd: func(_ context.Context, r observe.Request) {
		told, cause = append(told, ended{r.Op, r.Result, r.Read, r.Written}), r.Err
	}}
	st, err := store.Open(background, o)
	require.NoError(t, err)
	check := func(unknown int64, want ended, err error, do func(st *store.Store)) {
		t.Helper()
		told = nil
		do(st)
		require.Equal(t, []ended{want}, told)
		require.ErrorIs(t, cause, err)
		assert.Equal(t, unknown, st.Counts().Unknown.Load())
	}
	read := func(st *store.Store) { _, _ = st.Read(background, "=a") }
	list := func(st *store.Store) {
		for _, err := range st.List(background, "") {
			_ = err // which is that of the request, if it has one
			break
		}
	}
	var s store.Snapshot
	check(0, ended{observe.Put, observe.OK, 0, size}, nil, func(st *store.Store) {
		_, s, _ = st.Send(background, st.Prepare(store.NoObject("=a"), valued(1)))
	})
	check(0, ended{observe.Get, observe.NotModified, 0, 0}, backend.ErrNotModified, read)
	_, s, err = other.Send(background, other.Prepare(s, valued(2)))
	require.NoError(t, err)
	check(0, ended{observe.Get, observe.OK, size, 0}, nil, read)
	check(0, ended{observe.List, observe.OK, 0, 0}, nil, list)

	lost := backend.ErrOutcomeUnknown
	w.before = func(context.Context, faulty.Op, int) error { return lost }
	check(1, ended{observe.Put, observe.Unknown, 0, size}, lost, func(st *store.Store) {
		_, _, _ = st.Send(background, st.Prepare(s, valued(3)))
	})
	check(2, ended{observe.Delete, observe.Unknown, 0, 0}, lost, func(st *store.Store) {
		_ = st.Withdraw(background, "=a", s.Version)
	})
	w.before = func(context.Context, faulty.Op, int) error { return backend.ErrDenied }
	check(2, ended{observe.List, observe.Denied, 0, 0}, backend.ErrDenied, list)

	o.Backend = shaped{
		batcher: batcher{memory.New()}, after: func() error { return lost }, max: 1, once: true,
	}
	st, err = store.Open(background, o)
	require.NoError(t, err)
	before := st.Counts().BytesWritten.Load()
	check(1, ended{observe.Put, observe.Unknown, 0, 2 * size}, lost, func(st *store.Store) {
		_, _, _, _ = st.SendAll(background, []*store.Write{
			st.Prepare(store.NoObject("=a"), valued(1)),
			st.Prepare(store.NoObject("=b"), valued(1)),
		})
	})
	assert.Equal(t, int64(2*size), st.Counts().BytesWritten.Load()-before)
}
