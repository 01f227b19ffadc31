package store_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/store"
)

// TestUploadThatIsRefused: nobody else uses the name of an external value, so that an earlier copy
// of the request has landed, which is looked for; a cell must not point to what is not there.
func TestUploadThatIsRefused(t *testing.T) {
	refused := func(*wire, faulty.Op) error { return backend.ErrPrecondition }
	for name, x := range map[string]struct {
		first func(w *wire, op faulty.Op) error // what happens to the first write
		list  error
		want  error
	}{
		"a copy has landed": {func(w *wire, op faulty.Op) error {
			_, err := w.mem.Put(background, op.Name, op.Data, op.Condition)
			require.NoError(t, err)
			return backend.ErrOutcomeUnknown
		}, nil, nil},
		"there is none":   {refused, nil, nil},
		"nobody can tell": {refused, backend.ErrDenied, backend.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, w := open(t, memory.New())
				w.before = func(_ context.Context, op faulty.Op, n int) error {
					switch {
					case n == 0:
						return x.first(w, op)
					case op.Kind == faulty.List:
						return x.list
					}
					return nil
				}
				v, _, err := st.Upload(background, "=a", st.NewValue([]byte("v")), []byte("v"))
				if x.want != nil {
					require.ErrorIs(t, err, x.want)
					return
				}
				require.NoError(t, err)
				there := valuesIn(t, w)
				require.Len(t, there, 1)
				assert.Equal(t, store.RefID(v.Ref)+string(there[0].Version), v.Ref)
			})
		})
	}
}

// TestRemove: whether the object was removed is told, and why if not.
func TestRemove(t *testing.T) {
	gone, cancel := context.WithCancel(background)
	cancel()
	landed := func(w *wire, op faulty.Op) error {
		require.NoError(t, w.mem.Delete(background, op.Name, op.Condition.Version()))
		return backend.ErrOutcomeUnknown
	}
	for name, x := range map[string]struct {
		ctx     context.Context
		version backend.Version // empty: the right one
		meet    func(w *wire, op faulty.Op, n int) error
		result  store.Result
		want    error
	}{
		"removed":         {background, "", nil, store.Applied, nil},
		"another version": {background, "x", nil, store.Refused, backend.ErrPrecondition},
		"not sent":        {gone, "", nil, store.NotApplied, context.Canceled},
		"an unknown outcome": {background, "", func(w *wire, op faulty.Op, n int) error {
			if n == 0 {
				return landed(w, op)
			}
			return nil
		}, store.Refused, backend.ErrPrecondition},
		"throttled for good": {background, "", func(*wire, faulty.Op, int) error {
			return backend.ErrThrottled
		}, store.NotApplied, backend.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, w := open(t, memory.New())
				made, err := w.mem.Put(background, prefix+"x", nil, backend.IfAbsent())
				require.NoError(t, err)
				w.before = func(_ context.Context, op faulty.Op, n int) error {
					if x.meet == nil {
						return nil
					}
					return x.meet(w, op, n)
				}
				if x.version == "" {
					x.version = made.Version
				}
				result, err := st.Remove(x.ctx, "x", x.version)
				assert.Equal(t, x.result, result)
				if x.want == nil {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, x.want)
				assert.ErrorContains(t, err, prefix+"x")
			})
		})
	}
}

// TestAnnounce: who announces, or withdraws, is told how that ended.
func TestAnnounce(t *testing.T) {
	st, w := open(t, memory.New())
	result, v, err := st.Announce(background, "x", nil)
	require.NoError(t, err)
	require.Equal(t, store.Applied, result)
	result, _, err = st.Announce(background, "x", nil)
	require.ErrorIs(t, err, backend.ErrPrecondition)
	require.Equal(t, store.Refused, result)
	require.NoError(t, st.Withdraw(background, "x", v))
	require.ErrorIs(t, st.Withdraw(background, "x", v), backend.ErrPrecondition)
	assert.Equal(t, 1, w.mem.Len(), "all that is left is meta")
}
