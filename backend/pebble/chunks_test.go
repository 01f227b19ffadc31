package pebble

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestChunks: a table has what was written, whatever the lengths, and all of it is on the disk once
// it was synced.
func TestChunks(t *testing.T) {
	for name, sync := range map[string]func(vfs.File) error{
		"Sync":     vfs.File.Sync,
		"SyncData": vfs.File.SyncData,
	} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewCrashableMem()
			f, err := chunkedFS{disk}.Create("000001.blob", vfs.WriteCategoryUnspecified)
			require.NoError(t, err)
			require.IsType(t, &chunkedFile{}, f)
			root, err := disk.OpenDir("")
			require.NoError(t, err)
			require.NoError(t, root.Sync())
			random := rand.New(rand.NewPCG(1, 2))
			var want []byte
			for i := range 300 {
				part := bytes.Repeat([]byte{byte(i)}, random.IntN(chunkSize/50))
				if i%100 == 0 {
					part = bytes.Repeat([]byte{byte(i)}, 2*chunkSize+i)
				}
				n, err := f.Write(part)
				require.NoError(t, err)
				require.Len(t, part, n)
				want = append(want, part...)
				if i%70 == 0 {
					_, err = f.SyncTo(int64(len(want)))
					require.NoError(t, err)
				}
			}
			info, err := f.Stat()
			require.NoError(t, err)
			assert.Equal(t, int64(len(want)), info.Size())
			_, err = f.Write([]byte("end"))
			require.NoError(t, err)
			require.NoError(t, sync(f))

			cut := disk.CrashClone(vfs.CrashCloneCfg{})
			assert.Equal(t, append(want, "end"...), contents(t, cut, "000001.blob"))
			require.NoError(t, f.Close())
		})
	}
}

// TestChunksClosed: what was not synced is in the file, too, when that is closed.
func TestChunksClosed(t *testing.T) {
	disk := vfs.NewMem()
	f, err := chunkedFS{disk}.Create("000001.sst", vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write([]byte("all"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.Equal(t, "all", string(contents(t, disk, "000001.sst")))
}

// TestChunksOthers: the log, and lists of tables, are written as before.
func TestChunksOthers(t *testing.T) {
	for _, name := range []string{"000001.log", "MANIFEST-000001", "marker.format.1.2"} {
		f, err := chunkedFS{vfs.NewMem()}.Create(name, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		_, chunked := f.(*chunkedFile)
		assert.False(t, chunked, name)
		require.NoError(t, f.Close())
	}
}

func contents(t *testing.T, disk vfs.FS, name string) []byte {
	f, err := disk.Open(name)
	require.NoError(t, err)
	data, err := io.ReadAll(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return data
}

// fullFile refuses to be written.
type fullFile struct{ vfs.File }

var errNoRoom = errors.New("no room")

func (fullFile) Write([]byte) (int, error) { return 0, errNoRoom }

func (fullFile) Sync() error { return nil }

func (fullFile) SyncData() error { return nil }

func (fullFile) Close() error { return nil }

// TestChunksRefused: who syncs or closes a file is told that what was written before is not there,
// be it for the second time.
func TestChunksRefused(t *testing.T) {
	for name, end := range map[string]func(vfs.File) error{
		"Sync": vfs.File.Sync, "SyncData": vfs.File.SyncData, "Close": vfs.File.Close,
	} {
		f := &chunkedFile{File: fullFile{}}
		_, err := f.Write([]byte("some"))
		require.NoError(t, err, name)
		require.ErrorIs(t, end(f), errNoRoom, name)
		if name != "Close" {
			require.ErrorIs(t, end(f), errNoRoom, name)
			require.ErrorIs(t, f.Close(), errNoRoom, name)
		}
	}
}
