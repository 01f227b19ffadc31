package fields

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// TestGolden fails when the meaning of what is stored changes: then format goes up, and the old one
// stays readable.
func TestGolden(t *testing.T) {
	golden, err := os.ReadFile("testdata/golden.txt")
	require.NoError(t, err)
	long := bytes.Repeat([]byte("long "), 60)
	hash := body{moved: 300, pairs: []Pair{
		{[]byte("a"), []byte("1")}, {[]byte{}, []byte{}}, {long, []byte{0, 0xff}},
	}}
	set := body{pairs: []Pair{{Name: []byte("a")}, {Name: []byte{}}, {Name: long}}}
	shortKey, shortValue := element(hash.pairs[0])
	longKey, longValue := element(hash.pairs[2])
	var lines []string
	for _, b := range [][]byte{
		hash.encode(keys.Hash), set.encode(keys.Set), shortKey, shortValue, longKey, longValue,
	} {
		lines = append(lines, hex.EncodeToString(b))
	}
	assert.Equal(t, strings.TrimSpace(string(golden)), strings.Join(lines, "\n"))

	got, err := decodeBody(hash.encode(keys.Hash), keys.Hash)
	require.NoError(t, err)
	assert.Equal(t, hash, got)
	got, err = decodeBody(set.encode(keys.Set), keys.Set)
	require.NoError(t, err)
	assert.Equal(t, set, got)
	for _, p := range hash.pairs {
		key, value := element(p)
		back, err := elementPair(key, value)
		require.NoError(t, err)
		assert.Equal(t, p, back)
		assert.Equal(t, placeOf(p.Name), keyPlace(key))
		assert.LessOrEqual(t, len(key), 256, "a key that stands for itself")
	}
}

func TestDamaged(t *testing.T) {
	for name, data := range map[string]string{
		"empty": "", "newer": "\x02\x00", "no number": "\x01", "cut": "\x01\x00\x02a",
		"no value": "\x01\x00\x01a", "cut within a length": "\x01\x00\x80",
		"long":      "\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a",
		"many":      "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"many more": "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	} {
		_, err := decodeBody([]byte(data), keys.Hash)
		require.ErrorIs(t, err, keys.ErrDamaged, name)
	}
	long, value := element(Pair{Name: bytes.Repeat([]byte("x"), 1000)})
	other := elementKey(bytes.Repeat([]byte("y"), 1000))
	for name, pair := range map[string][2][]byte{
		"short key": {long[:4], value}, "another kind": {append([]byte{3}, long[1:]...), value},
		"another form":   {append(append([]byte{}, long[:formAt]...), 2), value},
		"cut":            {long, value[:10]},
		"another's name": {other, value},
	} {
		_, err := elementPair(pair[0], pair[1])
		require.ErrorIs(t, err, keys.ErrDamaged, name)
	}
}

// TestSize is of bodies whose size decides what is done.
func TestSize(t *testing.T) {
	for n := range 40 {
		p := Pair{bytes.Repeat([]byte("n"), n*n*n), bytes.Repeat([]byte("v"), n*n)}
		for _, k := range []keys.Kind{keys.Hash, keys.Set} {
			b := body{pairs: []Pair{p, p}}
			assert.Equal(t, len(b.encode(k))-2, 2*p.size(k))
			assert.GreaterOrEqual(t, b.size(k), len(b.encode(k)))
		}
	}
}

// TestPageEnd is of names that are at one place, which is rare.
func TestPageEnd(t *testing.T) {
	at := func(places ...uint64) (found []placed) {
		for _, p := range places {
			found = append(found, placed{place: p})
		}
		return found
	}
	assert.Equal(t, 2, pageEnd(at(1, 2, 3), 2))
	assert.Equal(t, 3, pageEnd(at(1, 2, 2, 3), 2))
	assert.Equal(t, 1, pageEnd(at(1, 2, 2), 1))
	assert.Equal(t, 0, pageEnd(at(1, 2, 2), 2), "there may be more")
	assert.Equal(t, 0, pageEnd(at(1, 2), 2))
}

func FuzzDecodeBody(f *testing.F) {
	f.Add([]byte("\x01\x05\x01a\x00\x02bc\x01d"))
	f.Add([]byte("\x01\x80"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, k := range []keys.Kind{keys.Hash, keys.Set} {
			b, err := decodeBody(data, k)
			if err != nil {
				require.ErrorIs(t, err, keys.ErrDamaged)
				continue
			}
			again, err := decodeBody(b.encode(k), k)
			require.NoError(t, err)
			assert.Equal(t, b, again)
		}
	})
}

func FuzzElementPair(f *testing.F) {
	for _, name := range [][]byte{nil, []byte("a"), bytes.Repeat([]byte("x"), 300)} {
		key, value := element(Pair{name, []byte("value")})
		f.Add(key, value)
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		p, err := elementPair(key, value)
		if err != nil {
			require.ErrorIs(t, err, keys.ErrDamaged)
			return
		}
		_ = keyPlace(key)
		if key[formAt] == hashed && value != nil {
			again, _ := element(p)
			assert.Equal(t, key, again)
		}
	})
}
