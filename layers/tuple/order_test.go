package tuple_test

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/raced"
	"github.com/strictkv/strictkv/layers/tuple"
)

// pairsCompared is how many pairs of tuples are compared.
func pairsCompared() int {
	if raced.Enabled() { // it has nothing to find in them
		return 50_000
	}
	return 1_000_000
}

// kind is the place of an element's kind in the order.
func kind(e any) int {
	switch e.(type) {
	case nil:
		return 0
	case []byte:
		return 1
	case string:
		return 2
	case tuple.Tuple:
		return 3
	case float32:
		return 5
	case float64:
		return 6
	case bool:
		return 7
	case tuple.UUID:
		return 8
	case tuple.Versionstamp:
		return 9
	}
	return 4
}

// number is an integer of any type.
func number(e any) *big.Int {
	if v, ok := e.(*big.Int); ok {
		return v
	}
	if v := reflect.ValueOf(e); v.CanInt() {
		return big.NewInt(v.Int())
	}
	return new(big.Int).SetUint64(reflect.ValueOf(e).Uint())
}

// total compares floats by their bits: sign and magnitude.
func total(a, b uint64, bits int) int {
	signed := func(v uint64) int64 {
		if v>>(bits-1) == 1 {
			return -int64(v&^(1<<(bits-1))) - 1
		}
		return int64(v)
	}
	return cmp.Compare(signed(a), signed(b))
}

var one = map[bool]int{true: 1}

// compare is the order of elements, told by what they are and not by their encoding.
func compare(a, b any) int {
	if c := cmp.Compare(kind(a), kind(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case nil:
		return 0
	case []byte:
		return bytes.Compare(a, b.([]byte))
	case string:
		return cmp.Compare(a, b.(string))
	case tuple.Tuple:
		return compareTuples(a, b.(tuple.Tuple))
	case float32:
		return total(uint64(math.Float32bits(a)), uint64(math.Float32bits(b.(float32))), 32)
	case float64:
		return total(math.Float64bits(a), math.Float64bits(b.(float64)), 64)
	case bool:
		return cmp.Compare(one[a], one[b.(bool)])
	case tuple.UUID:
		other := b.(tuple.UUID)
		return bytes.Compare(a[:], other[:])
	case tuple.Versionstamp:
		other := b.(tuple.Versionstamp)
		return cmp.Or(bytes.Compare(a.Transaction[:], other.Transaction[:]),
			cmp.Compare(a.User, other.User))
	}
	return number(a).Cmp(number(b))
}

func compareTuples(a, b tuple.Tuple) int {
	for i := range min(len(a), len(b)) {
		if c := compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// random makes elements, of which many are alike.
type random struct{ *rand.Rand }

func (r random) bytes() []byte {
	b := make([]byte, r.IntN(4))
	for i := range b {
		b[i] = [...]byte{0, 0, 1, 'a', 0xfe, 0xff}[r.IntN(6)]
	}
	return b
}

func (r random) string() string {
	s := ""
	for range r.IntN(4) {
		s += [...]string{"\x00", "\x01", "a", "ü", "\uffff", "\U0001f4a9"}[r.IntN(6)]
	}
	return s
}

func (r random) integer() any {
	d := int64(r.IntN(5) - 2)
	v := int64(1) << r.IntN(64)
	switch r.IntN(8) {
	case 0:
		return int8(v) + int8(d)
	case 1:
		return uint32(v) + uint32(d)
	case 2:
		return uint64(v) + uint64(d)
	case 3:
		return power(1-2*r.Int64N(2), uint(r.IntN(2040)), d)
	case 4:
		return -v + d
	}
	return v + d
}

func (r random) float() uint64 {
	return [...]uint64{
		0, 1 << 63, math.Float64bits(math.Inf(1)), math.Float64bits(math.Inf(-1)),
		math.Float64bits(r.NormFloat64()), r.Uint64(),
	}[r.IntN(6)]
}

func (r random) element(depth int) any {
	switch n := r.IntN(10); n {
	case 0:
		return nil
	case 1:
		return r.bytes()
	case 2:
		return r.string()
	case 3:
		if depth < 3 {
			return r.tuple(depth + 1)
		}
	case 4:
		return math.Float32frombits(uint32(r.float() >> 32))
	case 5:
		return math.Float64frombits(r.float())
	case 6:
		return r.IntN(2) == 0
	case 7:
		return tuple.UUID{byte(r.IntN(3)), 15: byte(r.IntN(3))}
	case 8:
		return tuple.Versionstamp{
			Transaction: [10]byte{9: byte(r.IntN(3))}, User: uint16(r.IntN(400)),
		}
	}
	return r.integer()
}

func (r random) tuple(depth int) tuple.Tuple {
	t := tuple.Tuple{}
	for range r.IntN(4) {
		t = append(t, r.element(depth))
	}
	return t
}

// like makes a tuple that begins as another does, with elements of the same kind behind.
func (r random) like(t tuple.Tuple) tuple.Tuple {
	u := append(tuple.Tuple{}, t[:r.IntN(len(t)+1)]...)
	if n := len(u); n > 0 && r.IntN(2) == 0 {
		for range 20 {
			if e := r.element(0); kind(e) == kind(u[n-1]) {
				u[n-1] = e
				break
			}
		}
	}
	return append(u, r.tuple(0)...)
}

func within(r strictkv.Range, key []byte) bool {
	return bytes.Compare(r.From, key) <= 0 && bytes.Compare(key, r.To) < 0
}

// TestOrder compares tuples by their elements, and by their bytes.
func TestOrder(t *testing.T) {
	r := random{rand.New(rand.NewPCG(1, 2))}
	pairs, equal := pairsCompared(), 0
	for range pairs {
		a := r.tuple(0)
		b := r.like(a)
		p, errP := a.Pack()
		q, errQ := b.Pack()
		below, errR := a.Range()
		if err := errors.Join(errP, errQ, errR); err != nil {
			t.Fatal(err)
		}
		want := compareTuples(a, b)
		if want != bytes.Compare(p, q) {
			t.Fatalf("%v against %v: %d, packed %x against %x", a, b, want, p, q)
		}
		if want == 0 {
			equal++
		}
		longer := len(b) > len(a) && compareTuples(a, b[:len(a)]) == 0
		if within(below, q) != longer {
			t.Fatalf("%v, packed %x, in the range of %v, packed %x: %v", b, q, a, p, !longer)
		}
	}
	assert.Greater(t, equal, pairs/100, "some are equal")
	assert.Less(t, equal, pairs/2, "most are not")
}

// TestRoundTrip packs, unpacks, and packs again.
func TestRoundTrip(t *testing.T) {
	r := random{rand.New(rand.NewPCG(3, 4))}
	for range 100_000 {
		in := r.tuple(0)
		b, err := in.Pack()
		require.NoError(t, err)
		out, err := tuple.Unpack(b)
		require.NoError(t, err)
		if compareTuples(in, out) != 0 {
			t.Fatalf("%v became %v", in, out)
		}
		var parts tuple.Tuple
		for rest := b; len(rest) > 0; {
			e, next, err := tuple.Next(rest)
			require.NoError(t, err)
			parts, rest = append(parts, e), next
		}
		if compareTuples(in, parts) != 0 {
			t.Fatalf("%v became %v, one by one", in, parts)
		}
	}
}

// FuzzUnpack: what is unpacked is packed to the same bytes, and nothing panics.
func FuzzUnpack(f *testing.F) {
	for _, c := range published {
		b, err := c.tuple.Pack()
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add([]byte("\x05\x05\x00\xff\x00\x00\xff\x00\x0b\xf6"))
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bytes.Clone(b)
		got, err := tuple.Unpack(b)
		if err != nil {
			require.ErrorIs(t, err, tuple.ErrMalformed)
			return
		}
		again, err := got.Pack()
		require.NoError(t, err)
		require.True(t, bytes.Equal(in, again), "%x became %x", in, again)
		if len(got) > 0 {
			e, rest, err := tuple.Next(b)
			require.NoError(t, err)
			require.Zero(t, compare(got[0], e))
			_, err = tuple.Unpack(rest)
			require.NoError(t, err)
		}
	})
}

// FuzzOrder: what Unpack makes of two byte strings has their order.
func FuzzOrder(f *testing.F) {
	f.Add([]byte("\x05\x00"), []byte("\x05\x00\xff\x00"))
	f.Add([]byte("\x0c\x7f\xff\xff\xff\xff\xff\xff\xfe"), []byte("\x13\xfe"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, errX := tuple.Unpack(a)
		y, errY := tuple.Unpack(b)
		if errX == nil && errY == nil {
			require.Equal(t, bytes.Compare(a, b), compareTuples(x, y), "%x and %x", a, b)
		}
	})
}

func BenchmarkTuple(b *testing.B) {
	key := tuple.Tuple{"order", 1066, tuple.UUID{1, 2, 3}}
	packed, err := key.Pack()
	require.NoError(b, err)
	b.Run("pack", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = key.Pack()
		}
	})
	b.Run("unpack", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = tuple.Unpack(packed)
		}
	})
}
