package keytext_test

import (
	"encoding/hex"
	"math/big"
	"math/rand/v2"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/keytext"
	"github.com/strictkv/strictkv/layers/tuple"
)

// TestForms: each form is read, and shown as the one that tells most.
func TestForms(t *testing.T) {
	uuid := tuple.UUID{0: 0xf0, 15: 1}
	for _, x := range []struct {
		given string
		want  any // a string, or a tuple
		shown string
	}{
		{"alice", "alice", "alice"},
		{"größe 1", "größe 1", "größe 1"},
		{" edge ", " edge ", `" edge "`},
		{`"quoted"`, "quoted", "quoted"},
		{`"\"quoted\""`, `"quoted"`, `"\"quoted\""`},
		{`"(1)"`, "(1)", `"(1)"`},
		{`"0x00"`, "0x00", `"0x00"`},
		{"0x616c696365", "alice", "alice"},
		{"0xff00", "\xff\x00", "0xff00"},
		{`"\u202e\x1b[31m"`, "\u202e\x1b[31m", `"\u202e\x1b[31m"`},
		{`"\ufffd"`, "\ufffd", `"�"`},
		{`("users", 42)`, tuple.Tuple{"users", 42}, `("users", 42)`},
		{`( "a\n)," ,0x00ff,-1,nil , true,false,(1,("x",)))`, tuple.Tuple{
			"a\n),", []byte{0, 0xff}, -1, nil, true, false, tuple.Tuple{1, tuple.Tuple{"x"}},
		}, `("a\n),", 0x00ff, -1, nil, true, false, (1, ("x")))`},
		{"(1.0, 2.5f, 1e+300, 340282366920938463463374607431768211456)", tuple.Tuple{
			1.0, float32(2.5), 1e300, new(big.Int).Lsh(big.NewInt(1), 128),
		}, "(1.0, 2.5f, 1e+300, 340282366920938463463374607431768211456)"},
		{"(f0000000-0000-0000-0000-000000000001)", tuple.Tuple{uuid},
			"(f0000000-0000-0000-0000-000000000001)"},
	} {
		want, isText := x.want.(string)
		if !isText {
			packed, err := x.want.(tuple.Tuple).Pack()
			require.NoError(t, err)
			want = string(packed)
		}
		key, err := keytext.Parse(x.given)
		require.NoError(t, err, x.given)
		assert.Equal(t, want, string(key), x.given)
		assert.Equal(t, x.shown, keytext.Show(key), x.given)
	}
}

func TestErrors(t *testing.T) {
	for _, s := range []string{
		`"open`, `"a"b`, "0x0", "0xgg", "(", "(1", "(1 2)", "(,)", "(1,,2)", "(x)", `("\q")`,
		"(1)x", "(0x1)", "(1.2.3)", "(NaN)",
	} {
		_, err := keytext.Parse(s)
		assert.ErrorIs(t, err, keytext.ErrSyntax, s)
	}
	for _, s := range []string{"", "/a", "a//b", `"a"b`, "a/(1)b"} {
		_, err := keytext.ParsePath(s)
		assert.ErrorIs(t, err, keytext.ErrSyntax, s)
	}
}

func TestPaths(t *testing.T) {
	for s, want := range map[string][]string{
		"users": {"users"}, "users/alice/mail": {"users", "alice", "mail"}, "users/": {"users"},
		`"a/b"/c`: {"a/b", "c"}, "0x2f/b": {"/", "b"}, `(1, "x/y")/z`: {"\x15\x01\x02x/y\x00", "z"},
	} {
		path, err := keytext.ParsePath(s)
		require.NoError(t, err, s)
		got := make([]string, len(path))
		for i, name := range path {
			got[i] = string(name)
		}
		assert.Equal(t, want, got, s)
		again, err := keytext.ParsePath(keytext.ShowPath(path))
		require.NoError(t, err, s)
		assert.Equal(t, path, again, s)
	}
}

// TestAnyBytes: whatever a key is, a terminal prints what is shown, and it can be given again.
func TestAnyBytes(t *testing.T) {
	pieces := []string{
		"a", "(", ")", `"`, "0x", "/", " ", "\\", "\x00", "\x02", "\x15", "\x1b[2J", "\xff", "\u202e",
		"\u0085", "é", "\U0001f600", "\ufffd", "\n", "\r", ",",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var key []byte
		for range 1 + random.IntN(6) {
			key = append(key, pieces[random.IntN(len(pieces))]...)
		}
		for _, shown := range []string{keytext.Show(key), keytext.ShowPath([][]byte{key})} {
			harmless(t, shown)
		}
		again, err := keytext.Parse(keytext.Show(key))
		require.NoError(t, err, hex.EncodeToString(key))
		require.Equal(t, key, again)
		path, err := keytext.ParsePath(keytext.ShowPath([][]byte{key, key}))
		require.NoError(t, err, hex.EncodeToString(key))
		require.Equal(t, [][]byte{key, key}, path)
		harmless(t, keytext.Value(key))
		text, err := keytext.JSON(keytext.Fields(struct{ BigKey []byte }{key}))
		require.NoError(t, err)
		harmless(t, string(text))
	}
	assert.Equal(t, "a\tb\n\\x1b\\u202e\\xff", keytext.Safe("a\tb\n\x1b\u202e\xff"))
}

func harmless(t *testing.T, text string) {
	require.True(t, utf8.ValidString(text), "%q", text)
	for _, r := range text {
		require.True(t, unicode.IsPrint(r), "%q", text)
	}
}
