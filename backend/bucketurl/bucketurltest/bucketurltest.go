// Package bucketurltest runs the stand-ins for the stores of all clouds in tests, and
// names a bucket in each by a URL that package bucketurl opens, in this process or in
// those that a test starts.
//
// fake-gcs-server, azuretest and gofakes3 run within the process. Azurite, versitygw
// and moto are run if the environment says where they are; see packages azuretest and
// s3test.
package bucketurltest

import (
	"net/url"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/azure/azuretest"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
	"github.com/strictkv/strictkv/backend/s3/s3test"
)

// Store is a stand-in for a cloud's store.
type Store struct {
	// Name is the program's.
	Name string
	// bucket starts the store and makes a bucket.
	bucket func(testing.TB, way) string
}

// way returns the URL by which clients reach the store at a URL.
type way func(url string) string

// Stores are all stand-ins.
var Stores = []Store{
	{"fake-gcs-server", inGCS},
	{"azuretest", func(t testing.TB, w way) string { return inAzure(t, azuretest.New(t), w) }},
	{"Azurite", func(t testing.TB, w way) string { return inAzure(t, azuretest.Start(t), w) }},
	{"gofakes3", func(t testing.TB, w way) string { return inS3(t, s3test.GoFakes3(t), w) }},
	{"versitygw", func(t testing.TB, w way) string {
		return inS3(t, s3test.VersityGW(t), w) + "&conditional_delete=false"
	}},
	{"moto", func(t testing.TB, w way) string { return inS3(t, s3test.Moto(t), w) }},
}

// Bucket starts the store, makes a bucket, and returns its URL. Until the test ends,
// the environment has what bucketurl needs beside the URL; so one test uses one store,
// and not in parallel with others. The test is skipped, or fails, if the store is not
// there.
func (s Store) Bucket(t testing.TB) string {
	t.Helper()
	return s.BucketBehind(t, func(url string) string { return url })
}

// BucketBehind is Bucket for clients behind a proxy: proxy is told the URL of the
// store, such as "http://127.0.0.1:9000", and returns its own.
func (s Store) BucketBehind(t testing.TB, proxy func(url string) string) string {
	t.Helper()
	return s.bucket(t, proxy)
}

func inGCS(t testing.TB, w way) string {
	s := gcstest.New(t)
	bucket := s.Bucket(t).BucketName()
	t.Setenv("STORAGE_EMULATOR_HOST", w(s.URL()))
	return "gs://" + bucket + "/part"
}

func inAzure(t testing.TB, s *azuretest.Server, w way) string {
	u, err := url.Parse(s.Container(t).URL())
	require.NoError(t, err)
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", azuretest.ConnectionString(w(s.URL())))
	return "azblob://" + path.Base(u.Path) + "/part"
}

func inS3(t testing.TB, s *s3test.Server, w way) string {
	client := s.Client(t)
	bucket := s3test.Bucket(t, client)
	keys, err := client.Options().Credentials.Retrieve(t.Context())
	require.NoError(t, err)
	t.Setenv("AWS_ACCESS_KEY_ID", keys.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", keys.SecretAccessKey)
	query := url.Values{"path_style": {"true"}, "endpoint": {w(s.URL())}}
	return "s3://" + bucket + "/part?" + query.Encode()
}
