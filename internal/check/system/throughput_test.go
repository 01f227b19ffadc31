package system_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/azure"
	"github.com/strictkv/strictkv/backend/azure/azuretest"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
	"github.com/strictkv/strictkv/backend/s3"
	"github.com/strictkv/strictkv/backend/s3/s3test"
)

const (
	throughputWorkers = 16
	throughputSize    = 1 << 10
	// A side runs for so long, and so often, before its rate is taken: between two
	// slices it is the other's turn, so that what else the machine does slows both.
	throughputSlice  = 100 * time.Millisecond
	throughputSlices = 20
)

// put is a conditional write on an SDK: of an object that is absent if etag is empty, and
// else still at etag. It returns the new one.
type put func(ctx context.Context, name, etag string, value []byte) (string, error)

// throughputs are an adapter and a bare loop over the same bucket and client.
var throughputs = []struct {
	name  string
	start func(*testing.B) (put, backend.Backend)
}{
	{"fake-gcs-server", func(b *testing.B) (put, backend.Backend) {
		bucket := gcstest.New(b).DirectBucket(b)
		return putGCS(bucket), gcs.New(bucket)
	}},
	{"azuretest", func(b *testing.B) (put, backend.Backend) {
		c := azuretest.New(b).Container(b)
		return putAzure(c), azure.New(c)
	}},
	{"Azurite", func(b *testing.B) (put, backend.Backend) {
		c := azuretest.Container(b, azuretest.Start(b).DirectURL())
		return putAzure(c), azure.New(c)
	}},
	{"gofakes3", func(b *testing.B) (put, backend.Backend) {
		c := s3test.GoFakes3(b).Client(b)
		bucket := s3test.Bucket(b, c)
		return putS3(c, bucket), s3.New(c, bucket)
	}},
	{"versitygw", func(b *testing.B) (put, backend.Backend) {
		c := s3test.VersityGW(b).Client(b)
		bucket := s3test.Bucket(b, c)
		return putS3(c, bucket), s3.New(c, bucket, s3.WithoutConditionalDelete())
	}},
}

// putGCS takes an object's generation for its etag.
func putGCS(bucket *storage.BucketHandle) put {
	var generations sync.Map // string -> int64
	return func(ctx context.Context, name, etag string, value []byte) (string, error) {
		cond := storage.Conditions{DoesNotExist: true}
		if g, ok := generations.Load(name); ok && etag != "" {
			cond = storage.Conditions{GenerationMatch: g.(int64)}
		}
		o := bucket.Object(name).If(cond).Retryer(storage.WithPolicy(storage.RetryNever))
		w := o.NewWriter(ctx)
		w.ChunkSize = 0
		if _, err := w.Write(value); err != nil {
			return "", err
		}
		if err := w.Close(); err != nil {
			return "", err
		}
		generations.Store(name, w.Attrs().Generation)
		return w.Attrs().Etag, nil
	}
}

func putAzure(c *container.Client) put {
	return func(ctx context.Context, name, etag string, value []byte) (string, error) {
		tag := azcore.ETag(etag)
		cond := &blob.ModifiedAccessConditions{IfMatch: &tag}
		if etag == "" {
			tag = azcore.ETagAny
			cond = &blob.ModifiedAccessConditions{IfNoneMatch: &tag}
		}
		sum := md5.Sum(value) // Without one the stand-in refuses it.
		body := streaming.NopCloser(bytes.NewReader(value))
		r, err := c.NewBlockBlobClient(name).Upload(ctx, body, &blockblob.UploadOptions{
			HTTPHeaders: &blob.HTTPHeaders{
				BlobContentType: to.Ptr("application/octet-stream"), BlobContentMD5: sum[:],
			},
			TransactionalValidation: blob.TransferValidationTypeMD5(sum[:]),
			AccessConditions:        &blob.AccessConditions{ModifiedAccessConditions: cond},
		})
		if err != nil {
			return "", err
		}
		return string(*r.ETag), nil
	}
}

func putS3(c *awss3.Client, bucket string) put {
	return func(ctx context.Context, name, etag string, value []byte) (string, error) {
		in := &awss3.PutObjectInput{Bucket: &bucket, Key: &name, Body: bytes.NewReader(value)}
		if etag == "" {
			in.IfNoneMatch = aws.String("*")
		} else {
			in.IfMatch = &etag
		}
		out, err := c.PutObject(ctx, in)
		if err != nil {
			return "", err
		}
		return *out.ETag, nil
	}
}

// BenchmarkThroughput compares read-modify-writes of distinct warm keys, 16 at once, with
// a bare loop of conditional writes on the SDK that write as long values to the same
// server:
//
//	go test -run '^$' -bench Throughput -benchtime 5x .
//
// It reports both rates, and the median of their ratios.
func BenchmarkThroughput(b *testing.B) {
	for _, x := range throughputs {
		b.Run(x.name, func(b *testing.B) {
			put, store := x.start(b)
			loop := bareLoop(put)
			db, err := strictkv.Open(b.Context(), "bench", store)
			require.NoError(b, err)
			c := db.Collection([]byte("c"))
			value := make([]byte, throughputSize)
			update := func(ctx context.Context, w int) error {
				return c.Update(ctx, keyOf(w), func([]byte) ([]byte, error) { return value, nil })
			}
			for w := range throughputWorkers {
				require.NoError(b, errors.Join(loop(b.Context(), w), update(b.Context(), w)))
			}
			var ratios, bare, ours []float64
			b.ResetTimer()
			for range b.N {
				p, q := compare(b, loop, update)
				bare, ours, ratios = append(bare, p), append(ours, q), append(ratios, q/p)
			}
			b.ReportMetric(0, "ns/op") // It says nothing: each takes the same time.
			b.ReportMetric(median(bare), "bare/s")
			b.ReportMetric(median(ours), "tx/s")
			b.ReportMetric(median(ratios), "ratio")
			require.NoError(b, db.Close(b.Context()))
		})
	}
}

// bareLoop makes the step of a loop in which each worker writes an object of its own.
func bareLoop(put put) func(context.Context, int) error {
	value := make([]byte, throughputSize)
	etags := make([]string, throughputWorkers)
	return func(ctx context.Context, w int) (err error) {
		etags[w], err = put(ctx, "bare/"+string(keyOf(w)), etags[w], value)
		return err
	}
}

// compare runs two kinds of steps in turn, each by all workers, and returns how many of
// each were done in a second.
func compare(b *testing.B, p, q func(context.Context, int) error) (ofP, ofQ float64) {
	var rates [2]float64
	for range throughputSlices {
		for i, step := range []func(context.Context, int) error{p, q} {
			rates[i] += rate(b, step) / throughputSlices
		}
	}
	return rates[0], rates[1]
}

// rate runs steps by all workers for a slice of time, and returns how many were done in a
// second.
func rate(b *testing.B, step func(context.Context, int) error) float64 {
	var done atomic.Int64
	var workers errgroup.Group
	start := time.Now()
	for w := range throughputWorkers {
		workers.Go(func() error {
			for time.Since(start) < throughputSlice {
				if err := step(b.Context(), w); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
	}
	require.NoError(b, workers.Wait())
	return float64(done.Load()) / time.Since(start).Seconds()
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
