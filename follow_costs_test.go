package strictkv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/internal/seam"
)

// fill writes n keys.
func fill(t *testing.T, c *strictkv.Collection, n int) {
	t.Helper()
	_, err := c.Load(t.Context(), func(yield func(_, _ []byte) bool) {
		for i := range n {
			if !yield(fmt.Appendf(nil, "%06d", i), []byte("v")) {
				return
			}
		}
	}, strictkv.LoadOptions{})
	require.NoError(t, err)
}

// A pass costs a list request for each thousand keys, and a read for each object that is new; the
// requests are sent at once where it is known how the keys split.
func TestWhatFollowingCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, latency = 5000, 50 * time.Millisecond
		mem := memory.New()
		_, writer := openDB(t, mem)
		fill(t, writer, keys)
		slow := simulated.New(mem, seam.Real(), simulated.Constant(latency))
		db, c := openDB(t, slow)
		r := newReplica()
		follow := func(
			opts ...strictkv.FollowOption,
		) (strictkv.Stats, strictkv.Pass, time.Duration) {
			before, begun := db.Stats(), time.Now()
			p := r.follow(t, c, opts...)
			return db.Stats().Sub(before), p, time.Since(begun)
		}
		first, p, _ := follow()
		assert.EqualValues(t, 5, first.Lists)
		assert.EqualValues(t, keys, first.Gets)
		assert.EqualValues(t, keys, p.Listed)
		assert.EqualValues(t, keys, p.Read)

		require.NoError(t, writer.Write(t.Context(), []byte("000007"), []byte("new")))
		require.NoError(t, writer.Delete(t.Context(), []byte("000008")))
		second, p, took := follow()
		assert.EqualValues(t, 6, second.Lists, "parts are of 950 keys")
		assert.EqualValues(t, 1, second.Gets, "a tombstone is known by its size")
		assert.EqualValues(t, 1, p.Read)
		assert.Equal(t, 2*latency, took, "all are listed at once, though nothing but the Position "+
			"tells how they split")

		quiet, p, took := follow()
		assert.EqualValues(t, 6, quiet.Lists)
		assert.Zero(t, quiet.Gets)
		assert.Equal(t, latency, took)
		assert.False(t, p.Instant, "one pass alone proves none")

		instant, p, _ := follow(strictkv.FollowInstant())
		assert.EqualValues(t, 12, instant.Lists, "twice")
		assert.Zero(t, instant.Gets)
		assert.True(t, p.Instant)
	})
}

// With a feed, followers list that.
func TestWhatFollowingCostsWithAFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, feed := memory.New(), strictkv.WithFeed(strictkv.FeedOptions{})
		_, writer := openDB(t, b, feed)
		fill(t, writer, 3000)
		time.Sleep(time.Minute)
		db, c := openDB(t, b, feed)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := make(chan time.Duration, 1)
		begun := make(chan struct{})
		go func() {
			defer close(seen)
			first := true
			for change, err := range c.Follow(ctx, strictkv.Position{}) {
				switch {
				case err != nil:
					assert.ErrorIs(t, err, context.Canceled)
				case change.Pass != nil && first:
					first = false
					close(begun)
				case change.Pass == nil && !first:
					seen <- time.Since(time.Unix(0, change.Expires.UnixNano()).Add(-time.Hour))
				}
			}
		}()
		<-begun
		before := db.Stats()
		for i := range 60 {
			time.Sleep(time.Duration(i*31%1000) * time.Millisecond)
			require.NoError(t, writer.Write(t.Context(), fmt.Appendf(nil, "%d", i), []byte("v"),
				strictkv.ExpireAt(time.Now().Add(time.Hour))))
			lag := <-seen
			assert.LessOrEqual(t, lag, 2*time.Second)
		}
		used := db.Stats().Sub(before)
		assert.LessOrEqual(t, used.Lists, int64(121))
		assert.Equal(t, int64(120), used.Gets, "each hint, and the key")
		time.Sleep(time.Hour)
		cancel()
		<-seen
		used = db.Stats().Sub(before)
		assert.InDelta(t, 3600+4*60/5, used.Lists, 400)
	})
}

// Watching costs 720 conditional reads an hour, and follows a change for a while at a short pause.
func TestWhatWatchingCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New()
		_, writer := openDB(t, b)
		require.NoError(t, writer.Write(t.Context(), []byte("k"), []byte("1")))
		db, c := openDB(t, b)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		values := make(chan string, 1)
		go func() {
			defer close(values)
			for change, err := range c.Watch(ctx, []byte("k")) {
				if err != nil {
					assert.ErrorIs(t, err, context.Canceled)
					continue
				}
				assert.Nil(t, change.Pass)
				assert.True(t, change.Position.IsZero())
				values <- string(change.Value)
			}
		}()
		assert.Equal(t, "1", <-values)
		time.Sleep(time.Minute)
		before := db.Stats()
		time.Sleep(time.Hour)
		used := db.Stats().Sub(before)
		assert.EqualValues(t, 720, used.Gets)
		assert.EqualValues(t, 720, used.NotModified)
		assert.Zero(t, used.Lists)

		require.NoError(t, writer.Write(t.Context(), []byte("k"), []byte("2")))
		begun := time.Now()
		assert.Equal(t, "2", <-values)
		assert.LessOrEqual(t, time.Since(begun), strictkv.DefaultFollowEvery)
		require.NoError(t, writer.Delete(t.Context(), []byte("k")))
		begun = time.Now()
		assert.Empty(t, <-values, "deleted")
		assert.LessOrEqual(t, time.Since(begun), 200*time.Millisecond, "pauses are short again")
		require.NoError(t, c.Write(t.Context(), []byte("k"), []byte("3")))
		begun = time.Now()
		assert.Equal(t, "3", <-values)
		assert.Zero(t, time.Since(begun), "the handle's own")
		cancel()
		<-values
	})
}

// What has expired is a deletion, also where nobody lists.
func TestFollowersSeeWhatExpires(t *testing.T) {
	for name, opts := range map[string][]strictkv.Option{
		"alone": nil, "with a feed": {strictkv.WithFeed(strictkv.FeedOptions{})},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, c := openDB(t, memory.New(), opts...)
				for i, key := range []string{"a", "b", "c", "d"} {
					require.NoError(t, c.Write(t.Context(), []byte(key), []byte("v"),
						strictkv.ExpireAt(time.Now().Add(time.Duration(20*i+20)*time.Second))))
				}
				begun := time.Now()
				left := 4
				for change, err := range c.Follow(t.Context(), strictkv.Position{}) {
					require.NoError(t, err)
					if change.Deleted {
						due := time.Duration(20*int(change.Key[0]-'a')+20) * time.Second
						late := time.Since(begun) - due
						assert.GreaterOrEqual(t, late, time.Duration(0))
						assert.LessOrEqual(t, late, strictkv.DefaultFollowEvery)
						if left--; left == 0 {
							break
						}
					}
				}
			})
		})
	}
}

func TestFollowRefusesWhatCantBe(t *testing.T) {
	db, c := openDB(t, memory.New())
	other, d := openDB(t, memory.New())
	require.NoError(t, d.Write(t.Context(), []byte("k"), []byte("v")))
	var foreign strictkv.Position
	for change, err := range d.Follow(t.Context(), foreign, strictkv.FollowOnce()) {
		require.NoError(t, err)
		foreign = change.Position
	}
	_ = other
	for name, follow := range map[string]func(yield func(strictkv.Change, error) bool){
		"nil option":                   c.Follow(t.Context(), strictkv.Position{}, nil),
		"position of another database": c.Follow(t.Context(), foreign),
		"collection of another handle": db.Follow(t.Context(), strictkv.Position{},
			strictkv.FollowCollections(d)),
		"nil collection": db.Follow(t.Context(), strictkv.Position{},
			strictkv.FollowCollections(nil)),
		"name":  db.Collection(nil).Follow(t.Context(), strictkv.Position{}),
		"key":   c.Watch(t.Context(), nil),
		"range": c.WatchRange(t.Context(), strictkv.Range{Limit: 1}),
		"range of nothing": db.Follow(t.Context(), strictkv.Position{},
			strictkv.FollowRange(strictkv.Range{})),
		"seen of nothing": db.Follow(t.Context(), strictkv.Position{},
			strictkv.FollowSeen(mirror{})),
		"seen and watch": c.Watch(t.Context(), []byte("k"), strictkv.FollowSeen(mirror{})),
		"version": c.Follow(t.Context(), strictkv.Position{},
			strictkv.WatchFrom(strictkv.Version{})),
	} {
		n := 0
		for _, err := range follow {
			n++
			want := strictkv.ErrInvalid
			if name == "name" || name == "key" {
				want = strictkv.ErrInvalidKey
			}
			require.ErrorIs(t, err, want, name)
		}
		assert.Equal(t, 1, n, name)
	}
	for _, err := range db.Collection(nil).Collection([]byte("x")).Watch(t.Context(), []byte("k")) {
		require.Error(t, err)
	}
	require.Error(t, errors.Join(foreign.UnmarshalBinary(nil)))
	assert.False(t, foreign.IsZero(), "unchanged")
}
