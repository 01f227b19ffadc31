package gcs_test

import (
	"bytes"
	"hash/crc32"
	"io"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
)

// size is that of a typical cell, in bytes.
const size = 1 << 10

func BenchmarkGet(b *testing.B) {
	bucket := gcstest.NewProcess(b).DirectBucket(b)
	store := gcs.New(bucket)
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
			r, err := bucket.Object("object").NewReader(b.Context())
			require.NoError(b, err)
			data := make([]byte, r.Attrs.Size)
			_, err = io.ReadFull(r, data)
			require.NoError(b, err)
			_, err = r.Read(data[:1])
			require.ErrorIs(b, err, io.EOF)
			_ = r.Close()
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
	s := gcstest.NewProcess(b)
	data := bytes.Repeat([]byte{1}, size)
	b.Run("adapter", func(b *testing.B) {
		b.ReportAllocs()
		store := gcs.New(s.DirectBucket(b))
		v, err := store.Put(b.Context(), "object", data, backend.IfAbsent())
		require.NoError(b, err)
		for b.Loop() {
			v, err = store.Put(b.Context(), "object", data, backend.IfVersion(v.Version))
			require.NoError(b, err)
		}
	})
	b.Run("SDK", func(b *testing.B) {
		b.ReportAllocs()
		bucket := s.DirectBucket(b)
		table := crc32.MakeTable(crc32.Castagnoli)
		cond := storage.Conditions{DoesNotExist: true}
		for b.Loop() {
			w := bucket.Object("object").If(cond).NewWriter(b.Context())
			w.ChunkSize, w.ContentType = 0, "application/octet-stream"
			w.SendCRC32C, w.CRC32C = true, crc32.Checksum(data, table)
			_, err := w.Write(data)
			require.NoError(b, err)
			require.NoError(b, w.Close())
			cond = storage.Conditions{GenerationMatch: w.Attrs().Generation}
		}
	})
}
