package strictkv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/feed"
	"github.com/strictkv/strictkv/internal/keyspace"
)

var background = context.Background()

// fed opens a database with a feed. It must be closed.
func fed(t *testing.T, b backend.Backend, opts ...Option) (*DB, *Collection) {
	t.Helper()
	db, err := Open(background, "db", b, append(opts, WithFeed(FeedOptions{}))...)
	require.NoError(t, err)
	return db, db.Collection([]byte("c"))
}

func closed(t *testing.T, db *DB) {
	t.Helper()
	require.NoError(t, db.Close(background))
}

func TestSubscribersAreToldWhatTransactionsWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(background, "db", memory.New())
		require.NoError(t, err)
		defer closed(t, db)
		c := db.Collection([]byte("c"))
		require.NoError(t, c.Write(background, []byte("before"), nil))
		s := db.subscribe()
		defer s.Stop()
		for _, x := range []struct {
			what string
			do   func() error
			want []string
		}{
			{"direct", func() error { return c.Write(background, []byte("a"), nil) },
				[]string{"+c/=a"}},
			{"parallel", func() error {
				return db.Tx(background, func(tx *Tx) error {
					return errors.Join(tx.Write(c, []byte("b"), nil), tx.Write(c, []byte("a"), nil))
				})
			}, []string{"+c/=a", "+c/=b"}},
			{"validated", func() error {
				return db.Tx(background, func(tx *Tx) error {
					_, err := tx.Read(c, []byte("a"))
					return errors.Join(err, tx.Delete(c, []byte("b")))
				})
			}, []string{"+c/=b"}},
			{"update", func() error {
				return c.Update(background, []byte("a"), func(v []byte) ([]byte, error) {
					return append(v, 1), nil
				})
			}, []string{"+c/=a"}},
			{"load", func() error {
				_, err := c.Load(background, func(yield func(k, v []byte) bool) {
					yield([]byte("l"), nil)
				}, LoadOptions{})
				return err
			}, []string{"+c/=l"}},
			{"drop", func() error {
				_, err := c.Drop(background)
				return err
			}, []string{"+c/=a", "+c/=before", "+c/=l"}},
			{"read only", func() error {
				_, err := c.Read(background, []byte("a"))
				assert.ErrorIs(t, err, ErrNotFound)
				return nil
			}, nil},
			{"failed", func() error {
				err := db.Tx(background, func(tx *Tx) error {
					return errors.Join(tx.Write(c, []byte("b"), nil), assert.AnError)
				})
				assert.ErrorIs(t, err, assert.AnError)
				return nil
			}, nil},
		} {
			require.NoError(t, x.do(), x.what)
			assert.ElementsMatch(t, x.want, s.Now().Names, x.what)
		}
	})
}

func TestAFeedTellsOtherHandles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := memory.New()
		db, c := fed(t, bucket)
		other, d := fed(t, bucket)
		r := other.hints()
		next := func() feed.Hints {
			h, err := r.Next(background)
			require.NoError(t, err)
			return h
		}
		assert.True(t, next().Missed, "the first time")
		for i := range 5 {
			key := fmt.Appendf(nil, "%d", i)
			require.NoError(t, c.Write(background, key, nil))
			require.NoError(t, d.Write(background, key, nil))
			time.Sleep(time.Second)
			assert.Equal(t, feed.Hints{Names: []string{"+c/=" + string(key)}}, next(),
				"and not what it has written itself")
		}
		closed(t, db)
		closed(t, other)
		assert.EqualValues(t, 5, db.Stats().FeedWritten)
		assert.Zero(t, db.Stats().FeedDropped)
	})
}

func TestAFeedIsNeverInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := faulty.New(memory.New(), faulty.Options{
			Before: func(ctx context.Context, op faulty.Op) error {
				if op.Kind == faulty.Put && keyspace.IsHint(op.Name[len("db/"):]) {
					<-ctx.Done()
				}
				return nil
			},
		})
		db, c := fed(t, stuck, WithConcurrency(1))
		begun := time.Now()
		for range 100 {
			require.NoError(t, c.Write(background, []byte("k"), nil))
		}
		assert.Zero(t, time.Since(begun))
		closed(t, db)
		assert.LessOrEqual(t, time.Since(begun), 3*time.Second)
		synctest.Wait()
	})
}

func TestAReadOnlyHandleHasNoFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := memory.New()
		db, _ := fed(t, bucket)
		closed(t, db)
		db, c := fed(t, bucket, ReadOnly())
		_, err := c.Read(background, []byte("k"))
		require.ErrorIs(t, err, ErrNotFound)
		assert.Nil(t, db.feed)
		assert.Zero(t, db.Stats().FeedWritten)
		closed(t, db)
	})
}

func TestHintsAreCountedCheckedSweptAndDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := memory.New()
		var mu sync.Mutex // guards kinds and tasks
		kinds, tasks := map[string]int{}, map[string]int{}
		db, c := fed(t, bucket, WithObserver(Observer{
			RequestEnd: func(_ context.Context, e RequestEnd) {
				mu.Lock()
				defer mu.Unlock()
				kinds[e.Op.String()+" "+e.Kind.String()]++
			},
			WorkEnd: func(_ context.Context, e WorkEnd) {
				mu.Lock()
				defer mu.Unlock()
				assert.Equal(t, e.Task.String() == "feed", e.Task == TaskFeed)
				tasks[e.Task.String()]++
			},
		}))
		for range 3 {
			require.NoError(t, c.Write(background, []byte("k"), nil))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		mu.Lock()
		assert.Equal(t, 3, kinds["put feed"])
		assert.Equal(t, 3, tasks["feed"])
		mu.Unlock()
		u, err := db.Usage(background, nil)
		require.NoError(t, err)
		assert.EqualValues(t, 3, u.Feed.Objects)
		assert.Positive(t, u.Feed.Bytes)
		r, err := db.Check(background, CheckOptions{})
		require.NoError(t, err)
		assert.Empty(t, r.Problems)
		assert.EqualValues(t, 3, r.Hints)
		closed(t, db)
		time.Sleep(time.Hour)
		db, _ = fed(t, bucket)
		swept, err := db.Sweep(background, SweepOptions{DryRun: true})
		require.NoError(t, err)
		assert.EqualValues(t, 3, swept.Hints)
		swept, err = db.Sweep(background, SweepOptions{})
		require.NoError(t, err)
		assert.EqualValues(t, 3, swept.Hints)
		u, err = db.Usage(background, nil)
		require.NoError(t, err)
		assert.Zero(t, u.Feed)
		closed(t, db)

		db, c = fed(t, bucket)
		require.NoError(t, c.Write(background, []byte("k"), nil))
		removed, err := db.Drop(background)
		require.NoError(t, err)
		assert.EqualValues(t, 3, removed, "meta, the key, and a hint")
		assert.Zero(t, bucket.Len())
	})
}
