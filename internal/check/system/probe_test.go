package system_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/azure"
	"github.com/strictkv/strictkv/backend/azure/azuretest"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/s3"
	"github.com/strictkv/strictkv/backend/s3/s3test"
	"github.com/strictkv/strictkv/backend/simulated"
)

// TestCostOfTheProbe pins what it costs to create a database, or to open an old one for the
// first time, and that it costs a GET from then on.
func TestCostOfTheProbe(t *testing.T) {
	never := strictkv.WithProbe(strictkv.ProbeNever)
	for name, opts := range map[string][]strictkv.Option{
		"create": nil, "open an old one": {never},
	} {
		synctest.Test(t, func(t *testing.T) {
			bucket := memory.New()
			if opts != nil {
				db, err := strictkv.Open(t.Context(), "db", bucket, opts...)
				require.NoError(t, err)
				require.NoError(t, db.Close(t.Context()))
			}
			for _, x := range []struct {
				rounds time.Duration
				want   simulated.Counts
			}{
				{6, simulated.Counts{Gets: 6, Puts: 9, Deletes: 4, Lists: 2}},
				{1, simulated.Counts{Gets: 1}},
			} {
				net := simulated.New(bucket, nil, simulated.Constant(latency))
				begun := time.Now()
				db, err := strictkv.Open(t.Context(), "db", net)
				require.NoError(t, err)
				assert.Equal(t, x.rounds*latency, time.Since(begun), name)
				assert.Equal(t, x.want, net.Counts(), name)
				assert.False(t, db.Stats().KeepsTombstones, name)
				assert.Equal(t, 1, bucket.Len(), "meta is left")
				require.NoError(t, db.Close(t.Context()))
			}
		})
	}
}

// careless is a store in memory that ignores some conditions.
type careless struct {
	*memory.Backend
	puts, deletes bool
}

func (c careless) Put(
	ctx context.Context, name string, data []byte, cond backend.Condition,
) (backend.Stamp, error) {
	if o, err := c.Get(ctx, name, ""); c.puts && err == nil {
		cond = backend.IfVersion(o.Version)
	}
	return c.Backend.Put(ctx, name, data, cond)
}

func (c careless) Delete(ctx context.Context, name string, v backend.Version) error {
	if o, err := c.Get(ctx, name, ""); c.deletes && err == nil {
		v = o.Version
	}
	return c.Backend.Delete(ctx, name, v)
}

// TestUnsupported: a store that would lose updates is refused, unless the user insists.
func TestUnsupported(t *testing.T) {
	bucket := careless{Backend: memory.New(), puts: true}
	_, err := strictkv.Open(t.Context(), "db", bucket)
	require.ErrorIs(t, err, strictkv.ErrUnsupported)
	assert.ErrorContains(t, err, "lacks If-None-Match of a PUT, If-Match of a PUT")
	for _, other := range []error{
		strictkv.ErrNotFound, strictkv.ErrUnavailable, strictkv.ErrInvalid, strictkv.ErrCorrupt,
	} {
		assert.NotErrorIs(t, err, other)
	}
	assert.Zero(t, bucket.Len(), "nothing is left there")

	db, err := strictkv.Open(t.Context(), "db", bucket, strictkv.WithProbe(strictkv.ProbeNever))
	require.NoError(t, err)
	assert.True(t, db.Stats().KeepsTombstones, "nothing is known of it")
	require.NoError(t, db.Close(t.Context()))
	_, err = strictkv.Open(t.Context(), "db", bucket)
	require.ErrorIs(t, err, strictkv.ErrUnsupported, "the next one does ask")
}

// TestKeepsTombstones: Stats tell what the probe has found, now or then.
func TestKeepsTombstones(t *testing.T) {
	bucket := careless{Backend: memory.New(), deletes: true}
	opened := func(b backend.Backend, opts ...strictkv.Option) strictkv.Stats {
		db, err := strictkv.Open(t.Context(), "db", b, opts...)
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close(t.Context())) }()
		return db.Stats()
	}
	assert.True(t, opened(bucket).KeepsTombstones)
	s := opened(bucket)
	assert.True(t, s.KeepsTombstones)
	assert.EqualValues(t, 1, s.Gets)
	bucket.deletes = false // the store has got better
	assert.True(t, opened(bucket).KeepsTombstones)
	assert.False(t, opened(bucket, strictkv.WithProbe(strictkv.ProbeAgain)).KeepsTombstones)
	assert.False(t, opened(bucket).KeepsTombstones)
}

// TestStandInsAreProbed: what the adapters' stand-ins are found to do. The bare gofakes3
// ignores the condition of a DELETE.
func TestStandInsAreProbed(t *testing.T) {
	bucketS3 := func(t *testing.T, s *s3test.Server, opts ...s3.Option) backend.Backend {
		c := s.Client(t)
		return s3.New(c, s3test.Bucket(t, c), opts...)
	}
	for _, x := range []struct {
		name  string
		open  func(t *testing.T) backend.Backend
		keeps bool
	}{
		{"folder", func(t *testing.T) backend.Backend { return folder.New(t.TempDir()) }, false},
		{"gcs", func(t *testing.T) backend.Backend {
			return gcs.New(gcstest.New(t).Bucket(t))
		}, false},
		{"azure", func(t *testing.T) backend.Backend {
			return azure.New(azuretest.New(t).Container(t))
		}, false},
		{"s3", func(t *testing.T) backend.Backend {
			return bucketS3(t, s3test.GoFakes3(t))
		}, false},
		{"s3 without conditional delete", func(t *testing.T) backend.Backend {
			return bucketS3(t, s3test.GoFakes3(t), s3.WithoutConditionalDelete())
		}, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			bucket := x.open(t)
			for range 2 {
				db, err := strictkv.Open(t.Context(), "db", bucket)
				require.NoError(t, err)
				assert.Equal(t, x.keeps, db.Stats().KeepsTombstones)
				require.NoError(t, db.Close(t.Context()))
			}
			page, err := bucket.List(t.Context(), backend.ListOptions{})
			require.NoError(t, err)
			assert.Len(t, page.Objects, 1, "meta is left")
		})
	}
}

// TestProbeInBadWeather: many open one new database at once, through a network that harms
// half of all requests. All find the store fit, and the same database.
func TestProbeInBadWeather(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			bucket := memory.New()
			const openers = 4
			var opened errgroup.Group
			for i := range uint64(openers) {
				net := faulty.New(bucket, faulty.Options{
					Seed: seed*openers + i, Delay: 0.5, DelayMax: time.Second, FailBefore: 0.1,
					LoseRequest: 0.1, LoseAnswer: 0.1, Duplicate: 0.1, Late: 0.1,
				})
				opened.Go(func() error { return openAndWrite(t.Context(), net, []byte{byte(i)}) })
			}
			require.NoError(t, opened.Wait())
			db, err := strictkv.Open(t.Context(), "db", bucket)
			require.NoError(t, err)
			assert.False(t, db.Stats().KeepsTombstones)
			for i := range byte(openers) {
				_, err := db.Collection([]byte("c")).Read(t.Context(), []byte{i})
				assert.NoError(t, err, "written by opener %d", i)
			}
			require.NoError(t, db.Close(t.Context()))
		})
	}
}

// openAndWrite opens the database, however often that takes, and writes a key.
func openAndWrite(ctx context.Context, b *faulty.Backend, key []byte) error {
	for {
		db, err := strictkv.Open(ctx, "db", b)
		if errors.Is(err, strictkv.ErrUnavailable) || errors.Is(err, backend.ErrThrottled) {
			continue
		}
		if err != nil {
			return err
		}
		write := func() error { return db.Collection([]byte("c")).Write(ctx, key, nil) }
		for err = write(); err != nil && ctx.Err() == nil; {
			err = write()
		}
		return errors.Join(err, db.Close(ctx), b.Wait(ctx))
	}
}

// TestSweepKeepsTombstones: where the store is not known to honour the condition of a DELETE,
// a sweep settles and removes all else.
func TestSweepKeepsTombstones(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		bucket := careless{Backend: memory.New(), deletes: keeps}
		db, err := strictkv.Open(t.Context(), "db", bucket, strictkv.WithInlineMax(1))
		require.NoError(t, err)
		c := db.Collection([]byte("c"))
		require.NoError(t, c.Write(t.Context(), []byte("key"), []byte("external")))
		require.NoError(t, c.Delete(t.Context(), []byte("key")))
		require.NoError(t, db.Close(t.Context()))
		_, err = bucket.Put(t.Context(), "db/clock.00000000000000000000000000000001._", nil,
			backend.IfAbsent())
		require.NoError(t, err)

		db, err = strictkv.Open(t.Context(), "db", bucket)
		require.NoError(t, err)
		r, err := db.Sweep(t.Context(), strictkv.SweepOptions{Horizon: -1})
		require.NoError(t, err)
		assert.Equal(t, keeps, r.Tombstones == 0)
		assert.EqualValues(t, 1, r.Clocks, "what a probe has left")
		left := map[bool]int{true: 2, false: 1}[keeps]
		assert.Equal(t, left, bucket.Len(), "meta and the tombstone")
		require.NoError(t, db.Close(t.Context()))
	}
}
