package s3test_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend/s3/s3test"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// status is that of the answer that err is, or 200.
func status(t *testing.T, err error) int {
	t.Helper()
	var e *smithyhttp.ResponseError
	if errors.As(err, &e) {
		return e.HTTPStatusCode()
	}
	require.NoError(t, err)
	return 200
}

// put makes an object of its own name.
func put(t *testing.T, c *awss3.Client, bucket, name string) *awss3.PutObjectInput {
	t.Helper()
	in := &awss3.PutObjectInput{Bucket: &bucket, Key: &name, Body: strings.NewReader(name)}
	_, err := c.PutObject(t.Context(), in)
	require.NoError(t, err)
	return in
}

// TestConditions: what gofakes3 gets wrong about conditions is corrected.
func TestConditions(t *testing.T) {
	t.Parallel()
	c := s3test.GoFakes3(t).Client(t)
	bucket := s3test.Bucket(t, c)
	put(t, c, bucket, "object")
	o, err := c.GetObject(t.Context(), &awss3.GetObjectInput{
		Bucket: &bucket, Key: aws.String("object"), ChecksumMode: "ENABLED"})
	require.NoError(t, err)
	require.NoError(t, o.Body.Close())

	remove := func(etag string) int {
		_, err := c.DeleteObject(t.Context(), &awss3.DeleteObjectInput{
			Bucket: &bucket, Key: aws.String("object"), IfMatch: &etag})
		return status(t, err)
	}
	assert.Equal(t, 412, remove(`"stale"`), "delete at a stale state")
	assert.Equal(t, 200, remove(*o.ETag))
	assert.Equal(t, 404, remove(*o.ETag), "delete of an absent object")

	_, err = c.PutObject(t.Context(), &awss3.PutObjectInput{
		Bucket: &bucket, Key: aws.String("object"), IfMatch: o.ETag})
	assert.Equal(t, 404, status(t, err), "replacement of an absent object")
	_, err = c.PutObject(t.Context(), &awss3.PutObjectInput{
		Bucket: &bucket, Key: aws.String("object"), Body: strings.NewReader("data"),
		ChecksumCRC32C: aws.String("AAAAAA==")}, func(o *awss3.Options) { o.RetryMaxAttempts = 1 })
	assert.Equal(t, 400, status(t, err), "upload with a wrong checksum")
}

// TestPages: objects and prefixes count alike, and come in one order.
func TestPages(t *testing.T) {
	t.Parallel()
	c := s3test.GoFakes3(t).Client(t)
	bucket := s3test.Bucket(t, c)
	for _, name := range []string{"a", "b/1", "b/2", "c", "d/1", "e"} {
		put(t, c, bucket, name)
	}
	list := func(after string) [][]string {
		var pages [][]string
		in := &awss3.ListObjectsV2Input{
			Bucket: &bucket, Delimiter: aws.String("/"), MaxKeys: aws.Int32(2), StartAfter: &after}
		for more := true; more; {
			out, err := c.ListObjectsV2(t.Context(), in)
			require.NoError(t, err)
			var page []string
			for _, o := range out.Contents {
				page = append(page, *o.Key)
			}
			for _, p := range out.CommonPrefixes {
				page = append(page, *p.Prefix)
			}
			pages = append(pages, page)
			in.ContinuationToken, more = out.NextContinuationToken, *out.IsTruncated
		}
		return pages
	}
	assert.Equal(t, [][]string{{"a", "b/"}, {"c", "d/"}, {"e"}}, list(""))
	assert.Equal(t, [][]string{{"c", "b/"}, {"e", "d/"}}, list("b/1"))
}
