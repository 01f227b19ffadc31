package strictkv_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/cache"
)

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		release, committed := make(chan struct{}), make(chan error, 1)
		go func() {
			committed <- s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
				<-release
				return tx.Write(s.c, []byte("key"), []byte("while closing"))
			})
		}()
		synctest.Wait()

		short, cancel := context.WithTimeout(s.ctx, time.Second)
		defer cancel()
		start := time.Now()
		require.ErrorIs(t, s.db.Close(short), context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(start))

		var closed atomic.Int64
		for range 2 {
			go func() {
				assert.NoError(t, s.db.Close(s.ctx))
				closed.Add(1)
			}()
		}
		synctest.Wait()
		assert.Zero(t, closed.Load(), "Close waits for what is running")
		require.ErrorIs(t, s.c.Write(s.ctx, []byte("new"), nil), strictkv.ErrClosed)
		close(release)
		require.NoError(t, <-committed)
		synctest.Wait()
		assert.EqualValues(t, 2, closed.Load())
		require.NoError(t, s.db.Close(s.ctx), "once more")
		s.sees(t, "key", "while closing")
	})
}

func TestStatsSub(t *testing.T) {
	var all, earlier strictkv.Stats
	counters := reflect.TypeFor[strictkv.Stats]()
	last := counters.NumField() - 1
	assert.Equal(t, "KeepsTombstones", counters.Field(last).Name)
	reflect.ValueOf(&all).Elem().Field(last).SetBool(true)
	for i := range last {
		reflect.ValueOf(&all).Elem().Field(i).SetInt(int64(100 + i))
		reflect.ValueOf(&earlier).Elem().Field(i).SetInt(int64(10 * i))
	}
	rest := reflect.ValueOf(all.Sub(earlier))
	assert.True(t, rest.Field(last).Bool(), "what is no counter stays")
	for i := range last {
		assert.EqualValues(t, 100-9*i, rest.Field(i).Int(), counters.Field(i).Name)
	}
}

func TestNoCache(t *testing.T) {
	s := newShop(t, strictkv.WithCacheSize(0))
	for i := range 5 {
		require.NoError(t, s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
			if _, err := tx.Read(s.c, []byte("key")); err != nil {
				return err
			}
			return errors.Join(tx.Write(s.c, []byte("key"), fmt.Append(nil, i)),
				tx.Write(s.c, []byte("new"), fmt.Append(nil, i)))
		}))
		s.sees(t, "key", fmt.Sprint(i))
		s.sees(t, "new", fmt.Sprint(i))
	}
	_, err := s.c.ReadWeak(s.ctx, []byte("key"), time.Hour)
	require.NoError(t, err)
	stats := s.db.Stats()
	assert.Zero(t, stats.NotModified+stats.CacheHits)
}

// TestSharedCache: handles that share a cache learn from each other, and take nothing
// for theirs that belongs to another database of the same name.
func TestSharedCache(t *testing.T) {
	shared := cache.New(1 << 20)
	s, stranger := newShop(t, strictkv.WithCache(shared)), newShop(t, strictkv.WithCache(shared))
	require.NoError(t, stranger.c.Write(s.ctx, []byte("key"), []byte("elsewhere")))
	require.NoError(t, s.c.Write(s.ctx, []byte("key"), []byte("here")))
	before := s.other.Stats()
	v, err := s.theirs().ReadWeak(s.ctx, []byte("key"), time.Hour)
	require.NoError(t, err)
	assert.Equal(t, "here", string(v))
	assert.Zero(t, s.other.Stats().Sub(before).Gets, "the other handle has just seen it")

	var wg sync.WaitGroup
	for _, c := range []*strictkv.Collection{s.c, s.theirs(), stranger.c} {
		for range 50 {
			wg.Go(func() {
				assert.NoError(t, c.Update(s.ctx, []byte("sum"), func(old []byte) ([]byte, error) {
					return append(old, '|'), nil
				}))
			})
		}
	}
	wg.Wait()
	s.sees(t, "sum", strings.Repeat("|", 100))
	stranger.sees(t, "sum", strings.Repeat("|", 50))
	stranger.sees(t, "key", "elsewhere")
}
