package strictkv_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

// replica is what a follower makes of changes.
type replica struct {
	values   map[string]string
	versions map[string]strictkv.Version
	at       strictkv.Position
	changes  int
}

func newReplica() *replica {
	return &replica{values: map[string]string{}, versions: map[string]strictkv.Version{}}
}

func (r *replica) apply(t *testing.T, c strictkv.Change) {
	t.Helper()
	r.at = c.Position
	if c.Pass != nil {
		return
	}
	r.changes++
	key := string(c.Key)
	if c.Deleted {
		assert.Nil(t, c.Value)
		assert.True(t, c.Version.IsZero())
		assert.Contains(t, r.values, key, "a deletion of what was told")
		delete(r.values, key)
		delete(r.versions, key)
		return
	}
	assert.NotEqual(t, r.versions[key], c.Version, "a change has another version")
	r.values[key], r.versions[key] = string(c.Value), c.Version
}

// follow applies what a Follow yields until the end of a pass.
func (r *replica) follow(
	t *testing.T, c *strictkv.Collection, opts ...strictkv.FollowOption,
) (last strictkv.Pass) {
	t.Helper()
	for change, err := range c.Follow(t.Context(), r.at, append(opts, strictkv.FollowOnce())...) {
		require.NoError(t, err)
		r.apply(t, change)
		if change.Pass != nil {
			last = *change.Pass
		}
	}
	return last
}

// all is what a collection has.
func all(t *testing.T, c *strictkv.Collection) map[string]string {
	t.Helper()
	values := map[string]string{}
	require.NoError(t, c.DB().View(t.Context(), func(tx *strictkv.Tx) error {
		clear(values)
		for i, err := range tx.Scan(c, strictkv.Range{}) {
			if err != nil {
				return err
			}
			values[string(i.Key)] = string(i.Value)
		}
		return nil
	}))
	return values
}

// randomly does something with a few keys of a collection.
func randomly(t *testing.T, r *rand.Rand, c *strictkv.Collection) {
	t.Helper()
	err := c.DB().Tx(t.Context(), func(tx *strictkv.Tx) error {
		for range 1 + r.IntN(3) {
			key := fmt.Appendf(nil, "%03d", r.IntN(60))
			var err error
			switch r.IntN(6) {
			case 0, 1:
				err = tx.Delete(c, key)
			case 2:
				err = tx.Write(c, key, fmt.Appendf(nil, "%d", r.Uint64()),
					strictkv.ExpireAt(time.Now().Add(time.Duration(r.IntN(60))*time.Second)))
			case 3:
				err = tx.Write(c, key, fmt.Appendf(nil, "%d with more", r.Uint64()))
			default:
				err = tx.Write(c, key, fmt.Appendf(nil, "%d", r.Uint64()))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
}

// A follower that looks now and then ends with what is there, in both modes, with values that
// expire and tombstones that are swept away meanwhile.
func TestFollowersEndWithWhatIsThere(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			b := memory.New()
			_, writer := openDB(t, b, strictkv.WithInlineMax(8))
			reader, c := openDB(t, b, strictkv.WithCacheSize(int64(r.IntN(2)<<20)))
			each, instant := newReplica(), newReplica()
			for range 30 {
				for range r.IntN(20) {
					randomly(t, r, writer)
				}
				time.Sleep(time.Duration(r.IntN(20)) * time.Second)
				if r.IntN(5) == 0 {
					_, err := writer.DB().Sweep(t.Context(), strictkv.SweepOptions{})
					require.NoError(t, err)
				}
				if r.IntN(2) == 0 {
					each.follow(t, c)
					require.Equal(t, all(t, c), each.values, "seed %d", seed)
				}
				if r.IntN(2) == 0 {
					p := instant.follow(t, c, strictkv.FollowInstant())
					assert.True(t, p.Instant)
					require.Equal(t, all(t, c), instant.values, "seed %d", seed)
				}
			}
			assert.Positive(t, reader.Stats().Lists)
		})
	}
}

// What a handle commits itself is there at once, what others commit with the next pass.
func TestFollowYieldsWhatItsOwnHandleWritesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New()
		_, c := openDB(t, b)
		_, other := openDB(t, b)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		type seen struct {
			value string
			after time.Duration
		}
		begun, got := time.Now(), make(chan seen, 10)
		go func() {
			defer close(got)
			for change, err := range c.Follow(ctx, strictkv.Position{}) {
				if err != nil {
					assert.ErrorIs(t, err, context.Canceled)
					continue
				}
				if change.Pass == nil {
					got <- seen{string(change.Value), time.Since(begun)}
				}
			}
		}()
		time.Sleep(time.Second)
		require.NoError(t, c.Write(t.Context(), []byte("k"), []byte("own")))
		assert.Equal(t, seen{"own", time.Second}, <-got)
		require.NoError(t, other.Write(t.Context(), []byte("k"), []byte("another's")))
		assert.Equal(t, seen{"another's", strictkv.DefaultFollowEvery}, <-got)
		cancel()
		_, more := <-got
		assert.False(t, more)
	})
}

// An observer is told of each pass.
func TestFollowIsATask(t *testing.T) {
	var passes []strictkv.WorkEnd
	_, c := openDB(t, memory.New(), strictkv.WithObserver(strictkv.Observer{
		WorkEnd: func(_ context.Context, e strictkv.WorkEnd) {
			if e.Task == strictkv.TaskFollow {
				passes = append(passes, e)
			}
		},
	}))
	require.NoError(t, c.Write(t.Context(), []byte("k"), []byte("v")))
	newReplica().follow(t, c, strictkv.FollowInstant())
	require.Len(t, passes, 2)
	assert.Equal(t, "follow", passes[0].Task.String())
	assert.False(t, passes[0].Task.Background())
	assert.NoError(t, passes[0].Err)
	assert.Positive(t, passes[0].Objects)
}

func TestCloseEndsFollowers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, c := openDB(t, memory.New())
		errs := make(chan error)
		for range 2 {
			go func() {
				var last error
				for _, err := range c.Follow(t.Context(), strictkv.Position{}) {
					last = errors.Join(last, err)
				}
				errs <- last
			}()
		}
		time.Sleep(7 * time.Second)
		begun := time.Now()
		require.NoError(t, db.Close(t.Context()))
		assert.Zero(t, time.Since(begun))
		require.ErrorIs(t, <-errs, strictkv.ErrClosed)
		require.ErrorIs(t, <-errs, strictkv.ErrClosed)
		for _, err := range c.Follow(t.Context(), strictkv.Position{}) {
			require.ErrorIs(t, err, strictkv.ErrClosed)
		}
	})
}

// The states of the whole that a follower of instants is given are those that a writer made, who
// writes all keys in each transaction.
func TestFollowInstantYieldsStatesOfTheWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New()
		db, c := openDB(t, b)
		d := db.Collection([]byte("d"))
		reader, _ := openDB(t, b)
		keys := []string{"a", "b", "c"}
		done := make(chan error)
		go func() {
			for n := range 200 {
				time.Sleep(time.Duration(n%7) * 100 * time.Millisecond)
				err := db.Tx(t.Context(), func(tx *strictkv.Tx) error {
					for _, k := range keys {
						v := fmt.Append(nil, n)
						err := errors.Join(tx.Write(c, []byte(k), v), tx.Write(d, []byte(k), v))
						if err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					done <- err
					return
				}
			}
			close(done)
		}()
		state, passes := map[string]string{}, 0
		for change, err := range reader.Follow(t.Context(), strictkv.Position{},
			strictkv.FollowInstant(), strictkv.FollowEvery(time.Second)) {
			require.NoError(t, err)
			if change.Pass == nil {
				key := fmt.Sprintf("%q/%s", change.Collection.Path(), change.Key)
				state[key] = string(change.Value)
				continue
			}
			assert.True(t, change.Pass.Instant)
			passes++
			var values []string
			for v := range maps.Values(state) {
				values = append(values, v)
			}
			for _, v := range values {
				require.Equal(t, values[0], v)
			}
			if len(values) > 0 && values[0] == "199" {
				break
			}
		}
		require.NoError(t, <-done)
		assert.Greater(t, passes, 10)
	})
}
