package strictkv_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
)

// held is how many bytes are in use.
func held() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// copies is a store whose answers are copies, as those of a network are.
type copies struct{ backend.Backend }

func (c copies) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	o, err := c.Backend.Get(ctx, name, known)
	o.Data = append([]byte(nil), o.Data...)
	return o, err
}

// What was told is not kept.
func TestFollowKeepsFewValues(t *testing.T) {
	const keys, size, most = 120, 1 << 20, 48 << 20
	b := memory.New()
	db, c := openDB(t, copies{b}, strictkv.WithCacheSize(0), strictkv.WithInlineMax(1))
	require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		var errs []error
		for i := range keys {
			errs = append(errs, tx.Write(c, fmt.Append(nil, i), make([]byte, size)))
		}
		return errors.Join(errs...)
	}))
	before, highest, told := held(), int64(0), 0
	for change, err := range c.Follow(t.Context(), strictkv.Position{}, strictkv.FollowOnce()) {
		require.NoError(t, err)
		if change.Pass != nil {
			continue
		}
		if told++; told%10 == 0 {
			highest = max(highest, held()-before)
		}
	}
	assert.Equal(t, keys, told)
	assert.Less(t, highest, int64(most))
}

// countsGets counts the reads of objects.
type countsGets struct {
	backend.Backend
	n atomic.Int64
}

func (c *countsGets) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	c.n.Add(1)
	return c.Backend.Get(ctx, name, known)
}

// A key whose object is damaged is looked at less and less often, like one that does not change.
func TestWatchOfADamagedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New()
		b := &countsGets{Backend: mem}
		_, c := openDB(t, b)
		_, other := openDB(t, mem)
		require.NoError(t, other.Write(t.Context(), []byte("k"), []byte("v")))
		o, err := mem.Get(t.Context(), "db/+c/=k", "")
		require.NoError(t, err)
		bad, err := mem.Put(t.Context(), "db/+c/=k", []byte("bad"), backend.IfVersion(o.Version))
		require.NoError(t, err)
		go func() {
			time.Sleep(time.Hour)
			_, err := mem.Put(t.Context(), "db/+c/=k", o.Data, backend.IfVersion(bad.Version))
			assert.NoError(t, err)
		}()
		value, failed := "", 0
		for change, err := range c.Watch(t.Context(), []byte("k")) {
			if err != nil {
				require.ErrorIs(t, err, strictkv.ErrCorrupt)
				failed++
				continue
			}
			value = string(change.Value)
			break
		}
		assert.Equal(t, "v", value)
		assert.InDelta(t, 720, failed, 20)
		assert.Less(t, b.n.Load(), int64(800))
	})
}

// What is due is told where hints begin the passes, although nobody hints at it.
func TestFollowInstantSeesWhatExpiresWithAFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := strictkv.WithFeed(strictkv.FeedOptions{})
		_, c := openDB(t, memory.New(), feed)
		begun := time.Now()
		require.NoError(t, c.Write(t.Context(), []byte("k"), []byte("v"),
			strictkv.ExpireAt(begun.Add(20*time.Second))))
		for change, err := range c.Follow(t.Context(), strictkv.Position{},
			strictkv.FollowInstant(), strictkv.FollowFullEvery(time.Hour)) {
			require.NoError(t, err)
			if change.Deleted {
				break
			}
		}
		assert.GreaterOrEqual(t, time.Since(begun), 20*time.Second)
		assert.LessOrEqual(t, time.Since(begun), 20*time.Second+2*strictkv.DefaultFollowEvery)
	})
}
