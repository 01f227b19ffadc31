package command_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
)

func TestMatch(t *testing.T) {
	for _, x := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "abc", true},
		{"a*c", "abbc", true}, {"a*c", "abb", false}, {"a**b", "ab", true},
		{"?", "", false}, {"?", "a", true},
		{"[abc]", "b", true}, {"[^abc]", "b", false}, {"[^abc]", "d", true}, {"[a-c]x", "bx", true},
		{"[c-a]", "b", true}, {"[a", "a", true}, {"[", "a", false}, {`\*`, "*", true},
		{`\*`, "a", false}, {`\`, `\`, true}, {`[\]]`, "]", true}, {"a[", "a", false},
		{strings.Repeat("*a", 50) + "b", strings.Repeat("a", 500), false}, // ends at all
	} {
		got := command.Match([]byte(x.pattern), []byte(x.text))
		assert.Equal(t, x.want, got, "%q %q", x.pattern, x.text)
		if got {
			assert.True(t, bytes.HasPrefix([]byte(x.text), command.Literal([]byte(x.pattern))))
		}
	}
}

func TestBetween(t *testing.T) {
	for _, x := range []struct {
		start, end int64
		n          int
		from, to   int
	}{
		{0, -1, 5, 0, 5}, {1, 2, 5, 1, 3}, {-2, -1, 5, 3, 5}, {0, 100, 5, 0, 5},
		{-100, 100, 5, 0, 5}, {3, 1, 5, 0, 0},
		{5, 5, 5, 0, 0}, {0, -1, 0, 0, 0}, {0, -100, 5, 0, 0},
	} {
		from, to := command.Between(x.start, x.end, x.n)
		assert.Equal(t, []int{x.from, x.to}, []int{from, to}, "%+v", x)
	}
}

func TestAddFloat(t *testing.T) {
	for _, x := range [][3]string{
		{"10.5", "0.1", "10.6"}, {"0.1", "0.2", "0.3"}, {"5.0e3", "200", "5200"}, {"1", "-1", "0"},
		{"3.0", "0", "3"}, {"x", "1", ""}, {"1", "nan", ""}, {"inf", "1", ""}, {"", "1", ""},
	} {
		got, err := command.AddFloat([]byte(x[0]), []byte(x[1]))
		assert.Equal(t, x[2] == "", err != nil, "%v", x)
		assert.Equal(t, x[2], string(got), "%v", x)
	}
}

func TestParseScan(t *testing.T) {
	args := func(line string) [][]byte { return bytes.Fields([]byte(line)) }
	o, err := command.ParseScan(args("7 match a* COUNT 99999999 type string novalues"))
	assert.NoError(t, err)
	assert.Equal(t, command.Scan{
		Cursor: 7, Pattern: []byte("a*"), Count: 10_000, Type: []byte("string"), NoValues: true,
	}, o)
	for line, want := range map[string]error{
		"x": command.ErrCursor, "-1": command.ErrCursor, "0 FOO x": command.ErrSyntax,
		"0 MATCH": command.ErrSyntax, "0 COUNT x": command.ErrNotInt,
		"0 COUNT 0": command.ErrSyntax,
	} {
		_, err := command.ParseScan(args(line))
		assert.Equal(t, want, err, line)
	}
}
