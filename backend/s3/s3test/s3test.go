// Package s3test runs stand-ins for Amazon S3 in tests: gofakes3 within the
// process, versitygw and moto as processes of their own. Each runs on a free port
// of 127.0.0.1, and stops when the test that started it ends.
//
// What they get wrong. All: an ETag is a hash of the content, as it is in most
// buckets of the real store. The conditions of a DELETE are ignored by gofakes3,
// which is corrected here, and not atomic in versitygw. moto compares and writes in
// two steps, which is corrected by one request at a time, and verifies no checksum
// of an upload. While an object is being replaced, versitygw may answer a GET with
// the new bytes and the old ETag. Names are paths of files in versitygw: no name
// may go on behind another with a slash, and none of its segments may be empty, a
// dot or two, or longer than 255 bytes.
package s3test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
)

const (
	region = "us-east-1"
	access = "strictkv"
	secret = "strictkv-secret"
)

var buckets atomic.Int64 // made by this process

// Server is a running store.
type Server struct{ url string }

// URL is the store's address, of the form http://127.0.0.1:port.
func (s *Server) URL() string { return s.url }

// Client returns a client of the store, whatever the environment says.
func (s *Server) Client(t testing.TB, options ...func(*awss3.Options)) *awss3.Client {
	t.Helper()
	return Client(t, s.url, options...)
}

// Client returns a client of a store at a URL, with the credentials that the
// stand-ins expect.
func Client(t testing.TB, url string, options ...func(*awss3.Options)) *awss3.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	o := awss3.Options{
		BaseEndpoint: aws.String(url),
		UsePathStyle: true,
		Region:       region,
		Credentials:  credentials.NewStaticCredentialsProvider(access, secret, ""),
		HTTPClient:   &http.Client{Transport: transport},
	}
	return awss3.New(o, options...)
}

// Bucket makes an empty bucket, and returns its name.
func Bucket(t testing.TB, c *awss3.Client) string {
	t.Helper()
	name := fmt.Sprintf("bucket-%d", buckets.Add(1))
	_, err := c.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &name})
	require.NoError(t, err, "make a bucket")
	return name
}
