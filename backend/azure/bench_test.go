package azure_test

import (
	"bytes"
	"crypto/md5"
	"io"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/azure"
	"github.com/strictkv/strictkv/backend/azure/azuretest"
)

// size is that of a typical cell, in bytes.
const size = 1 << 10

func BenchmarkGet(b *testing.B) {
	c := azuretest.New(b).Container(b)
	store := azure.New(c)
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
			r, err := c.NewBlobClient("object").DownloadStream(b.Context(), nil)
			require.NoError(b, err)
			data, err := io.ReadAll(r.Body)
			require.NoError(b, err)
			require.Len(b, data, size)
			_ = r.Body.Close()
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
	s := azuretest.New(b)
	data := bytes.Repeat([]byte{1}, size)
	b.Run("adapter", func(b *testing.B) {
		b.ReportAllocs()
		store := azure.New(s.Container(b))
		v, err := store.Put(b.Context(), "object", data, backend.IfAbsent())
		require.NoError(b, err)
		for b.Loop() {
			v, err = store.Put(b.Context(), "object", data, backend.IfVersion(v.Version))
			require.NoError(b, err)
		}
	})
	b.Run("SDK", func(b *testing.B) {
		b.ReportAllocs()
		c := s.Container(b)
		when := blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{
			IfNoneMatch: to.Ptr(azcore.ETagAny),
		}}
		for b.Loop() {
			sum := md5.Sum(data)
			r, err := c.NewBlockBlobClient("object").Upload(b.Context(),
				streaming.NopCloser(bytes.NewReader(data)), &blockblob.UploadOptions{
					AccessConditions:        &when,
					TransactionalValidation: blob.TransferValidationTypeMD5(sum[:]),
					HTTPHeaders:             &blob.HTTPHeaders{BlobContentMD5: sum[:]},
				})
			require.NoError(b, err)
			when.ModifiedAccessConditions = &blob.ModifiedAccessConditions{IfMatch: r.ETag}
		}
	})
}
