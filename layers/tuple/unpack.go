package tuple

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"
)

// unpacker decodes elements of b from at on.
type unpacker struct {
	b  []byte
	at int
}

func (u *unpacker) tooLarge() error {
	return &MalformedError{What: fmt.Sprintf("it has more than %d bytes", SizeMax)}
}

// element decodes one. Within a nested tuple, that is at a depth above 0, a nil is escaped.
func (u *unpacker) element(depth int) (any, error) {
	begin := u.at
	bad := func(what string) (any, error) { return nil, &MalformedError{begin, what} }
	if u.at == len(u.b) {
		return bad("nothing is left for an element")
	}
	code := u.b[u.at]
	u.at++
	switch {
	case code == codeNil:
		if depth > 0 {
			u.at++ // the escape, which the caller has seen
		}
		return nil, nil
	case code == codeBytes, code == codeString:
		v, ok := u.escaped()
		switch {
		case !ok:
			return bad("bytes or a string without end")
		case code == codeBytes:
			return v, nil
		case !utf8.Valid(v):
			return bad("a string that is not UTF-8")
		}
		return string(v), nil
	case code == codeTuple:
		return u.tuple(depth + 1)
	case code == codeFalse, code == codeTrue:
		return code == codeTrue, nil
	case code >= codeZero-wordSize && code <= codeZero+wordSize:
		return u.integer(begin, int(code)-codeZero)
	case code == codeNegative, code == codePositive:
		return u.big(begin, code == codeNegative)
	}
	return u.fixed(begin, code)
}

// fixed decodes an element of a kind that has always the same size.
func (u *unpacker) fixed(begin int, code byte) (any, error) {
	var size int
	switch code {
	case codeFloat32:
		size = 4
	case codeFloat64:
		size = 8
	case codeVersionstamp:
		size = 12
	case codeUUID:
		size = 16
	default:
		return nil, &MalformedError{begin, fmt.Sprintf("no element begins with %#02x", code)}
	}
	v, err := u.take(begin, size)
	if err != nil {
		return nil, err
	}
	switch code {
	case codeFloat32:
		return math.Float32frombits(unordered32(binary.BigEndian.Uint32(v))), nil
	case codeFloat64:
		return math.Float64frombits(unordered64(binary.BigEndian.Uint64(v))), nil
	case codeUUID:
		return UUID(v), nil
	}
	return Versionstamp{[10]byte(v), binary.BigEndian.Uint16(v[10:])}, nil
}

// take returns the next n bytes.
func (u *unpacker) take(begin, n int) ([]byte, error) {
	if left := len(u.b) - u.at; left < n {
		return nil, &MalformedError{begin, fmt.Sprintf("%d of %d bytes are there", left, n)}
	}
	v := u.b[u.at : u.at+n]
	u.at += n
	return v, nil
}

// escaped returns a copy of the bytes up to the next zero that is not escaped; ok reports
// whether there is one.
func (u *unpacker) escaped() (v []byte, ok bool) {
	v = []byte{}
	for rest := u.b[u.at:]; ; {
		i := bytes.IndexByte(rest, 0)
		switch {
		case i < 0:
			return nil, false
		case i+1 == len(rest) || rest[i+1] != codeEscape:
			u.at = len(u.b) - len(rest) + i + 1
			return append(v, rest[:i]...), true
		}
		v = append(v, rest[:i+1]...)
		rest = rest[i+2:]
	}
}

func (u *unpacker) tuple(depth int) (any, error) {
	begin := u.at - 1
	if depth > DepthMax {
		return nil, &MalformedError{begin, fmt.Sprintf("tuples nested more than %d deep", DepthMax)}
	}
	t := Tuple{}
	for {
		rest := u.b[u.at:]
		switch {
		case len(rest) == 0:
			return nil, &MalformedError{begin, "a nested tuple without end"}
		case rest[0] == codeNil && (len(rest) == 1 || rest[1] != codeEscape):
			u.at++
			return t, nil
		}
		e, err := u.element(depth)
		if err != nil {
			return nil, err
		}
		t = append(t, e)
	}
}

// integer decodes one of up to 8 bytes; size is negative if it is.
func (u *unpacker) integer(begin, size int) (any, error) {
	n := max(size, -size)
	v, err := u.take(begin, n)
	if err != nil {
		return nil, err
	}
	var word [wordSize]byte
	copy(word[wordSize-n:], v)
	m := binary.BigEndian.Uint64(word[:])
	if size < 0 {
		m ^= 1<<(8*n) - 1
	}
	switch {
	case n > 0 && m>>(8*(n-1)) == 0:
		return nil, &MalformedError{begin, leadingZero}
	case size > 0 && m > math.MaxInt64:
		return m, nil
	case size >= 0:
		return int64(m), nil
	case m > 1<<63:
		i := new(big.Int).SetUint64(m)
		return i.Neg(i), nil
	}
	return int64(-m), nil
}

const leadingZero = "an integer in more bytes than it needs"

// big decodes an integer of more than 8 bytes.
func (u *unpacker) big(begin int, negative bool) (any, error) {
	flip := byte(0)
	if negative {
		flip = 0xff
	}
	size, err := u.take(begin, 1)
	if err != nil {
		return nil, err
	}
	n := int(size[0] ^ flip)
	v, err := u.take(begin, n)
	if err != nil {
		return nil, err
	}
	if n <= wordSize || v[0] == flip {
		return nil, &MalformedError{begin, leadingZero}
	}
	v = bytes.Clone(v)
	flipAll(v, flip)
	i := new(big.Int).SetBytes(v)
	if negative {
		i.Neg(i)
	}
	return i, nil
}

// unordered32 undoes ordered32, and unordered64 ordered64.
func unordered32(v uint32) uint32 { return v ^ (uint32(int32(^v)>>31) | 1<<31) }
func unordered64(v uint64) uint64 { return v ^ (uint64(int64(^v)>>63) | 1<<63) }
