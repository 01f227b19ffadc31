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

// hostile are bytes around the borders of the encoding's regions.
const hostile = "\x00\x25&'-./09:;?@AZ[^_`az{~\x7f\xff"

func hostileKey(r *rand.Rand, most int) []byte {
	key := make([]byte, 1+r.IntN(most))
	for i := range key {
		key[i] = hostile[r.IntN(len(hostile))]
	}
	return key
}

// A listing by prefix and after shows every cell of the interval, and what comes along
// is filtered out by Contains.
func TestIntervalIsListed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	path, err := keyspace.Path("").Collection([]byte("c/\xff"))
	require.NoError(t, err)
	var keys [][]byte
	for i := range 600 {
		keys = append(keys, hostileKey(r, 1+i%4))
	}
	for range 6 { // long ones that differ at their ends
		long := bytes.Repeat([]byte{hostile[r.IntN(len(hostile))]}, keyspace.KeyMax-4)
		keys = append(keys, long, append(slices.Clone(long), hostileKey(r, 4)...))
	}
	slices.SortFunc(keys, bytes.Compare)
	keys = slices.CompactFunc(keys, bytes.Equal)
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i], err = path.Cell("db", k)
		require.NoError(t, err)
	}
	bound := func() []byte {
		switch r.IntN(8) {
		case 0:
			return nil
		case 1, 2, 3:
			return keys[r.IntN(len(keys))]
		}
		return hostileKey(r, 5)
	}
	for range 3000 {
		from, to := bound(), bound()
		i, err := path.Interval(from, to)
		require.NoError(t, err)
		want := slices.DeleteFunc(slices.Clone(keys), func(k []byte) bool {
			return bytes.Compare(k, from) < 0 || to != nil && bytes.Compare(k, to) >= 0
		})
		if i.Empty() {
			require.Empty(t, want)
			continue
		}
		checkListed(t, i, names, want)
		// What is left behind a key, and what is left before one.
		k := names[r.IntN(len(names))]
		if i.Contains(k) {
			at := slices.Index(names, k)
			rest := i
			rest.From = keyspace.UpTo(k)
			checkListed(t, rest, names, between(keys[at+1:], to))
			rest = i
			rest.To = keyspace.UpTo(k)
			n := slices.IndexFunc(want, func(w []byte) bool { return bytes.Equal(w, keys[at]) })
			checkListed(t, rest, names, want[:n+1])
		}
	}
}

func between(keys [][]byte, to []byte) [][]byte {
	return slices.DeleteFunc(slices.Clone(keys), func(k []byte) bool {
		return to != nil && bytes.Compare(k, to) >= 0
	})
}

func checkListed(t *testing.T, i keyspace.Interval, names []string, want [][]byte) {
	t.Helper()
	prefix, after := i.Listing()
	var got [][]byte
	for _, name := range names {
		if strings.HasPrefix(name, prefix) && name > after && i.Contains(name) {
			key, err := i.Path.Key(name)
			require.NoError(t, err)
			got = append(got, key)
		}
	}
	require.Len(t, got, len(want), "%q to %q: prefix %q, after %q", i.From, i.To, prefix, after)
	for j := range want {
		require.Equal(t, want[j], got[j])
	}
}

// A listing begins right at the interval, and not at the collection's beginning.
func TestIntervalListsLittleElse(t *testing.T) {
	path, err := keyspace.Path("").Collection([]byte("c"))
	require.NoError(t, err)
	for _, x := range []struct{ from, to, prefix, after string }{
		{"", "", "+c/=", ""},
		{"b", "", "+c/=", "+c/=a~~~~"},
		{"user/", "user0", "+c/=user", "+c/=user.~z~~~~"},
		{"k10", "k19", "+c/=k1", "+c/=k1.~~~~"},
		{"\x00", "", "+c/=", "+c/=!0.~~~~"},
	} {
		i, err := path.Interval([]byte(x.from), []byte(x.to))
		require.NoError(t, err)
		prefix, after := i.Listing()
		assert.Equal(t, x.prefix, prefix, "%q", x.from)
		assert.Equal(t, x.after, after, "%q", x.from)
	}
}

func TestIntervalRefusesLongBounds(t *testing.T) {
	long := bytes.Repeat([]byte("k"), keyspace.BoundMax+1)
	for _, bounds := range [][2][]byte{{long, nil}, {nil, long}} {
		_, err := keyspace.Path("").Interval(bounds[0], bounds[1])
		var e *keyspace.KeyError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, keyspace.BoundMax, e.Limit)
	}
	_, err := keyspace.Path("").Interval(long[1:], long[1:])
	assert.NoError(t, err)
}
