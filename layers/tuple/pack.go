package tuple

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// The codes of the kinds of elements. An integer of n bytes has codeZero + n, or codeZero - n
// if it is negative.
const (
	codeNil          = 0x00
	codeBytes        = 0x01
	codeString       = 0x02
	codeTuple        = 0x05
	codeNegative     = 0x0b // more than 8 bytes
	codeZero         = 0x14
	codePositive     = 0x1d // more than 8 bytes
	codeFloat32      = 0x20
	codeFloat64      = 0x21
	codeFalse        = 0x26
	codeTrue         = 0x27
	codeUUID         = 0x30
	codeVersionstamp = 0x33
	codeEscape       = 0xff // behind a zero: it is data, or a nil within a nested tuple

	wordSize = 8 // bytes of an integer that has a code of its own for its size
)

// packer appends elements to b, up to a size of limit.
type packer struct {
	b     []byte
	limit int
	inner []int // the way back from an element that can't be packed
}

// path leads from an element of the tuple to that within it which can't be packed.
func (p *packer) path() []int {
	slices.Reverse(p.inner)
	return p.inner
}

// element appends one; what it returns, if anything, is wrong with it.
func (p *packer) element(e any, depth int) (what string) {
	switch e := e.(type) {
	case nil:
		p.b = append(p.b, codeNil)
		if depth > 0 {
			p.b = append(p.b, codeEscape)
		}
	case []byte:
		what = p.bytes(e)
	case string:
		what = p.string(e)
	case bool:
		if e {
			p.b = append(p.b, codeTrue)
		} else {
			p.b = append(p.b, codeFalse)
		}
	case Tuple:
		what = p.tuple(e, depth+1)
	case []any:
		what = p.tuple(e, depth+1)
	case float32:
		p.b = append(p.b, codeFloat32)
		p.b = binary.BigEndian.AppendUint32(p.b, ordered32(math.Float32bits(e)))
	case float64:
		p.b = append(p.b, codeFloat64)
		p.b = binary.BigEndian.AppendUint64(p.b, ordered64(math.Float64bits(e)))
	case UUID:
		p.b = append(append(p.b, codeUUID), e[:]...)
	case Versionstamp:
		p.b = append(append(p.b, codeVersionstamp), e.Transaction[:]...)
		p.b = binary.BigEndian.AppendUint16(p.b, e.User)
	default:
		what = p.integer(e)
	}
	if what == "" && len(p.b) > p.limit {
		what = fmt.Sprintf("the tuple takes more than %d bytes", SizeMax)
	}
	return what
}

func (p *packer) integer(e any) (what string) {
	switch e := e.(type) {
	case int:
		p.int(int64(e))
	case int8:
		p.int(int64(e))
	case int16:
		p.int(int64(e))
	case int32:
		p.int(int64(e))
	case int64:
		p.int(e)
	case uint:
		p.magnitude(uint64(e), false)
	case uint8:
		p.magnitude(uint64(e), false)
	case uint16:
		p.magnitude(uint64(e), false)
	case uint32:
		p.magnitude(uint64(e), false)
	case uint64:
		p.magnitude(e, false)
	case *big.Int:
		return p.big(e)
	default:
		return fmt.Sprintf("a %T is none of the types that can be", e)
	}
	return ""
}

// bytes appends them with each zero escaped, so that the zero at the end sorts before all that
// goes on.
func (p *packer) bytes(v []byte) (what string) {
	if len(v) > SizeMax {
		return tooLong(len(v))
	}
	p.b = append(p.b, codeBytes)
	for {
		i := bytes.IndexByte(v, 0)
		if i < 0 {
			break
		}
		p.b = append(append(p.b, v[:i]...), 0, codeEscape)
		v = v[i+1:]
	}
	p.b = append(append(p.b, v...), 0)
	return ""
}

func (p *packer) string(v string) (what string) {
	if len(v) > SizeMax {
		return tooLong(len(v))
	}
	if !utf8.ValidString(v) {
		return "the string is not UTF-8; pack it as bytes"
	}
	p.b = append(p.b, codeString)
	for {
		i := strings.IndexByte(v, 0)
		if i < 0 {
			break
		}
		p.b = append(append(p.b, v[:i]...), 0, codeEscape)
		v = v[i+1:]
	}
	p.b = append(append(p.b, v...), 0)
	return ""
}

func tooLong(n int) string { return fmt.Sprintf("it has %d bytes, more than %d", n, SizeMax) }

func (p *packer) tuple(t []any, depth int) (what string) {
	if depth > DepthMax {
		return fmt.Sprintf("tuples are nested more than %d deep", DepthMax)
	}
	p.b = append(p.b, codeTuple)
	for i, e := range t {
		if what := p.element(e, depth); what != "" {
			p.inner = append(p.inner, i)
			return what
		}
	}
	p.b = append(p.b, 0)
	return ""
}

func (p *packer) int(v int64) {
	if v < 0 {
		p.magnitude(-uint64(v), true)
	} else {
		p.magnitude(uint64(v), false)
	}
}

// magnitude appends an integer of up to 8 bytes: big endian without leading zeros, and if it is
// negative with all bits flipped, so that the larger magnitude sorts first.
func (p *packer) magnitude(m uint64, negative bool) {
	n := (bits.Len64(m) + 7) / 8
	code := byte(codeZero + n)
	if negative {
		code, m = byte(codeZero-n), ^m
	}
	var word [wordSize]byte
	binary.BigEndian.PutUint64(word[:], m)
	p.b = append(append(p.b, code), word[wordSize-n:]...)
}

func (p *packer) big(v *big.Int) (what string) {
	if v == nil {
		return "a nil *big.Int"
	}
	n := (v.BitLen() + 7) / 8
	switch {
	case n <= wordSize:
		p.magnitude(new(big.Int).Abs(v).Uint64(), v.Sign() < 0)
		return ""
	case n > IntMax:
		return fmt.Sprintf("the integer takes %d bytes, more than %d", n, IntMax)
	}
	code, flip := byte(codePositive), byte(0)
	if v.Sign() < 0 {
		code, flip = codeNegative, 0xff
	}
	p.b = append(p.b, code, byte(n)^flip)
	at := len(p.b)
	p.b = append(p.b, make([]byte, n)...)
	v.FillBytes(p.b[at:])
	flipAll(p.b[at:], flip)
	return ""
}

func flipAll(b []byte, flip byte) {
	for i := range b {
		b[i] ^= flip
	}
}

// ordered32 turns the bits of a float into an integer of the same order, and ordered64 those of
// a float64: all bits of negative numbers are flipped, and of others the sign.
func ordered32(v uint32) uint32 { return v ^ (uint32(int32(v)>>31) | 1<<31) }
func ordered64(v uint64) uint64 { return v ^ (uint64(int64(v)>>63) | 1<<63) }
