package folder_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
)

const headerSize = 44

// TestDamage damages the file of an object in every place.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	b := folder.New(dir, folder.NoSync())
	v := create(t, b, "a/b", "twelve bytes")
	path := filepath.Join(dir, "+a", "@b")
	sound, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, sound, headerSize+len("twelve bytes"))
	expect := func(damaged []byte, inHeader bool, what string, at int) {
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		expectCorrupt(t, b, v, inHeader)
		require.False(t, t.Failed(), "%s %d", what, at)
	}

	for bit := range 8 * len(sound) {
		damaged := slices.Clone(sound)
		damaged[bit/8] ^= 1 << (bit % 8)
		expect(damaged, bit/8 < headerSize, "flipped bit", bit)
	}
	for n := range sound {
		expect(sound[:n], true, "truncated to", n)
		zeroed := slices.Concat(sound[:n], make([]byte, len(sound)-n))
		inHeader := !bytes.Equal(zeroed[:headerSize], sound[:headerSize]) // it may end in zeros
		expect(zeroed, inHeader, "zeros from", n)
	}
	expect(append(slices.Clone(sound), 0), true, "longer by", 1)
	expect([]byte("something else altogether, which is longer than a header"), true, "foreign", 0)

	require.NoError(t, os.WriteFile(path, sound, 0o600))
	require.Equal(t, "twelve bytes", read(t, b, "a/b"), "the file as it was")
}

// expectCorrupt requires that no call takes the damaged object for sound or absent.
func expectCorrupt(t *testing.T, b backend.Backend, v backend.Version, inHeader bool) {
	t.Helper()
	_, errGet := b.Get(t.Context(), "a/b", "")
	calls := map[string]error{"get": errGet}
	if inHeader {
		_, calls["get known"] = b.Get(t.Context(), "a/b", v)
		_, calls["replace"] = b.Put(t.Context(), "a/b", nil, backend.IfVersion(v))
		_, calls["create"] = b.Put(t.Context(), "a/b", nil, backend.IfAbsent())
		calls["delete"] = b.Delete(t.Context(), "a/b", v)
		_, calls["list"] = b.List(t.Context(), backend.ListOptions{})
	}
	for call, err := range calls {
		var corrupt *backend.CorruptError
		assert.ErrorIs(t, err, backend.ErrCorrupt, call)
		if assert.ErrorAs(t, err, &corrupt, call) {
			assert.Equal(t, "a/b", corrupt.Object, call)
		}
	}
}

func TestNewerFormat(t *testing.T) {
	dir := t.TempDir()
	b := folder.New(dir)
	v := create(t, b, "a/b", "data")
	path := filepath.Join(dir, "+a", "@b")
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	binary.LittleEndian.PutUint32(file[8:], 2)
	require.NoError(t, os.WriteFile(path, file, 0o600))
	expectCorrupt(t, b, v, true)
	_, err = b.Get(t.Context(), "a/b", "")
	require.ErrorContains(t, err, "format 2")
}

func TestDirectoryInPlaceOfObject(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "+a", "@b"), 0o700))
	expectCorrupt(t, folder.New(dir), "v", true)
}
