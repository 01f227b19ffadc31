package strictkv_test

import (
	"context"
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
	"github.com/strictkv/strictkv/internal/seam"
)

// shaky is a store that is out of reach for a while.
type shaky struct {
	backend.Backend
	until time.Time
}

func (s *shaky) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	if time.Now().Before(s.until) {
		return backend.Page{}, backend.ErrUnavailable
	}
	return s.Backend.List(ctx, o)
}

// A store that is out of reach ends no loop that goes on.
func TestFollowGoesOnAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &shaky{Backend: memory.New()}
		_, c := openDB(t, b, strictkv.WithRequests(strictkv.Requests{Retries: -1}))
		_, writer := openDB(t, b)
		failed, values := 0, []string{}
		for change, err := range c.Follow(t.Context(), strictkv.Position{}) {
			switch {
			case err != nil:
				require.ErrorIs(t, err, strictkv.ErrUnavailable)
				assert.Nil(t, change.Key)
				failed++
			case change.Pass != nil && len(values) == 0:
				b.until = time.Now().Add(20 * time.Second)
				require.NoError(t, writer.Write(t.Context(), []byte("k"), []byte("v")))
			case change.Pass == nil:
				values = append(values, string(change.Value))
			}
			if len(values) == 1 {
				break
			}
		}
		assert.Equal(t, []string{"v"}, values)
		assert.InDelta(t, 4, failed, 1)
		b.until = time.Now().Add(time.Hour)
		for _, err := range c.Follow(t.Context(), strictkv.Position{}) {
			require.ErrorIs(t, err, strictkv.ErrUnavailable)
			break // who leaves at an error has left
		}
	})
}

// A damaged object is an error of its key alone, and no change of it.
func TestFollowTellsOfDamage(t *testing.T) {
	b := memory.New()
	_, c := openDB(t, b, strictkv.WithCacheSize(0))
	for _, k := range []string{"a", "b", "c"} {
		require.NoError(t, c.Write(t.Context(), []byte(k), []byte("v")))
	}
	o, err := b.Get(t.Context(), "db/+c/=b", "")
	require.NoError(t, err)
	_, err = b.Put(t.Context(), "db/+c/=b", []byte("no value"), backend.IfVersion(o.Version))
	require.NoError(t, err)
	var at strictkv.Position
	for range 2 {
		var keys, bad []string
		for change, err := range c.Follow(t.Context(), at, strictkv.FollowOnce()) {
			switch {
			case err != nil:
				require.ErrorIs(t, err, strictkv.ErrCorrupt)
				bad = append(bad, string(change.Key))
			case change.Pass != nil:
				assert.EqualValues(t, 1, change.Pass.Held)
				if at.IsZero() {
					assert.Equal(t, []string{"a", "c"}, keys)
				} else {
					assert.Empty(t, keys)
				}
				at = change.Position
			default:
				keys = append(keys, string(change.Key))
			}
		}
		assert.Equal(t, []string{"b"}, bad)
	}
	for change, err := range c.Watch(t.Context(), []byte("b"), strictkv.FollowOnce()) {
		require.ErrorIs(t, err, strictkv.ErrCorrupt)
		assert.Equal(t, "b", string(change.Key))
	}
}

// Who may only read follows as others do.
func TestReadOnlyHandlesFollow(t *testing.T) {
	b := memory.New()
	_, c := openDB(t, b)
	require.NoError(t, c.Write(t.Context(), []byte("k"), []byte("v")))
	_, ro := openDB(t, b, strictkv.ReadOnly(), strictkv.WithFeed(strictkv.FeedOptions{}))
	r := newReplica()
	p := r.follow(t, ro, strictkv.FollowInstant())
	assert.True(t, p.Instant)
	assert.Equal(t, map[string]string{"k": "v"}, r.values)
}

// The caller's context ends a loop, with its error, and a loop that is left says nothing more.
func TestFollowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := openDB(t, memory.New())
		for name, seq := range map[string]func(context.Context) func(
			func(strictkv.Change, error) bool,
		){
			"follow": func(ctx context.Context) func(func(strictkv.Change, error) bool) {
				return c.Follow(ctx, strictkv.Position{})
			},
			"watch": func(ctx context.Context) func(func(strictkv.Change, error) bool) {
				return c.Watch(ctx, []byte("k"))
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			var last error
			for _, err := range seq(ctx) {
				last = err
			}
			cancel()
			require.ErrorIs(t, last, context.DeadlineExceeded, name)
			last = nil
			for _, last = range seq(ctx) {
			}
			require.ErrorIs(t, last, context.DeadlineExceeded, name)
		}
	})
}

// What the cache has of the value before comes along.
func TestFollowKnowsTheOldValue(t *testing.T) {
	b := memory.New()
	_, writer := openDB(t, b)
	require.NoError(t, writer.Write(t.Context(), []byte("k"), []byte("1")))
	_, c := openDB(t, b)
	r := newReplica()
	r.follow(t, c)
	require.NoError(t, writer.Write(t.Context(), []byte("k"), []byte("2")))
	for change, err := range c.Follow(t.Context(), r.at, strictkv.FollowOnce()) {
		require.NoError(t, err)
		if change.Pass == nil {
			assert.Equal(t, "2", string(change.Value))
			assert.Equal(t, "1", string(change.Old))
			r.at = change.Position
		}
	}
	require.NoError(t, writer.Delete(t.Context(), []byte("k")))
	for change, err := range c.Follow(t.Context(), r.at, strictkv.FollowOnce()) {
		require.NoError(t, err)
		if change.Pass == nil {
			assert.True(t, change.Deleted)
			assert.Equal(t, "2", string(change.Old))
		}
	}
}

// A handle that writes all the time, and is looked at for that, still sees what others write.
func TestFollowIsNotStarvedByItsOwnHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New()
		_, other := openDB(t, mem)
		_, c := openDB(t, simulated.New(mem, seam.Real(),
			simulated.Constant(20*time.Millisecond)))
		ctx, cancel := context.WithCancel(t.Context())
		var busy sync.WaitGroup
		for i := range 50 {
			busy.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				for ctx.Err() == nil {
					_ = c.Write(ctx, []byte{'a', byte(i)}, nil)
				}
			})
		}
		var written time.Time
		for change, err := range c.Follow(ctx, strictkv.Position{}) {
			require.NoError(t, err)
			if change.Pass != nil && written.IsZero() {
				written = time.Now()
				require.NoError(t, other.Write(ctx, []byte("k"), nil))
			}
			if string(change.Key) == "k" {
				break
			}
			if time.Since(written) > time.Minute && !written.IsZero() {
				t.Error("it is not seen")
				break
			}
		}
		assert.Less(t, time.Since(written), 2*strictkv.DefaultFollowEvery)
		cancel()
		busy.Wait()
	})
}
