package resp_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

var generous = resp.Bounds{Args: resp.ArgsMax, Bulk: 1 << 20, Free: func(int) {}}

// all reads all commands of a text, and the error that ends it.
func all(src io.Reader, b resp.Bounds) (commands []string, err error) {
	r := resp.NewReader(src, b)
	defer r.Close()
	var held [][][]byte // which are good until Release
	look := func() {
		for _, args := range held {
			commands = append(commands, string(bytes.Join(args, []byte("|"))))
		}
		held = nil
	}
	for {
		args, err := r.Next()
		if err != nil {
			look()
			return commands, err
		}
		if held = append(held, args); len(held) == 3 {
			look()
			r.Release()
		}
	}
}

// TestMiddling: arguments that are read to where they stay, of which some are together too long
// for that, stay as they are until Release, also when the next command has begun before it.
func TestMiddling(t *testing.T) {
	var text strings.Builder
	var want []string
	for i := range 60 {
		size := []int{4095, 4096, 4097, 20_000, 32 << 10, 63 << 10, 70_000, 3}[i%8]
		value := strings.Repeat(string(rune('a'+i%26)), size)
		fmt.Fprintf(&text, "*2\r\n$3\r\nkey\r\n$%d\r\n%s\r\n", size, value)
		want = append(want, "key|"+value)
	}
	for name, src := range map[string]io.Reader{
		"at once":   strings.NewReader(text.String()),
		"halves":    iotest.HalfReader(strings.NewReader(text.String())),
		"in pieces": pieces{strings.NewReader(text.String())},
	} {
		got, err := all(src, generous)
		require.ErrorIs(t, err, io.EOF, name)
		require.Len(t, got, len(want), name)
		for i := range want {
			require.Equal(t, want[i], got[i], "%s: command %d", name, i)
		}
	}
}

// pieces are of a length that divides no buffer.
type pieces struct{ io.Reader }

func (r pieces) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 1777)]) }

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, x := range []struct {
		name, text string
		want       []string
		err        string
	}{
		{"nothing", "", nil, "EOF"},
		{"array", "*2\r\n$3\r\nGET\r\n$1\r\na\r\n", []string{"GET|a"}, "EOF"},
		{"several", "*1\r\n$4\r\nPING\r\nPING x\r\n*1\r\n$0\r\n\r\n",
			[]string{"PING", "PING|x", ""}, "EOF"},
		{"empty arrays and lines", "*0\r\n\r\n*-1\r\n  \r\nPING\n", []string{"PING"}, "EOF"},
		{"large", "*2\r\n$1\r\na\r\n$100000\r\n" + long + "\r\nPING\r\n",
			[]string{"a|" + long, "PING"}, "EOF"},
		{"quotes", `SET "a b" 'c\'d' "\x41\n" ""` + "\r\n", []string{"SET|a b|c'd|A\n|"}, "EOF"},
		{"unbalanced", "SET \"a\r\n", nil, "Protocol error: unbalanced quotes in request"},
		{"behind a quote", "SET \"a\"b\r\n", nil, "Protocol error: unbalanced quotes in request"},
		{"cut", "*2\r\n$3\r\nGET\r\n$1\r\n", nil, "unexpected EOF"},
		{"cut line", "PIN", nil, "unexpected EOF"},
		{"no number", "*x\r\n", nil, "Protocol error: invalid multibulk length"},
		{"too many", "*1048577\r\n", nil, "Protocol error: invalid multibulk length"},
		{"leading zero", "*01\r\n", nil, "Protocol error: invalid multibulk length"},
		{"no bulk", "*1\r\n:1\r\n", nil, "Protocol error: expected '$', got ':'"},
		{"unprintable", "*1\r\n\x01", nil, `Protocol error: expected '$', got '\x1'`},
		{"negative", "*1\r\n$-1\r\n", nil, "Protocol error: invalid bulk length"},
		{"too long", "*1\r\n$1048577\r\n", nil, "Protocol error: invalid bulk length"},
		{"long count", "*" + strings.Repeat("1", 40), nil,
			"Protocol error: too big mbulk count string"},
		{"long bulk count", "*1\r\n$" + strings.Repeat("1", 40), nil,
			"Protocol error: too big bulk count string"},
		{"long line", strings.Repeat("x", resp.InlineMax), nil,
			"Protocol error: too big inline request"},
	} {
		t.Run(x.name, func(t *testing.T) {
			for name, src := range map[string]io.Reader{
				"at once":      strings.NewReader(x.text),
				"byte by byte": iotest.OneByteReader(strings.NewReader(x.text)),
				"with EOF":     iotest.DataErrReader(strings.NewReader(x.text)),
			} {
				got, err := all(src, generous)
				assert.Equal(t, x.want, got, name)
				assert.EqualError(t, err, x.err, name)
			}
		})
	}
}

// TestStranger refuses much from who has not been let in.
func TestStranger(t *testing.T) {
	b := resp.Bounds{Args: 2, Bulk: 10}
	_, err := all(strings.NewReader("*3\r\n"), b)
	assert.ErrorIs(t, err, resp.ErrProtocol)
	_, err = all(strings.NewReader("*1\r\n$11\r\n"), b)
	assert.ErrorIs(t, err, resp.ErrProtocol)
}

// TestReserve asks before it takes memory, and gives back what it took.
func TestReserve(t *testing.T) {
	full := errors.New("full")
	left := 100_000
	b := generous
	b.Reserve = func(n int) error {
		if n > left {
			return full
		}
		left -= n
		return nil
	}
	b.Free = func(n int) { left += n }
	large := "*1\r\n$40000\r\n" + strings.Repeat("x", 40_000) + "\r\n"
	r := resp.NewReader(strings.NewReader(large+large+large), b)
	for range 2 {
		_, err := r.Next()
		require.NoError(t, err)
	}
	assert.Equal(t, 20_000, left)
	_, err := r.Next()
	assert.ErrorIs(t, err, full)
	r.Close()
	assert.Equal(t, 100_000, left)
}

// TestReserveInPart is of who always has a command under way: what those before it took is given
// back.
func TestReserveInPart(t *testing.T) {
	taken, most := 0, 0
	b := generous
	b.Reserve = func(n int) error {
		taken += n
		most = max(most, taken)
		return nil
	}
	b.Free = func(n int) { taken -= n }
	large := "*2\r\n$1\r\na\r\n$40000\r\n" + strings.Repeat("x", 40_000) + "\r\n"
	// Each read ends within the next command.
	var parts []io.Reader
	for i := range 20 {
		text := large[20:] + large[:20]
		if i == 0 {
			text = large + large[:20]
		}
		parts = append(parts, strings.NewReader(text))
	}
	r := resp.NewReader(io.MultiReader(parts...), b)
	for range 20 {
		args, err := r.Next()
		require.NoError(t, err)
		assert.Len(t, args[1], 40_000)
		args, err = r.Ready() // which takes what has come of the next
		require.NoError(t, err)
		require.Empty(t, args)
		require.False(t, r.Filled())
		r.Release()
	}
	assert.Less(t, most, 100_000)
	r.Close()
	assert.Zero(t, taken)
}

// TestFilled: it is known from what a large argument was read with whether more has come: a client
// that sends one command must not be waited for.
func TestFilled(t *testing.T) {
	large := "*2\r\n$1\r\na\r\n$20000\r\n" + strings.Repeat("x", 20_000) + "\r\n"
	r := resp.NewReader(io.MultiReader(strings.NewReader(large), strings.NewReader(large+large)),
		generous)
	defer r.Close()
	_, err := r.Next()
	require.NoError(t, err)
	require.False(t, r.Filled())
	r.Release()
	_, err = r.Next()
	require.NoError(t, err)
	require.True(t, r.Filled())
	_, err = r.Next()
	require.NoError(t, err)
	require.False(t, r.Filled())
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "PING\r\n", "*1\r\n$40000\r\nx",
		"SET \"a\\x41\" 'b'\r\n", "*-1\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		taken := 0
		b := generous
		b.Reserve = func(n int) error { taken += n; return nil }
		b.Free = func(n int) { taken -= n }
		once, errOnce := all(bytes.NewReader(text), b)
		slowly, errSlowly := all(iotest.OneByteReader(bytes.NewReader(text)), b)
		assert.Equal(t, once, slowly, "what is read does not depend on how it comes")
		assert.Equal(t, errOnce.Error(), errSlowly.Error())
		assert.Zero(t, taken, "all memory was given back")
	})
}
