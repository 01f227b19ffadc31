package typed_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/raced"
	"github.com/strictkv/strictkv/layers/tuple"
	"github.com/strictkv/strictkv/layers/typed"
)

// pairsOfEach is how many pairs of keys are compared, of each codec.
func pairsOfEach() int {
	if raced.Enabled() { // it has nothing to find in them
		return 50_000
	}
	return 1_000_000
}

type visit struct {
	User string
	At   time.Time
}

func visits() typed.KeyCodec[visit] {
	return typed.As(typed.PairOf(typed.String[string](), typed.Time()),
		func(v visit) typed.Pair[string, time.Time] {
			return typed.Pair[string, time.Time]{First: v.User, Second: v.At}
		},
		func(p typed.Pair[string, time.Time]) (visit, error) {
			return visit{p.First, p.Second}, nil
		})
}

func randomBytes(r *rand.Rand) []byte {
	b := make([]byte, r.IntN(4))
	for i := range b {
		b[i] = [...]byte{0, 1, 'a', 0xff}[r.IntN(4)]
	}
	return b
}

func randomString(r *rand.Rand) string {
	s := ""
	for range r.IntN(4) {
		s += [...]string{"\x00", "\x01", "a", "ü", "\U0001f4a9"}[r.IntN(5)]
	}
	return s
}

func randomInt(r *rand.Rand) int64 {
	v := int64(1)<<r.IntN(64) + r.Int64N(5) - 2
	if r.IntN(2) == 0 {
		return -v
	}
	return v
}

// randomTime is any time that Go knows, the zero one, and some near to each other.
func randomTime(r *rand.Rand) time.Time {
	switch r.IntN(4) {
	case 0:
		return time.Time{}.Add(time.Duration(r.IntN(5) - 2))
	case 1:
		return time.Unix(r.Int64N(5)-2, r.Int64N(3)*499_999_999)
	case 2:
		return time.Date(r.IntN(20000)-10000, 2, 30, 0, 0, 0, r.IntN(1e9), time.UTC)
	}
	return time.Unix(randomInt(r)>>1, r.Int64N(int64(time.Second)))
}

func randomUUID(r *rand.Rand) tuple.UUID {
	return tuple.UUID{byte(r.IntN(3)), 15: byte(r.IntN(256))}
}

// ordered holds a codec to its promise, for keys and for parts of keys.
func ordered[K any](
	t *testing.T, c typed.KeyCodec[K], random func(*rand.Rand) K, compare func(a, b K) int,
) {
	t.Run(c.Name(), func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		var p, q, pp, qq []byte
		equal := 0
		for range pairsOfEach() {
			a, b := random(r), random(r)
			want := compare(a, b)
			if want == 0 {
				equal++
			}
			p, q = encode(t, c, p, a), encode(t, c, q, b)
			pp, qq = part(t, c, pp, a), part(t, c, qq, b)
			if bytes.Compare(p, q) != want || bytes.Compare(pp, qq) != want {
				t.Fatalf("%v against %v: %d, as %x and %x, or %x and %x", a, b, want, p, q, pp, qq)
			}
			shorter, longer := pp, qq
			if len(pp) > len(qq) {
				shorter, longer = qq, pp
			}
			if want != 0 && bytes.HasPrefix(longer, shorter) && longer[len(shorter)] != 0xff {
				t.Fatalf("%v begins as %v: %x and %x", a, b, pp, qq)
			}
			again, err := c.Decode(bytes.Clone(p))
			if err != nil || compare(a, again) != 0 {
				t.Fatalf("%v became %v: %v", a, again, err)
			}
			again, rest, err := c.DecodePart(append(bytes.Clone(pp), qq...))
			if err != nil || compare(a, again) != 0 || !bytes.Equal(rest, qq) {
				t.Fatalf("%v became %v before %x: %v", a, again, rest, err)
			}
		}
		assert.Less(t, equal, pairsOfEach()/2, "most pairs differ")
	})
}

func encode[K any](t *testing.T, c typed.KeyCodec[K], dst []byte, k K) []byte {
	b, err := c.Append(dst[:0], k)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func part[K any](t *testing.T, c typed.KeyCodec[K], dst []byte, k K) []byte {
	b, err := c.AppendPart(dst[:0], k)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOrder(t *testing.T) {
	ordered(t, typed.Bytes(), randomBytes, bytes.Compare)
	ordered(t, typed.String[string](), randomString, cmp.Compare)
	ordered(t, typed.Int[int64](), randomInt, cmp.Compare)
	ordered(t, typed.Int[int8](), func(r *rand.Rand) int8 { return int8(r.Int()) }, cmp.Compare)
	ordered(t, typed.Uint[uint64](), func(r *rand.Rand) uint64 { return uint64(randomInt(r)) },
		cmp.Compare)
	ordered(t, typed.Time(), randomTime, time.Time.Compare)
	ordered(t, typed.UUID[tuple.UUID](), randomUUID,
		func(a, b tuple.UUID) int { return bytes.Compare(a[:], b[:]) })
	ordered(t, typed.PairOf(typed.String[string](), typed.Int[int64]()),
		func(r *rand.Rand) typed.Pair[string, int64] {
			return typed.Pair[string, int64]{First: randomString(r), Second: randomInt(r)}
		},
		func(a, b typed.Pair[string, int64]) int {
			return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Second, b.Second))
		})
	ordered(t, visits(),
		func(r *rand.Rand) visit { return visit{randomString(r), randomTime(r)} },
		func(a, b visit) int { return cmp.Or(cmp.Compare(a.User, b.User), a.At.Compare(b.At)) })
	ordered(t, typed.Tuple(),
		func(r *rand.Rand) tuple.Tuple { return tuple.Tuple{randomString(r), randomInt(r)} },
		func(a, b tuple.Tuple) int {
			return cmp.Or(cmp.Compare(a[0].(string), b[0].(string)),
				cmp.Compare(a[1].(int64), b[1].(int64)))
		})
}

// TestStored pins the bytes: what is stored never changes its meaning.
func TestStored(t *testing.T) {
	check := func(whole, part string, key func([]byte) ([]byte, error),
		inTuple func([]byte) ([]byte, error)) {
		b, err := key(nil)
		require.NoError(t, err)
		assert.Equal(t, whole, hex.EncodeToString(b))
		b, err = inTuple(nil)
		require.NoError(t, err)
		assert.Equal(t, part, hex.EncodeToString(b))
	}
	check("6100", "016100ff00", bind(typed.Bytes().Append, []byte("a\x00")),
		bind(typed.Bytes().AppendPart, []byte("a\x00")))
	check("c3bc", "02c3bc00", bind(typed.String[string]().Append, "ü"),
		bind(typed.String[string]().AppendPart, "ü"))
	check("7ffffffffffffffe", "13fd", bind(typed.Int[int]().Append, -2),
		bind(typed.Int[int]().AppendPart, -2))
	check("0000000000000100", "160100", bind(typed.Uint[uint]().Append, 256),
		bind(typed.Uint[uint]().AppendPart, 256))
	check("7ffffff1886e090100000000", "0ff1886e090014",
		bind(typed.Time().Append, time.Time{}.Add(time.Second)),
		bind(typed.Time().AppendPart, time.Time{}.Add(time.Second)))
	check("800000006593f38000000001", "186593f3801501",
		bind(typed.Time().Append, time.Date(2024, 1, 2, 11, 29, 4, 1, time.UTC)),
		bind(typed.Time().AppendPart, time.Date(2024, 1, 2, 11, 29, 4, 1, time.UTC)))
	check("01000000000000000000000000000002", "3001000000000000000000000000000002",
		bind(typed.UUID[tuple.UUID]().Append, tuple.UUID{1, 15: 2}),
		bind(typed.UUID[tuple.UUID]().AppendPart, tuple.UUID{1, 15: 2}))
	pair := typed.PairOf(typed.String[string](), typed.Uint[uint8]())
	p := typed.Pair[string, uint8]{First: "a", Second: 7}
	check("0261001507", "0261001507", bind(pair.Append, p), bind(pair.AppendPart, p))
	check("0261001507", "05026100150700", bind(typed.Tuple().Append, tuple.Tuple{"a", 7}),
		bind(typed.Tuple().AppendPart, tuple.Tuple{"a", 7}))
	b, err := typed.JSON[visit]().Append([]byte("x"), visit{User: "a"})
	require.NoError(t, err)
	assert.Equal(t, `x{"User":"a","At":"0001-01-01T00:00:00Z"}`, string(b))
}

func bind[K any](f func([]byte, K) ([]byte, error), k K) func([]byte) ([]byte, error) {
	return func(dst []byte) ([]byte, error) { return f(dst, k) }
}

func refuses[K any](t *testing.T, c typed.KeyCodec[K], packed, what string) {
	t.Helper()
	_, err := c.Decode([]byte(packed))
	assert.ErrorContains(t, err, what, "%s of %q", c.Name(), packed)
}

func refusesPart[K any](t *testing.T, c typed.KeyCodec[K], packed, what string) {
	t.Helper()
	_, rest, err := c.DecodePart([]byte(packed))
	assert.ErrorContains(t, err, what, "part %s of %q", c.Name(), packed)
	assert.NotNil(t, rest)
}

func TestBadBytes(t *testing.T) {
	refuses(t, typed.Int[int](), "1234567", "7 bytes, not 8")
	refuses(t, typed.Int[int8](), "\x80\x00\x00\x00\x00\x00\x00\x80", "128 is out of range of int8")
	refuses(t, typed.Uint[uint](), "", "0 bytes, not 8")
	refuses(t, typed.Uint[uint8](), "\x00\x00\x00\x00\x00\x00\x01\x00", "256 is out of range")
	refuses(t, typed.Time(), "12345678", "8 bytes, not 12")
	refuses(t, typed.Time(), "\x80\x00\x00\x00\x00\x00\x00\x00\x3b\x9a\xca\x00", "1000000000 nano")
	refuses(t, typed.Time(), "\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", "out of range")
	refuses(t, typed.UUID[tuple.UUID](), "1", "1 bytes, not 16")
	refuses(t, typed.PairOf(typed.Bytes(), typed.Bytes()), "\x01\x00\x01\x00\x00", "1 bytes behind")
	refuses(t, typed.PairOf(typed.Bytes(), typed.Bytes()), "\x01\x00", "second part: ")
	refuses(t, typed.PairOf(typed.Bytes(), typed.Bytes()), "", "first part: ")
	refuses(t, typed.Tuple(), "\x01", "without end")
	refuses(t, visits(), "\x01", "without end")
	refusesPart(t, typed.Bytes(), "\x02\x00", "a string where a []uint8 must be")
	refusesPart(t, typed.String[string](), "\x01\x00", "a []uint8 where a string must be")
	refusesPart(t, typed.Int[int](), "\x1c\xff\xff\xff\xff\xff\xff\xff\xff", "uint64 where a int64")
	refusesPart(t, typed.Int[int8](), "\x15\x80", "128 is out of range")
	refusesPart(t, typed.Uint[uint](), "\x13\xfe", "-1 where an unsigned")
	refusesPart(t, typed.Uint[uint](), "", "nothing is left")
	refusesPart(t, typed.Uint[uint8](), "\x16\x01\x00", "256 is out of range")
	refusesPart(t, typed.Time(), "\x14", "nothing is left")
	refusesPart(t, typed.Time(), "\x00", "where a int64 must be")
	refusesPart(t, typed.Time(), "\x14\x13\xfe", "-1 nanoseconds")
	refusesPart(t, typed.UUID[tuple.UUID](), "\x14", "where a tuple.UUID must be")
	refusesPart(t, typed.Tuple(), "\x14", "where a tuple.Tuple must be")
	refusesPart(t, visits(), "\x14", "where a string must be")

	_, err := typed.JSON[int]().Decode([]byte("{"))
	assert.Error(t, err)
	_, err = typed.JSON[chan int]().Append(nil, nil)
	assert.Error(t, err)
	far := time.Unix(math.MinInt64, 0).Add(-time.Hour)
	_, err = typed.Time().Append(nil, far)
	assert.ErrorContains(t, err, "out of range")
	_, err = typed.Time().AppendPart(nil, far)
	assert.ErrorContains(t, err, "out of range")
	_, err = typed.PairOf(typed.Time(), typed.String[string]()).Append(nil,
		typed.Pair[time.Time, string]{First: far})
	assert.ErrorContains(t, err, "first part: ")
	_, err = typed.PairOf(typed.Time(), typed.String[string]()).Append(nil,
		typed.Pair[time.Time, string]{Second: "\xff"})
	assert.ErrorIs(t, err, tuple.ErrElement)
}

// FuzzDecode: no bytes make a codec panic, and what one accepts it encodes to the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x02a\x00\x14\x14"))
	f.Add([]byte("\x80\x00\x00\x00\x65\x93\xf3\x50\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzed(t, b, typed.Int[int16]())
		fuzzed(t, b, typed.Uint[uint16]())
		fuzzed(t, b, typed.Time())
		fuzzed(t, b, typed.UUID[tuple.UUID]())
		fuzzed(t, b, typed.Tuple())
		fuzzed(t, b, visits())
	})
}

func fuzzed[K any](t *testing.T, b []byte, c typed.KeyCodec[K]) {
	if k, err := c.Decode(bytes.Clone(b)); err == nil {
		require.Equal(t, b, encode(t, c, []byte{}, k), c.Name())
	}
	if k, rest, err := c.DecodePart(bytes.Clone(b)); err == nil {
		require.Equal(t, b[:len(b)-len(rest)], part(t, c, []byte{}, k), c.Name())
	}
}
