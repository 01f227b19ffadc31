package strictkv_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
)

// BenchmarkGCS compares read-modify-writes of distinct warm keys, 16 at once, with a bare
// loop of conditional writes on the SDK that move the same bytes. Run it with -count to
// let the two alternate.
func BenchmarkGCS(b *testing.B) {
	const workers, size = 16, 1 << 10
	bucket := gcstest.New(b).DirectBucket(b)
	value := make([]byte, size)

	b.Run("bare", func(b *testing.B) {
		generations := make([]int64, workers)
		inParallel(b, workers, func(ctx context.Context, w int) error {
			o := bucket.Object("bare/" + string(keyOf(w)))
			o = o.Retryer(storage.WithPolicy(storage.RetryNever))
			cond := storage.Conditions{GenerationMatch: generations[w]}
			if generations[w] == 0 {
				cond = storage.Conditions{DoesNotExist: true}
			}
			wr := o.If(cond).NewWriter(ctx)
			wr.ChunkSize = 0
			if _, err := wr.Write(value); err != nil {
				return err
			}
			if err := wr.Close(); err != nil {
				return err
			}
			generations[w] = wr.Attrs().Generation
			return nil
		}, func(w int) error {
			r, err := bucket.Object("bare/" + string(keyOf(w))).NewReader(b.Context())
			if errors.Is(err, storage.ErrObjectNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			generations[w] = r.Attrs.Generation
			_, err = io.Copy(io.Discard, r)
			return err
		})
	})
	b.Run("strictkv", func(b *testing.B) {
		db, err := strictkv.Open(b.Context(), "bench", gcs.New(bucket))
		require.NoError(b, err)
		c := db.Collection([]byte("c"))
		update := func(ctx context.Context, w int) error {
			return c.Update(ctx, keyOf(w), func([]byte) ([]byte, error) { return value, nil })
		}
		inParallel(b, workers, update, func(w int) error { return update(b.Context(), w) })
		require.NoError(b, db.Close(b.Context()))
	})
}

// inParallel runs b.N steps by workers, after each has warmed up.
func inParallel(
	b *testing.B, workers int, step func(context.Context, int) error, warm func(int) error,
) {
	for w := range workers {
		require.NoError(b, warm(w))
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range workers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := step(b.Context(), w); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tx/s")
}
