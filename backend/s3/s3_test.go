package s3_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/backendtest"
	"github.com/strictkv/strictkv/backend/s3"
	"github.com/strictkv/strictkv/backend/s3/s3test"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var looking = []s3.Option{s3.WithoutConditionalDelete()}

func TestConformance(t *testing.T) {
	for _, way := range []struct {
		name    string
		start   func(testing.TB) *s3test.Server
		options []s3.Option
		lacks   backendtest.Harness
	}{
		{"GoFakes3", s3test.GoFakes3, nil, backendtest.Harness{ContentVersions: true}},
		{"WithoutConditionalDelete", s3test.GoFakes3, looking,
			backendtest.Harness{ContentVersions: true, NoConditionalDelete: true}},
		{"VersityGW", s3test.VersityGW, looking, backendtest.Harness{
			ContentVersions: true, NoConditionalDelete: true, LaggingVersions: true,
			PathNames: true}},
		{"Moto", s3test.Moto, nil, backendtest.Harness{ContentVersions: true}},
	} {
		t.Run(way.name, func(t *testing.T) {
			if testing.Short() && way.name == "Moto" {
				t.Skip("moto takes 20 s: run it without -short")
			}
			t.Parallel()
			s := way.start(t)
			backendtest.Run(t, func(t *testing.T) backendtest.Harness {
				client := s.Client(t)
				bucket := s3test.Bucket(t, client)
				h := way.lacks
				h.Backend, h.Clock = s3.New(client, bucket, way.options...), time.Now
				h.SecondClient = func() backend.Backend {
					return s3.New(s.Client(t), bucket, way.options...)
				}
				h.NoBucket = s3.New(client, "missing", way.options...)
				return h
			})
		})
	}
}
