package resp_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

func TestWriter(t *testing.T) {
	write := func(version int) string {
		w := &resp.Writer{Version: version}
		w.Status("OK")
		w.Error("ERR a\r\nb")
		w.Int(-1)
		w.Bulk([]byte("ab"))
		w.Null()
		w.NullArray()
		w.Array(1)
		w.Map(1)
		w.Set(1)
		w.Double(1.5)
		w.Bool(true)
		w.Bool(false)
		w.Verbatim("v")
		var b bytes.Buffer
		n, err := w.WriteTo(&b)
		require.NoError(t, err)
		assert.Equal(t, int64(b.Len()), n)
		assert.Zero(t, w.Len())
		return b.String()
	}
	assert.Equal(t, "+OK\r\n-ERR a  b\r\n:-1\r\n$2\r\nab\r\n$-1\r\n*-1\r\n*1\r\n*2\r\n*1\r\n"+
		"$3\r\n1.5\r\n:1\r\n:0\r\n$1\r\nv\r\n", write(2))
	assert.Equal(t, "+OK\r\n-ERR a  b\r\n:-1\r\n$2\r\nab\r\n_\r\n_\r\n*1\r\n%1\r\n~1\r\n"+
		",1.5\r\n#t\r\n#f\r\n=5\r\ntxt:v\r\n", write(3))
}

// TestRewind forgets replies, those included that are only referred to.
func TestRewind(t *testing.T) {
	w := &resp.Writer{Version: 2}
	long := []byte(strings.Repeat("x", 100_000))
	w.Bulk(long)
	mark := w.Mark()
	w.Bulk(long)
	w.Int(1)
	w.Rewind(mark)
	w.Int(2)
	want := "$100000\r\n" + string(long) + "\r\n:2\r\n"
	assert.Equal(t, len(want), w.Len())
	var b bytes.Buffer
	_, err := w.WriteTo(&b)
	require.NoError(t, err)
	assert.Equal(t, want, b.String())
}

func TestFormatDouble(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 1: "1", -1.5: "-1.5", 0.1: "0.1", 1e16: "10000000000000000", 1e20: "1e+20",
		1e-7: "1e-07", 3.0000000001: "3.0000000001", 1234567.5: "1234567.5",
		math.Inf(1): "inf", math.Inf(-1): "-inf",
	} {
		assert.Equal(t, want, resp.FormatDouble(f))
	}
	assert.Equal(t, "-0", resp.FormatDouble(math.Copysign(0, -1)))
}

func TestParseInt(t *testing.T) {
	for text, ok := range map[string]bool{
		"0": true, "1": true, "-1": true, "9223372036854775807": true, "-9223372036854775808": true,
		"9223372036854775808": false, "": false, "-": false, "+1": false, "01": false, "-0": false,
		" 1": false, "1 ": false, "1_0": false, "0x1": false, "-01": false,
	} {
		_, got := resp.ParseInt([]byte(text))
		assert.Equal(t, ok, got, "%q", text)
	}
}

// TestLongReplies: replies that need a larger buffer are sent as they are, also if another writer
// uses that afterwards.
func TestLongReplies(t *testing.T) {
	var sent [2]bytes.Buffer
	var writers [2]resp.Writer
	for range 3 {
		for i := range writers {
			w, text := &writers[i], strings.Repeat(string(rune('a'+i)), 3000)
			for range 30 { // more than the buffer of the pool has
				w.Bulk([]byte(text))
			}
			mark := w.Mark()
			w.Bulk([]byte("not sent"))
			w.Rewind(mark)
		}
		for i := range writers {
			_, err := writers[i].WriteTo(&sent[i])
			require.NoError(t, err)
		}
	}
	for i := range sent {
		want := "$3000\r\n" + strings.Repeat(string(rune('a'+i)), 3000) + "\r\n"
		assert.Equal(t, strings.Repeat(want, 90), sent[i].String())
	}
}
