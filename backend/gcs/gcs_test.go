package gcs_test

import (
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"go.uber.org/goleak"
	"google.golang.org/api/option"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/backendtest"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
)

func TestMain(m *testing.M) {
	gcstest.Main()
	// A library of the SDK starts one goroutine for the life of the process.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func TestConformance(t *testing.T) {
	for _, way := range []struct {
		name    string
		start   func(testing.TB) *gcstest.Server
		options []option.ClientOption
	}{
		{"JSON", gcstest.New, []option.ClientOption{storage.WithJSONReads()}},
		{"XML", gcstest.New, nil},
		{"Process", gcstest.NewProcess, []option.ClientOption{storage.WithJSONReads()}},
	} {
		t.Run(way.name, func(t *testing.T) {
			if testing.Short() && way.name != "JSON" {
				t.Skip("one way to the store is enough for a short test: run all without -short")
			}
			t.Parallel()
			s := way.start(t)
			backendtest.Run(t, func(t *testing.T) backendtest.Harness {
				client := gcstest.Client(t, s.URL(), way.options...)
				bucket := gcstest.Bucket(t, client)
				return backendtest.Harness{
					Backend: gcs.New(bucket), Clock: time.Now,
					SecondClient: func() backend.Backend {
						other := gcstest.Client(t, s.URL(), way.options...)
						return gcs.New(other.Bucket(bucket.BucketName()))
					},
					NoBucket: gcs.New(client.Bucket("missing")),
				}
			})
		})
	}
}
