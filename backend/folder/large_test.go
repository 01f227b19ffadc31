package folder_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
)

// large is the size in bytes of the largest object that the library writes, roughly.
const large = 64<<20 + 4<<10

// allocated is how many bytes f allocates, as a part of large.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / large
}

// TestLargeObject: a Put takes no copy of the data and a Get just one, which it checks
// to the last byte.
func TestLargeObject(t *testing.T) {
	dir := t.TempDir()
	b := folder.New(dir, folder.NoSync())
	data := make([]byte, large)
	for i := range data {
		data[i] = byte(i * i >> 8)
	}
	require.Less(t, allocated(func() {
		_, err := b.Put(t.Context(), "large", data, backend.IfAbsent())
		require.NoError(t, err)
	}), 0.01, "sizes of the object that a Put allocates")

	var o backend.Object
	require.Less(t, allocated(func() {
		var err error
		o, err = b.Get(t.Context(), "large", "")
		require.NoError(t, err)
	}), 1.01, "sizes of the object that a Get allocates")
	require.True(t, bytes.Equal(data, o.Data), "the data read are those written")

	f, err := os.OpenFile(filepath.Join(dir, "@large"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte{^data[large-1]}, headerSize+large-1)
	require.NoError(t, err)
	_, err = b.Get(t.Context(), "large", "")
	require.ErrorIs(t, err, backend.ErrCorrupt, "the last byte is damaged")
}
