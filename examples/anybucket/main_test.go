package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/gcs/gcstest"
)

func TestBucket(t *testing.T) {
	server := gcstest.New(t)
	t.Setenv("STORAGE_EMULATOR_HOST", server.URL())
	cloud := "gs://" + server.Bucket(t).BucketName()
	for _, bucket := range []string{cloud, t.TempDir()} {
		for _, want := range []string{"Hello", "world!", "Hello"} {
			var out bytes.Buffer
			require.NoError(t, run(t.Context(), &out, bucket))
			assert.Equal(t, `database "example" in `+bucket+` says "`+want+"\"\n", out.String())
		}
	}
	assert.ErrorContains(t, run(t.Context(), &bytes.Buffer{}, "gs://no-such-bucket"),
		"bucket not found")
}

func TestBadBucket(t *testing.T) {
	for _, bucket := range []string{"name", "gs://", "http://name"} {
		err := run(t.Context(), &bytes.Buffer{}, bucket)
		assert.ErrorContains(t, err, "want gs://bucket/prefix", bucket)
	}
}
