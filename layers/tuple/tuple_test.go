package tuple_test

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/tuple"
)

// power is ±2^n + d.
func power(sign int64, n uint, d int64) *big.Int {
	v := new(big.Int).Lsh(big.NewInt(1), n)
	return v.Mul(v, big.NewInt(sign)).Add(v, big.NewInt(d))
}

// published are the examples of FoundationDB's design/tuple.md, and the cases of the tests of
// its Java library (TupleSerializationTest). Unpacked is what Unpack returns, if that differs.
var published = []struct {
	name     string
	tuple    tuple.Tuple
	packed   string
	unpacked any
}{
	{"bytes of the design", tuple.Tuple{[]byte("foo\x00bar")}, "01666f6f00ff62617200", nil},
	{"string of the design", tuple.Tuple{"F\u00d4O\u0000bar"}, "0246c3944f00ff62617200", nil},
	{"nested of the design", tuple.Tuple{tuple.Tuple{[]byte("foo\x00bar"), nil, tuple.Tuple{}}},
		"0501666f6f00ff6261720000ff050000", nil},
	{"integer of the design", tuple.Tuple{-5551212}, "11ab4b93", int64(-5551212)},
	{"float of the design", tuple.Tuple{float32(-42)}, "203dd7ffff", nil},

	{"empty", tuple.Tuple{}, "", nil},
	{"0", tuple.Tuple{0}, "14", int64(0)},
	{"big 0", tuple.Tuple{new(big.Int)}, "14", int64(0)},
	{"1", tuple.Tuple{uint8(1)}, "1501", int64(1)},
	{"big 1", tuple.Tuple{big.NewInt(1)}, "1501", int64(1)},
	{"-1", tuple.Tuple{int8(-1)}, "13fe", int64(-1)},
	{"big -1", tuple.Tuple{big.NewInt(-1)}, "13fe", int64(-1)},
	{"255", tuple.Tuple{uint(255)}, "15ff", int64(255)},
	{"-255", tuple.Tuple{-255}, "1300", int64(-255)},
	{"256", tuple.Tuple{uint16(256)}, "160100", int64(256)},
	{"-256", tuple.Tuple{int16(-256)}, "12feff", int64(-256)},
	{"65536", tuple.Tuple{uint32(65536)}, "17010000", int64(65536)},
	{"-65536", tuple.Tuple{int32(-65536)}, "11feffff", int64(-65536)},
	{"short", tuple.Tuple{int16(0x3019)}, "163019", int64(0x3019)},
	{"greatest int64", tuple.Tuple{math.MaxInt64}, "1c7fffffffffffffff", int64(math.MaxInt64)},
	{"2^63", tuple.Tuple{power(1, 63, 0)}, "1c8000000000000000", uint64(1 << 63)},
	{"greatest uint64", tuple.Tuple{uint64(math.MaxUint64)}, "1cffffffffffffffff", nil},
	{"2^64", tuple.Tuple{power(1, 64, 0)}, "1d09010000000000000000", nil},
	{"1-2^32", tuple.Tuple{1 - 1<<32}, "1000000000", int64(1 - 1<<32)},
	{"least int64 and 2", tuple.Tuple{int64(math.MinInt64 + 2)}, "0c8000000000000001", nil},
	{"least int64 and 1", tuple.Tuple{int64(math.MinInt64 + 1)}, "0c8000000000000000", nil},
	{"least int64", tuple.Tuple{int64(math.MinInt64)}, "0c7fffffffffffffff", nil},
	{"big least int64", tuple.Tuple{power(-1, 63, 0)}, "0c7fffffffffffffff",
		int64(math.MinInt64)},
	{"-2^63-1", tuple.Tuple{power(-1, 63, -1)}, "0c7ffffffffffffffe", nil},
	{"1-2^64", tuple.Tuple{power(-1, 64, 1)}, "0c0000000000000000", nil},
	{"3.14f", tuple.Tuple{float32(3.14)}, "20c048f5c3", nil},
	{"-3.14f", tuple.Tuple{float32(-3.14)}, "203fb70a3c", nil},
	{"3.14", tuple.Tuple{3.14}, "21c0091eb851eb851f", nil},
	{"-3.14", tuple.Tuple{-3.14}, "213ff6e147ae147ae0", nil},
	{"0f", tuple.Tuple{float32(0)}, "2080000000", nil},
	{"-0f", tuple.Tuple{float32(math.Copysign(0, -1))}, "207fffffff", nil},
	{"0.0", tuple.Tuple{0.0}, "218000000000000000", nil},
	{"-0.0", tuple.Tuple{math.Copysign(0, -1)}, "217fffffffffffffff", nil},
	{"infinity f", tuple.Tuple{float32(math.Inf(1))}, "20ff800000", nil},
	{"-infinity f", tuple.Tuple{float32(math.Inf(-1))}, "20007fffff", nil},
	{"infinity", tuple.Tuple{math.Inf(1)}, "21fff0000000000000", nil},
	{"-infinity", tuple.Tuple{math.Inf(-1)}, "21000fffffffffffff", nil},
	{"no bytes", tuple.Tuple{[]byte{}}, "0100", nil},
	{"bytes", tuple.Tuple{[]byte{1, 2, 3}}, "0101020300", nil},
	{"zeros", tuple.Tuple{[]byte{0, 0, 0, 4}}, "0100ff00ff00ff0400", nil},
	{"empty string", tuple.Tuple{""}, "0200", nil},
	{"hello", tuple.Tuple{"hello"}, "0268656c6c6f00", nil},
	{"three bytes each", tuple.Tuple{"\u4e2d\u6587"}, "02e4b8ade6968700", nil},
	{"two bytes each", tuple.Tuple{"\u03bc\u03ac\u03b8\u03b7\u03bc\u03b1"},
		"02cebcceacceb8ceb7cebcceb100", nil},
	{"four bytes", tuple.Tuple{"\U0001f525"}, "02f09f94a500", nil},
	{"last code point", tuple.Tuple{"\U0010ffff"}, "02f48fbfbf00", nil},
	{"nested nil", tuple.Tuple{tuple.Tuple{nil}}, "0500ff00", nil},
	{"nested nil and more", tuple.Tuple{[]any{nil, "hello"}}, "0500ff0268656c6c6f0000",
		tuple.Tuple{nil, "hello"}},
	{"nested zero", tuple.Tuple{tuple.Tuple{nil, "hell\x00"}}, "0500ff0268656c6c00ff0000", nil},
	{"behind a nested", tuple.Tuple{tuple.Tuple{nil}, "hello"}, "0500ff000268656c6c6f00", nil},
	{"many behind", tuple.Tuple{tuple.Tuple{nil}, "hello", []byte{1, 0}, []byte{}},
		"0500ff000268656c6c6f00010100ff000100", nil},
	{"UUID", tuple.Tuple{tuple.UUID{0xff, 0xff, 0xff, 0xff, 0xba, 0x5e, 0xba, 0x11,
		0, 0, 0, 0, 0x5c, 0xa1, 0xab, 0x1e}}, "30ffffffffba5eba11000000005ca1ab1e", nil},
	{"false", tuple.Tuple{false}, "26", nil},
	{"true", tuple.Tuple{true}, "27", nil},
	{"versionstamp", tuple.Tuple{tuple.Versionstamp{
		Transaction: [10]byte{0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0, 1, 2, 3}}},
		"33aabbccddeeff000102030000", nil},
	{"user's version", tuple.Tuple{tuple.Versionstamp{
		Transaction: [10]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, User: 657}},
		"330102030405060708090a0291", nil},

	// Not published: the limits of ours that theirs have as well.
	{"nil", tuple.Tuple{nil}, "00", nil},
	{"-2^64", tuple.Tuple{power(-1, 64, 0)}, "0bf6feffffffffffffffff", nil},
	{"largest", tuple.Tuple{power(1, 2040, -1)}, "1dff" + strings.Repeat("ff", 255), nil},
	{"least", tuple.Tuple{power(-1, 2040, 1)}, "0b00" + strings.Repeat("00", 255), nil},
}

func TestPublishedVectors(t *testing.T) {
	for _, c := range published {
		t.Run(c.name, func(t *testing.T) {
			b, err := c.tuple.Pack()
			require.NoError(t, err)
			assert.Equal(t, c.packed, hex.EncodeToString(b))
			got, err := tuple.Unpack(b)
			require.NoError(t, err)
			want := c.tuple
			if c.unpacked != nil {
				want = tuple.Tuple{c.unpacked}
			}
			assert.Equal(t, want, got)
		})
	}
}

func TestNaN(t *testing.T) {
	for _, c := range []struct {
		element any
		packed  string
	}{
		{math.Float32frombits(math.MaxInt32), "20ffffffff"},
		{math.Float64frombits(math.MaxInt64), "21ffffffffffffffff"},
		{math.Float32frombits(math.MaxUint32), "2000000000"},
		{math.Float64frombits(math.MaxUint64), "210000000000000000"},
	} {
		b, err := tuple.Append(nil, c.element)
		require.NoError(t, err)
		assert.Equal(t, c.packed, hex.EncodeToString(b))
		got, err := tuple.Unpack(b)
		require.NoError(t, err)
		again, err := got.Pack()
		require.NoError(t, err)
		assert.Equal(t, b, again, "the bits of a NaN stay")
	}
}

func TestMalformed(t *testing.T) {
	nested := func(n int) string {
		return strings.Repeat("\x05", n) + strings.Repeat("\x00", n)
	}
	for _, c := range []struct{ packed, what string }{
		// Of FoundationDB's Java library (TuplePackingTest).
		{"\x01\xde\xad\xc0\xde", "without end"},
		{"\x01\xde\xad\x00\xff\xc0\xde", "without end"},
		{"\x02hello", "without end"},
		{"\x02hel\x00\xfflo", "without end"},
		{"\x02utf\x08\x80\x00", "not UTF-8"},
		{"\x02utf\x08\xc0\x01\x00", "not UTF-8"},
		{"\x02utf\x10\xed\xa0\xbd\x00", "not UTF-8"},
		{"\x02utf\x10\xed\xb4\xa5\x00", "not UTF-8"},
		{"\x02utf\x10\xed\xa0\xbd\xed\xb4\xa5\x00", "not UTF-8"},
		{"\x05\x02hello\x00", "nested tuple without end"},
		{"\x05\x02hello\x00\x00\xff\x02there\x00", "nested tuple without end"},
		{"\x16\x01", "1 of 2 bytes"},
		{"\x12\x01", "1 of 2 bytes"},
		{"\x1d\x09\x01\x02\x03\x04\x05\x06\x07\x08", "8 of 9 bytes"},
		{"\x0b\xf6\x01\x02\x03\x04\x05\x06\x07\x08", "8 of 9 bytes"},
		{"\x20\x01\x02\x03", "3 of 4 bytes"},
		{"\x21\x01\x02\x03\x04\x05\x06\x07", "7 of 8 bytes"},
		{"\x30\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e", "14 of 16 bytes"},
		{"\x33\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b", "11 of 12 bytes"},
		{"\xff", "begins with 0xff"},

		{"\x00\xff", "at byte 1: no element begins with 0xff"},
		{"\x1d", "0 of 1 bytes"},
		{"\x03\x04", "begins with 0x03"},
		{"\x25", "begins with 0x25"},
		{"\x05\x00\xff", "nested tuple without end"},
		{"\x15\x00", "more bytes than it needs"},
		{"\x13\xff", "more bytes than it needs"},
		{"\x16\x00\x01", "more bytes than it needs"},
		{"\x0b\xf7\x00\x02\x03\x04\x05\x06\x07\x08", "more bytes than it needs"},
		{"\x1d\x00", "more bytes than it needs"},
		{"\x1d\x09\x00\x02\x03\x04\x05\x06\x07\x08\x09", "more bytes than it needs"},
		{"\x14" + nested(tuple.DepthMax+1), "nested more than 64 deep"},
		{strings.Repeat("\x00", tuple.SizeMax+1), "more than 1048576 bytes"},
	} {
		_, err := tuple.Unpack([]byte(c.packed))
		require.ErrorIs(t, err, tuple.ErrMalformed, "%.40q", c.packed)
		assert.ErrorContains(t, err, c.what, "%.40q", c.packed)
	}
	_, _, err := tuple.Next(nil)
	assert.ErrorIs(t, err, tuple.ErrMalformed, "nothing is no element")
	long := append(append([]byte{1}, bytes.Repeat([]byte{7}, tuple.SizeMax)...), 0)
	_, _, err = tuple.Next(long)
	assert.ErrorIs(t, err, tuple.ErrMalformed, "a long element")
	_, err = tuple.Unpack([]byte(nested(tuple.DepthMax)))
	assert.NoError(t, err, "at the limit")
	_, err = tuple.Unpack(make([]byte, tuple.SizeMax))
	assert.NoError(t, err, "at the limit")
}

func TestElementErrors(t *testing.T) {
	deep := tuple.Tuple{}
	for range tuple.DepthMax {
		deep = tuple.Tuple{deep}
	}
	_, err := deep.Pack()
	require.NoError(t, err, "at the limit")
	full := bytes.Repeat([]byte{1}, tuple.SizeMax-2)
	_, err = tuple.Append(nil, full)
	require.NoError(t, err, "at the limit")

	dst := []byte("before")
	for _, c := range []struct {
		tuple tuple.Tuple
		path  []int
		what  string
	}{
		{tuple.Tuple{1, struct{}{}}, []int{1}, "pack tuple: element 1: a struct {} is none"},
		{tuple.Tuple{"a", []any{nil, tuple.Tuple{1, 2, uintptr(3)}}}, []int{1, 1, 2},
			"element 1.1.2: a uintptr"},
		{tuple.Tuple{"\xff"}, []int{0}, "not UTF-8"},
		{tuple.Tuple{(*big.Int)(nil)}, []int{0}, "nil *big.Int"},
		{tuple.Tuple{power(1, 2040, 0)}, []int{0}, "256 bytes, more than 255"},
		{tuple.Tuple{power(-1, 2040, 0)}, []int{0}, "256 bytes, more than 255"},
		{tuple.Tuple{full, 1}, []int{1}, "more than 1048576 bytes"},
		{tuple.Tuple{append(full, 1, 1, 1)}, []int{0}, "it has 1048577 bytes, more than"},
		{tuple.Tuple{string(append(full, 1, 1, 1))}, []int{0}, "it has 1048577 bytes"},
	} {
		b, err := tuple.Append(dst, c.tuple...)
		require.ErrorIs(t, err, tuple.ErrElement)
		assert.ErrorContains(t, err, c.what)
		var e *tuple.ElementError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, c.path, e.Path)
		assert.Equal(t, "before", string(b), "nothing is appended")
		_, err = c.tuple.Range()
		assert.ErrorIs(t, err, tuple.ErrElement)
	}
	_, err = tuple.Tuple{deep}.Pack()
	assert.ErrorContains(t, err, "nested more than 64 deep")
}
