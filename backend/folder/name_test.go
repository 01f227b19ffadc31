package folder

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

func TestPlace(t *testing.T) {
	x80, s16 := strings.Repeat("x", 80), strings.Repeat("/", 16)
	for name, want := range map[string]string{
		"a":             "@a",
		"a/b":           "+a/@b",
		"a/":            "+a/@",
		"/":             "+/@",
		"//a":           "+/+/@a",
		".":             "@%2e",
		"..":            "@%2e%2e",
		"A%":            "@%41%25",
		"\x00\xff":      "@%00%ff",
		s16 + "a/b/c":   strings.Repeat("+/", 16) + "@a%2fb%2fc",
		x80:             "@" + x80,
		x80 + "y":       "_" + x80 + "/@y",
		x80 + "/y":      "_" + x80 + "/+/@y",
		x80[1:] + "/y":  "+" + x80[1:] + "/@y",
		x80 + x80 + "y": "_" + x80 + "/_" + x80 + "/@y",
	} {
		dir, file, _ := place(name)
		assert.Equal(t, want, join(dir, file), "place of %q", name)
	}
}

// chunks takes a place apart. The key of each entry is the name up to there.
func chunks(t *testing.T, name string) []entry {
	t.Helper()
	dir, file, n := place(name)
	require.Equal(t, dir == root, n == 0, "the folder's part of the name")
	var entries []entry
	base := ""
	for file := range strings.SplitSeq(join(dir, file), "/") {
		require.Equal(t, len(base) == n, file[0] == objectKind, "%q at %d", file, n)
		require.LessOrEqual(t, len(file), 255)
		require.Equal(t, strings.ToLower(file), file, "no capitals")
		require.NotContains(t, file, ".")
		kind, chunk, ok := parseEntry(base, file)
		require.True(t, ok, "parse %q", file)
		base += chunk
		entries = append(entries, entry{kind, base, file})
	}
	require.Equal(t, name, base, "the name put together again")
	require.LessOrEqual(t, len(entries), slashMax+1+len(name)/chunkMax, "folders")
	return entries
}

var seeds = []string{
	"a", "A", "a/", "a/b", "a!", "a0", ".", "..", "/", "//", "con", "\x00", "\xff", "%2f", "@a",
	strings.Repeat("x", 79) + "/", strings.Repeat("x", 80), strings.Repeat("x", 80) + "/",
	strings.Repeat("x", 80) + "!", strings.Repeat("x", 80) + "0", strings.Repeat("x", 81),
	strings.Repeat("\xff", 1024), strings.Repeat("/", 1024), strings.Repeat("a/", 15) + "b",
	strings.Repeat("a/", 16) + "b", strings.Repeat("a/", 16) + "b/c", strings.Repeat("a/", 60),
}

// FuzzPlace: from a place the name can be told; no file name is one that a file system
// would change, and places keep the order of names.
func FuzzPlace(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, seeds[(i+1)%len(seeds)])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		order := slices.CompareFunc(chunks(t, a), chunks(t, b), compare)
		require.Equal(t, strings.Compare(a, b), order)
	})
}

// FuzzParseEntry: what it takes for an entry is one that appendChunk makes.
func FuzzParseEntry(f *testing.F) {
	for _, s := range seeds {
		dir, file, n := place(s)
		f.Add(s[:n], file)
		f.Add("", path.Base(dir))
	}
	f.Fuzz(func(t *testing.T, base, file string) {
		kind, chunk, ok := parseEntry(base, file)
		if !ok {
			return
		}
		require.LessOrEqual(t, len(chunk), chunkMax)
		if dir, _, n := place(base); n == len(base) { // Else base is none of a folder.
			under := path.Clean(join(dir, file))
			next, _, _ := place(base + chunk + strings.Repeat("x", chunkMax+1))
			if kind == objectKind {
				dir, end, _ := place(base + chunk)
				next = join(dir, end)
			}
			require.True(t, next == under || strings.HasPrefix(next, under+"/"),
				"%q, %q", next, under)
		}
	})
}

// TestListingAgainstModel lists random names with random options. Folders that a page
// ended in are not read again.
func TestListingAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	b := New(t.TempDir(), NoSync())
	b.recent.min, b.recent.quiet = 0, tick
	var names []string
	for range 300 {
		name := randomName(random)
		if _, err := b.Put(t.Context(), name, nil, backend.IfAbsent()); err == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for range 200 {
		o := backend.ListOptions{Limit: 1 + random.IntN(30)}
		some := names[random.IntN(len(names))]
		o.Prefix = some[:random.IntN(len(some)+1)]
		o.Delimiter = []string{"", "/", "x", "/x", "xx"}[random.IntN(5)]
		if random.IntN(2) == 0 {
			o.After = randomName(random)
		}
		want, got := model(names, o), listAll(t, b, o)
		require.Equal(t, want, got, "%+v", o)
	}
}

// randomName makes names that are alike, about as long as a chunk, and with many
// slashes and neighbours of the slash.
func randomName(random *rand.Rand) string {
	name := ""
	for range 1 + random.IntN(3) {
		name += strings.Repeat("/", []int{0, 0, 0, 14, 15, 16}[random.IntN(6)])
		name += strings.Repeat("x", []int{0, 1, 2, 79, 80, 81, 160}[random.IntN(7)])
		name += []string{"", "/", "//", "!", "0", "X", "\xff"}[random.IntN(7)]
	}
	if name == "" {
		return "/"
	}
	return name
}

func model(names []string, o backend.ListOptions) []string {
	found := []string{}
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, o.Prefix)
		if i := strings.Index(rest, o.Delimiter); o.Delimiter != "" && i >= 0 {
			name = "prefix " + o.Prefix + rest[:i+len(o.Delimiter)]
		}
		if ok && strings.TrimPrefix(name, "prefix ") > o.After {
			found = append(found, name)
		}
	}
	return slices.Compact(found)
}

// listAll is the listing of all pages, objects and prefixes merged by name.
func listAll(t *testing.T, b *Backend, o backend.ListOptions) []string {
	t.Helper()
	found := []string{}
	for {
		page, err := b.List(context.Background(), o)
		require.NoError(t, err)
		all := map[string]string{}
		for _, p := range page.Prefixes {
			all[p] = "prefix " + p
		}
		for _, o := range page.Objects {
			all[o.Name] = o.Name
		}
		require.Len(t, all, len(page.Prefixes)+len(page.Objects))
		keys := []string{}
		for key := range all {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			found = append(found, all[key])
		}
		if !page.More {
			return found
		}
		require.Len(t, keys, o.Limit, "a page that is not the last")
		o.After = keys[len(keys)-1]
	}
}

// TestListingReadsItsFoldersOnly: a listing opens no folder beside its prefix, and
// none behind its page.
func TestListingReadsItsFoldersOnly(t *testing.T) {
	b := New(t.TempDir(), NoSync())
	for i := range 9 {
		name := fmt.Sprintf("db/%d/object", i)
		_, err := b.Put(t.Context(), name, nil, backend.IfAbsent())
		require.NoError(t, err)
	}
	b.disk.fault = func(op, rel string) error {
		if op == "open" && (rel == "+db/+2" || rel == "+db/+7") {
			return fs.ErrInvalid
		}
		return nil
	}
	_, err := b.List(t.Context(), backend.ListOptions{})
	require.Error(t, err, "the trap works")
	page, err := b.List(t.Context(), backend.ListOptions{Prefix: "db/3/"})
	require.NoError(t, err)
	require.Len(t, page.Objects, 1)
	page, err = b.List(t.Context(), backend.ListOptions{Prefix: "db/", After: "db/3", Limit: 3})
	require.NoError(t, err)
	require.Len(t, page.Objects, 3)
}
