package backendtest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// nameMax is the longest name that every store takes, in bytes.
const nameMax = 1024

// hostile are names that must stay what they are and apart from each other, all
// at the same time, although a file system, an URL or an XML listing would have
// its own mind about them.
var hostile = []string{
	// Of a database.
	"db/meta", "db/=k", "db/=k-", "db/=k.!", "db/=k.~~", "db/=k.~~k", "db/=!00", "db/=~7B",
	"db/=~FF^5B;3B", "db/=k~_-0z", "db/*k.0123456789abcdef0123456789abcdef", "db/+n/=k",
	"db/+n-/=k", "db/+n/+n/=k", "db/+N/=K", "db/+!25/=&'()*+,", "db-/meta", "db.1/meta",
	// Paths.
	"a", "a/b", "a/b/c", "a/", "a//b", "a///b", "/", "//", "/x", "x/", "a/../b", "a/./b",
	"../x", "./x", "...", ".../x", "a/..", "a/.", "a/.../b", "~", "~/x", "-", "-rf",
	// What file systems strip, fold, or reserve.
	"dot.", "dot", "dot..", "space ", "space", " space", "a /b", "a./b", " ", "CON", "con",
	"nul.txt", "LPT1", "COM1/x", "a:b", "a\\b", "C:\\x", "a*b", "a?b", "a|b", "a<b>", "\"",
	"case", "CASE", "Case", "case/X", "CASE/x", ".hidden", ".hidden/x", ".tmp", "x.tmp",
	".lock", "x.lock", "x~", "#x#",
	// What URLs escape.
	"%", "%%", "%2F", "%2f", "a%2Fb", "%25", "%252F", "%00", "%2E", "%2e%2e", "a+b", "a b",
	"a&b=c", "a#b", "a;b", "a@b", "a$b", "a,b", "a=b", "a'b", "(a)", "[a]", "{a}", "a^b`",
	"x?alt=media", "https://example.com/x", "_", "__", "=", "!",
	// Letters: composed and not, beyond 16 bits, and the greatest.
	"\u00e9", "e\u0301", "\u212b", "\u00c5", "ſ", "ß", "SS", "İ", "ı", "日本語/キー",
	"\uffee", "\U0001f600", "\U0010fffd", "\u200b", "\u00a0",
}

// long are names of the greatest length, also of bytes that need escaping.
func (h Harness) long() []string {
	limit := cmp.Or(h.NameMax, nameMax)
	var names []string
	for _, unit := range []string{"x", "xyz/", "%", ".x", "é", "日x", " ."} {
		name := strings.Repeat(unit, limit/len(unit))
		names = append(names, name+strings.Repeat("x", limit-len(name)))
	}
	names = append(names, strings.Repeat(strings.Repeat("x", 127)+"/", limit/128+1)[:limit-1]+"x")
	// They differ in the last byte only.
	return append(names, strings.Repeat("x", limit-1)+"y", strings.Repeat("x", limit-1))
}

// names leaves of all names those that the store claims to take.
func (h Harness) names(all []string) []string {
	if !h.PathNames {
		return all
	}
	var left []string
	for _, name := range all {
		folder := slices.ContainsFunc(all, func(other string) bool {
			return strings.HasPrefix(other, name+"/")
		})
		refused := slices.ContainsFunc(strings.Split(name, "/"), func(segment string) bool {
			return segment == "" || segment == "." || segment == ".." || len(segment) > 255
		})
		if !folder && !refused {
			left = append(left, name)
		}
	}
	return left
}

func testHostileNames(t T, h Harness) {
	names := h.names(slices.Concat(hostile, h.long(), h.HostileNames))
	versions := make(map[string]backend.Version)
	for _, name := range names {
		versions[name] = create(t, h.Backend, name, "content of "+name)
	}
	require.Len(t, versions, len(names), "the names are distinct")
	expectAll(t, h.Backend, names, versions)

	// What is done to one name leaves its likes alone.
	var left []string
	for i, name := range names {
		if i%2 == 1 {
			require.NoError(t, h.Backend.Delete(t.Context(), name, versions[name]), "%q", name)
			_, err := h.Backend.Get(t.Context(), name, "")
			assertOnly(t, backend.ErrNotFound, err, "get of the deleted %q", name)
			continue
		}
		left = append(left, name)
		data := "content of " + name
		versions[name] = replace(t, h.Backend, name, data, versions[name])
	}
	expectAll(t, h.Backend, left, versions)
}

// expectAll requires that these objects are there, in Gets and in listings, and
// no others.
func expectAll(
	t T, b backend.Backend, names []string, versions map[string]backend.Version,
) {
	t.Helper()
	for _, name := range names {
		expect(t, b, name, "content of "+name, versions[name])
	}
	for _, o := range []backend.ListOptions{
		{}, {Limit: 7}, {Delimiter: "/"}, {Delimiter: "/", Limit: 7},
		{Prefix: "a/", Delimiter: "/"}, {Prefix: "/"}, {Prefix: "%"}, {Prefix: "."},
	} {
		objects, prefixes := pages(t, b, o)
		wantObjects, wantPrefixes := sorted(names, o)
		got := []string{}
		for _, o := range objects {
			got = append(got, o.Name)
			assert.Equal(t, versions[o.Name], o.Version, "version listed of %q", o.Name)
		}
		require.Equal(t, wantObjects, got, "objects listed by %+v", o)
		require.Equal(t, wantPrefixes, prefixes, "prefixes listed by %+v", o)
	}
}
