package s3_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/s3"
	"github.com/strictkv/strictkv/backend/s3/s3test"
)

// size is that of a typical cell, in bytes.
const size = 1 << 10

func BenchmarkGet(b *testing.B) {
	client := s3test.GoFakes3(b).Client(b)
	bucket := s3test.Bucket(b, client)
	store := s3.New(client, bucket)
	v, err := store.Put(b.Context(), "object", make([]byte, size), backend.IfAbsent())
	require.NoError(b, err)
	b.Run("adapter", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := store.Get(b.Context(), "object", "")
			require.NoError(b, err)
		}
	})
	b.Run("SDK", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			out, err := client.GetObject(b.Context(),
				&awss3.GetObjectInput{Bucket: &bucket, Key: aws.String("object")})
			require.NoError(b, err)
			_, err = io.ReadAll(out.Body)
			require.NoError(b, err)
			require.NoError(b, out.Body.Close())
		}
	})
	b.Run("not modified", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := store.Get(b.Context(), "object", v.Version)
			require.ErrorIs(b, err, backend.ErrNotModified)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	client := s3test.GoFakes3(b).Client(b)
	bucket := s3test.Bucket(b, client)
	data := bytes.Repeat([]byte{1}, size)
	b.Run("adapter", func(b *testing.B) {
		b.ReportAllocs()
		store := s3.New(client, bucket)
		v, err := store.Put(b.Context(), "adapter", data, backend.IfAbsent())
		require.NoError(b, err)
		for b.Loop() {
			v, err = store.Put(b.Context(), "adapter", data, backend.IfVersion(v.Version))
			require.NoError(b, err)
		}
	})
	b.Run("SDK", func(b *testing.B) {
		b.ReportAllocs()
		in := awss3.PutObjectInput{Bucket: &bucket, Key: aws.String("SDK")}
		for b.Loop() {
			in.Body = bytes.NewReader(data)
			out, err := client.PutObject(b.Context(), &in)
			require.NoError(b, err)
			in.IfMatch = out.ETag
		}
	})
}
