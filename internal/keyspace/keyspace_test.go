package keyspace_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/keyspace"
)

func TestCheckDatabase(t *testing.T) {
	for _, name := range []string{
		"a", "example", "A.b_c-9", "..x", "-", "_", ".a", strings.Repeat("x", 64),
	} {
		require.NoError(t, keyspace.CheckDatabase(name), name)
	}
	for _, name := range []string{
		"", ".", "..", "a.", "a/b", "a b", "ä", "a\x00", "a+b", "\xff", strings.Repeat("x", 65),
	} {
		require.Error(t, keyspace.CheckDatabase(name), "%q must be refused", name)
	}
	assert.Equal(t, "example/", keyspace.Prefix("example"))
}

func mustCollection(t testing.TB, p keyspace.Path, name string) keyspace.Path {
	t.Helper()
	c, err := p.Collection([]byte(name))
	require.NoError(t, err)
	return c
}

// These names are stored: a change of any is a new format version.
func TestNames(t *testing.T) {
	slashes := strings.Repeat("/", 32)
	for _, x := range []struct{ key, cell string }{
		{"alice", "=alice"},
		{"user:42@example.org", "=user:42@example.org"},
		{"&'()*+,-.09:@AZ_`az", "=&'()*+,-.09:@AZ_`az"},
		{"a b", "=a!20b"},
		{"\x00%", "=!00!25"},
		{"a/b", "=a.~~b"},
		{"./", "=..~~"},
		{".\xff", "=.~FF"},
		{";<=>?", "=;3B;3C;3D;3E;3F"},
		{"[\\]^", "=^5B^5C^5D^5E"},
		{"{|}~\x7f\x80\xff", "=~7B~7C~7D~7E~7F~80~FF"},
		{"ü", "=~C3~BC"},
		{"v1.", "=v1.!"},
		{".", "=.!"},
		{"..", "=..!"},
		{".\x00", "=.!00"},
		{slashes, "=" + strings.Repeat(".~~", 32)},
		{slashes + "x/y", "=" + strings.Repeat(".~~", 32) + "x.~~ArZ"},
		{slashes + "\x00", "=" + strings.Repeat(".~~", 32) + "!--"},
		{slashes + "\xff\xff\xff", "=" + strings.Repeat(".~~", 32) + "~zzzz"},
		{slashes + "a.", "=" + strings.Repeat(".~~", 32) + "a.!"},
	} {
		name, err := keyspace.Path("").Cell("db", []byte(x.key))
		require.NoError(t, err)
		assert.Equal(t, x.cell, name, "cell of %q", x.key)
		p, key, err := keyspace.ParseCell(name)
		require.NoError(t, err, "%q", name)
		assert.Empty(t, p)
		assert.Equal(t, x.key, string(key))
	}
}

func TestNestedCollections(t *testing.T) {
	users := mustCollection(t, "", "users")
	nested := mustCollection(t, users, "a/b.")
	assert.Equal(t, keyspace.Path("+users/"), users)
	assert.Equal(t, keyspace.Path("+users/+a.~~b.!/"), nested)

	name, err := nested.Cell("db", []byte("k/"))
	require.NoError(t, err)
	assert.Equal(t, "+users/+a.~~b.!/=k.~~", name)
	assert.True(t, strings.HasPrefix(name, nested.Cells()))

	p, key, err := keyspace.ParseCell(name)
	require.NoError(t, err)
	assert.Equal(t, nested, p)
	assert.Equal(t, "k/", string(key))

	split, err := keyspace.SplitCollection(string(nested))
	require.NoError(t, err)
	assert.Equal(t, "a/b.", string(split), "the last name counts")
	_, err = users.Key(name)
	require.Error(t, err, "a cell of a nested collection is none of its parent's")
}

func TestForeignNames(t *testing.T) {
	for _, name := range []string{
		"", "meta", "alice", "=", "*alice.00", "+users/", "+users/alice", "users/=alice", "/=a",
		"+/=a", "+users//=a", "=users/=a", "+a!/=a", "+users/=", "=a/b",
		"=a b", "=!2", "=!", "=!2b", "=!26", "=~41", "=;2F", "=^!!", "=a!", "=a.", "=v.!!",
		"=!2F", "=.~~.", "=\x00", "=ä", "=" + strings.Repeat("a", 513),
		"=" + strings.Repeat(".~~", 33), "=" + strings.Repeat(".~~", 32) + "!00",
		"=" + strings.Repeat(".~~", 32) + "!-", "=" + strings.Repeat(".~~", 32) + "!-1",
		"=" + strings.Repeat(".~~", 32) + "~--", "=" + strings.Repeat(".~~", 32) + "!-\n-",
	} {
		_, _, err := keyspace.ParseCell(name)
		require.Error(t, err, "%q must be refused", name)
	}
	for _, prefix := range []string{
		"", "/", "+", "+/", "users/", "+users", "=users/", "+a./", "+a//",
	} {
		_, err := keyspace.SplitCollection(prefix)
		require.Error(t, err, "%q must be refused", prefix)
	}
}

func TestLimits(t *testing.T) {
	var root keyspace.Path
	plain := func(n int) []byte { return bytes.Repeat([]byte("k"), n) }
	db := strings.Repeat("d", keyspace.DatabaseMax)
	long := mustCollection(t, mustCollection(t, "", string(plain(512))), string(plain(400)))

	cell := func(p keyspace.Path, key []byte) func() error {
		return func() error { _, err := p.Cell(db, key); return err }
	}
	collection := func(name []byte) func() error {
		return func() error { _, err := root.Collection(name); return err }
	}
	for _, x := range []struct {
		what       string
		try        func() error
		len, limit int
		message    string
	}{
		{"empty key", cell(root, nil), 0, 512, "the key is empty; 1 to 512 bytes are allowed"},
		{"long key", cell(root, plain(513)), 513, 512, "the key has 513 bytes; at most 512"},
		{"empty collection", collection(nil), 0, 512, "the collection name is empty"},
		{"long collection", collection(plain(513)), 513, 512, "the collection name has 513 bytes"},
		{"full name", cell(long, plain(9)), 991, 990, "the object name (database, collections"},
	} {
		var keyErr *keyspace.KeyError
		err := x.try()
		require.ErrorAs(t, err, &keyErr, x.what)
		require.ErrorIs(t, err, keyspace.ErrInvalidKey, x.what)
		assert.Equal(t, []int{x.len, x.limit}, []int{keyErr.Len, keyErr.Limit}, x.what)
		assert.Contains(t, err.Error(), x.message)
	}
	require.NoError(t, cell(long, plain(8))(), "990 bytes")
	require.NoError(t, cell(root, plain(512))())
	require.NoError(t, collection(plain(512))())
}

// The worst key fits below a long database name and a long plain collection, with
// its external values.
func TestWorstKeyFits(t *testing.T) {
	db := strings.Repeat("d", keyspace.DatabaseMax)
	p := mustCollection(t, "", strings.Repeat("c", 100))
	for _, b := range []byte{0xff, 0x00, '/', '[', ';'} {
		key := bytes.Repeat([]byte{b}, keyspace.KeyMax)
		name, err := p.Cell(db, key)
		require.NoError(t, err)
		external := len(keyspace.Prefix(db)) + len(name) + len(".") + 32
		assert.LessOrEqual(t, external, keyspace.NameMax)
		_, got, err := keyspace.ParseCell(name)
		require.NoError(t, err)
		assert.Equal(t, key, got)
	}
}

func TestCellAllocatesOnce(t *testing.T) {
	p := mustCollection(t, "", "users")
	key := []byte("alice@example.org")
	allocs := testing.AllocsPerRun(100, func() { _, _ = p.Cell("db", key) })
	assert.LessOrEqual(t, allocs, 1.0)
}

func BenchmarkCell(b *testing.B) {
	p := mustCollection(b, "", "users")
	key := []byte("alice@example.org")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = p.Cell("db", key)
	}
}

func BenchmarkKey(b *testing.B) {
	p := mustCollection(b, "", "users")
	name, _ := p.Cell("db", []byte("alice@example.org"))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = p.Key(name)
	}
}
