package keyspace_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/keyspace"
)

// edges are the bytes at which the encoding changes, and their neighbours.
var edges = []byte("\x00\x1f $%&'*-./09:;<?@AZ[\\^_`az{~\x7f\x80\xfe\xff")

// randomName draws a name of up to n bytes: of edges, of any bytes, or of one byte
// only.
func randomName(r *rand.Rand, n int) []byte {
	name := make([]byte, r.IntN(n+1))
	kind, same := r.IntN(3), edges[r.IntN(len(edges))]
	for i := range name {
		switch kind {
		case 0:
			name[i] = edges[r.IntN(len(edges))]
		case 1:
			name[i] = byte(r.Uint32())
		default:
			name[i] = same
		}
	}
	return name
}

func cellOf(t testing.TB, key []byte) string {
	t.Helper()
	name, err := keyspace.Path("").Cell("db", key)
	require.NoError(t, err)
	return name
}

func checkPair(t testing.TB, a, b []byte) {
	t.Helper()
	for _, k := range [][]byte{a, b} {
		_, back, err := keyspace.ParseCell(cellOf(t, k))
		require.NoError(t, err, "%q", k)
		require.True(t, bytes.Equal(k, back), "round trip of %q gave %q", k, back)
	}
	ea, eb := cellOf(t, a), cellOf(t, b)
	require.Equal(t, bytes.Compare(a, b), strings.Compare(ea, eb),
		"order of %q and %q, encoded %q and %q", a, b, ea, eb)
}

func TestOrderOfShortNames(t *testing.T) {
	var names [][]byte
	for _, a := range edges {
		names = append(names, []byte{a})
		for _, b := range edges {
			names = append(names, []byte{a, b}, []byte{a, b, '.'}, []byte{'.', a, b})
		}
	}
	// Once more behind 31 to 33 bytes that need an escape.
	for _, n := range slices.Clone(names) {
		for _, escapes := range []int{31, 32, 33} {
			names = append(names, append(bytes.Repeat([]byte("/"), escapes), n...))
		}
	}
	slices.SortFunc(names, bytes.Compare)
	names = slices.CompactFunc(names, bytes.Equal)
	for i := 1; i < len(names); i++ {
		checkPair(t, names[i-1], names[i])
	}
}

func TestOrderBehindCommonBeginnings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		p := randomName(r, 60)
		a := append(slices.Clone(p), randomName(r, 4)...)
		b := append(slices.Clone(p), randomName(r, 4)...)
		if len(a) > 0 && len(b) > 0 {
			checkPair(t, a, b)
		}
	}
}

func TestOrderOfCollections(t *testing.T) {
	// The slash behind the name takes part in the order of a listing.
	a, aDash := mustCollection(t, "", "a"), mustCollection(t, "", "a-")
	assert.Less(t, string(aDash), string(a))
}

func FuzzOrder(f *testing.F) {
	f.Add([]byte(""), []byte("."), []byte("/"))
	f.Add(bytes.Repeat([]byte("/"), 32), []byte("\x00"), []byte("\x00\x00"))
	f.Add(bytes.Repeat([]byte("\xff"), 33), []byte("."), []byte(".!"))
	f.Fuzz(func(t *testing.T, p, a, b []byte) {
		a = append(slices.Clone(p), a...)
		b = append(slices.Clone(p), b...)
		if len(a) > 0 && len(a) <= keyspace.KeyMax && len(b) > 0 && len(b) <= keyspace.KeyMax {
			checkPair(t, a, b)
		}
	})
}

func FuzzParseCell(f *testing.F) {
	for _, name := range []string{
		"=a", "+users/=a!20b", "+a/+b/=.~~~FF", "=v.!", "=" + strings.Repeat(".~~", 32) + "!--",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		p, key, err := keyspace.ParseCell(name)
		if err != nil || len(name) > 900 {
			return
		}
		again, err := p.Cell("db", key)
		require.NoError(t, err)
		require.Equal(t, name, again, "only canonical names are accepted")
		for rest := string(p); rest != ""; {
			parent := keyspace.Path(rest[:strings.LastIndexByte(rest[:len(rest)-1], '/')+1])
			collection, err := keyspace.SplitCollection(rest)
			require.NoError(t, err)
			child, err := parent.Collection(collection)
			require.NoError(t, err)
			require.Equal(t, rest, string(child))
			rest = string(parent)
		}
	})
}
