package folder_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
)

const headerSize = 52

// TestDamage damages the file of an object in every place.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	b := folder.New(dir, folder.NoSync())
	v := create(t, b, "a/b", "twelve bytes")
	create(t, b, "a/c", "sound")
	path := filepath.Join(dir, "+a", "@b")
	sound, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, sound, headerSize+len("twelve bytes"))
	expect := func(damaged []byte, inHeader bool, what string, at int) {
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		if inHeader {
			expectDamaged(t, b, v)
		}
		o, err := b.Get(t.Context(), "a/b", "")
		expectCorrupt(t, err, "get")
		if o.Version != "" {
			want := damaged
			if !inHeader {
				want = damaged[headerSize:]
			}
			require.True(t, bytes.Equal(want, o.Data), "the bytes as they are: %q", o.Data)
		}
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

func expectCorrupt(t *testing.T, err error, call string) {
	t.Helper()
	var corrupt *backend.CorruptError
	assert.ErrorIs(t, err, backend.ErrCorrupt, call)
	assert.NotErrorIs(t, err, backend.ErrOutcomeUnknown, call)
	if assert.ErrorAs(t, err, &corrupt, call) {
		assert.Equal(t, "a/b", corrupt.Object, call)
	}
}

// expectDamaged requires that no call takes the object a/b for sound or absent, and that
// a/c, if there, is listed in spite of it. It returns how it is listed.
func expectDamaged(t *testing.T, b backend.Backend, v backend.Version) backend.Info {
	t.Helper()
	_, errGet := b.Get(t.Context(), "a/b", "")
	_, errKnown := b.Get(t.Context(), "a/b", v)
	_, errReplace := b.Put(t.Context(), "a/b", nil, backend.IfVersion(v))
	_, errCreate := b.Put(t.Context(), "a/b", nil, backend.IfAbsent())
	for call, err := range map[string]error{
		"get": errGet, "get known": errKnown, "replace": errReplace, "create": errCreate,
		"delete": b.Delete(t.Context(), "a/b", v),
	} {
		expectCorrupt(t, err, call)
	}
	page, err := b.List(t.Context(), backend.ListOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, page.Objects)
	for _, o := range page.Objects[1:] {
		assert.Equal(t, "a/c", o.Name)
		assert.False(t, o.Damaged)
	}
	info := page.Objects[0]
	assert.Equal(t, "a/b", info.Name)
	assert.True(t, info.Damaged)
	if info.Version != "" {
		o, _ := b.Get(t.Context(), "a/b", info.Version)
		assert.Equal(t, info.Version, o.Version)
		assert.Len(t, o.Data, int(info.Size))
	}
	return info
}

// TestDamagedObjectIsRemoved: at the token of its very state, by nothing else.
func TestDamagedObjectIsRemoved(t *testing.T) {
	dir := t.TempDir()
	b := folder.New(dir)
	v := create(t, b, "a/b", "data")
	create(t, b, "a/c", "sound")
	path := filepath.Join(dir, "+a", "@b")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	empty := expectDamaged(t, b, v)
	require.NotEmpty(t, empty.Version)
	require.NoError(t, os.WriteFile(path, []byte("half a header"), 0o600))
	half := expectDamaged(t, b, empty.Version)
	require.NotEmpty(t, half.Version)
	_, err := b.Put(t.Context(), "a/b", nil, backend.IfVersion(half.Version))
	require.ErrorIs(t, err, backend.ErrCorrupt, "no write replaces what is damaged")

	require.NoError(t, b.Delete(t.Context(), "a/b", half.Version))
	require.ErrorIs(t, b.Delete(t.Context(), "a/b", half.Version), backend.ErrPrecondition)
	require.Equal(t, []string{"a/c"}, list(t, b, backend.ListOptions{}))
	create(t, b, "a/b", "again")
}

// TestNewerFormat: what a later program has written may be sound. No token removes it.
func TestNewerFormat(t *testing.T) {
	dir := t.TempDir()
	b := folder.New(dir)
	v := create(t, b, "a/b", "data")
	path := filepath.Join(dir, "+a", "@b")
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	binary.LittleEndian.PutUint32(file[8:], 3)
	require.NoError(t, os.WriteFile(path, file, 0o600))
	require.Empty(t, expectDamaged(t, b, v).Version)
	_, err = b.Get(t.Context(), "a/b", "")
	require.ErrorContains(t, err, "format 3")
}

func TestDirectoryInPlaceOfObject(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "+a", "@b"), 0o700))
	require.Empty(t, expectDamaged(t, folder.New(dir), "v").Version)
}

// TestFileInPlaceOfFolder: all names in it are damaged, and no others.
func TestFileInPlaceOfFolder(t *testing.T) {
	dir := t.TempDir()
	b := folder.New(dir)
	create(t, b, "0", "before")
	create(t, b, "b", "after")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "+a"), nil, 0o600))
	_, err := b.Get(t.Context(), "a/b", "")
	expectCorrupt(t, err, "get")
	_, err = b.Put(t.Context(), "a/b", nil, backend.IfAbsent())
	expectCorrupt(t, err, "create")
	expectCorrupt(t, b.Delete(t.Context(), "a/b", "v"), "delete")
	for _, name := range []string{"a/b", "a/b/c"} {
		_, err = folder.New(dir, folder.NoSync()).Put(t.Context(), name, nil, backend.IfAbsent())
		require.ErrorIs(t, err, backend.ErrCorrupt, name)
	}

	require.Equal(t, []string{"0", "a/", "b"}, list(t, b, backend.ListOptions{}))
	for o, want := range map[backend.ListOptions][]string{
		{Prefix: "a/"}:               {"a/"},
		{Prefix: "a/b"}:              {},
		{After: "a/"}:                {"b"},
		{After: "a/b"}:               {"b"},
		{After: "0", Limit: 1}:       {"a/"},
		{After: "a", Delimiter: "/"}: {"b"},
	} {
		require.Equal(t, want, list(t, b, o), "%+v", o)
	}
	page, err := b.List(t.Context(), backend.ListOptions{Prefix: "a/"})
	require.NoError(t, err)
	require.Equal(t, []backend.Info{{Name: "a/", Damaged: true}}, page.Objects)
	page, err = b.List(t.Context(), backend.ListOptions{Delimiter: "/"})
	require.NoError(t, err)
	require.Equal(t, []string{"a/"}, page.Prefixes)
}

// TestSizesAreBounded: no file makes a Get take more memory than an object may.
func TestSizesAreBounded(t *testing.T) {
	dir := t.TempDir()
	b := folder.New(dir)
	v := create(t, b, "a/b", "")
	path := filepath.Join(dir, "+a", "@b")
	header, err := os.ReadFile(path)
	require.NoError(t, err)
	for what, size := range map[string]int64{"huge": 4 << 40, "just too large": 128<<20 + 1} {
		binary.LittleEndian.PutUint64(header[32:], uint64(size))
		sum := crc32.Checksum(header[:48], crc32.MakeTable(crc32.Castagnoli))
		binary.LittleEndian.PutUint32(header[48:], sum)
		require.NoError(t, os.WriteFile(path, header, 0o600))
		require.NoError(t, os.Truncate(path, headerSize+size), "make a sparse file")
		require.Less(t, allocated(func() {
			info := expectDamaged(t, b, v)
			require.Empty(t, info.Version, "of the bytes nobody can make a copy")
			require.Equal(t, headerSize+size, info.Size)
		}), 0.1, "%s: sizes of a large object that are allocated", what)
	}
	_, err = b.Put(t.Context(), "a/c", make([]byte, backend.ObjectMax+1), backend.IfAbsent())
	require.ErrorIs(t, err, backend.ErrInvalid)
	require.ErrorContains(t, err, "134217729 bytes, at most 134217728")
}
