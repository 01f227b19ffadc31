// Package tuple encodes tuples of values as bytes that have the order of the tuples: ("a", 2)
// before ("a", 10) before ("b"). Keys that are tuples can be scanned by what they begin with,
// and read by FoundationDB's libraries in other languages: the bytes are those of its tuple
// layer.
//
//	key, err := tuple.Tuple{"order", 1066, time.Now().Unix()}.Pack()
//	...
//	r, err := tuple.Tuple{"order", 1066}.Range() // all orders of 1066
//	for item, err := range tx.Scan(orders, r) {
//		t, err := tuple.Unpack(item.Key)
//
// # Elements
//
// An element is one of these; Unpack returns the type in the second column. Elements of
// different kinds have the order of the table, whatever they hold.
//
//	nil                                  nil
//	[]byte                               []byte
//	string, in UTF-8                     string
//	Tuple, []any                         Tuple
//	int, int8 to int64, uint to uint64,  int64; uint64 above that;
//	*big.Int of up to 255 bytes          *big.Int beyond both
//	float32                              float32
//	float64                              float64
//	bool                                 bool
//	UUID                                 UUID
//	Versionstamp                         Versionstamp
//
// Strings have the order of their bytes, integers that of numbers whatever their type, and
// floats IEEE's total order: -0 before 0, and NaNs beyond the infinities. A tuple comes before
// those that begin with it.
//
// # Limits
//
// A packed tuple has at most SizeMax bytes, and tuples are nested at most DepthMax deep. A key
// of a database has at most 512 bytes: what they take is one byte for the kind, one for the end
// of bytes, strings and nested tuples and one more for each zero in those, and as many for an
// integer as it needs. The empty tuple is the empty key, which no collection takes.
package tuple

import (
	"errors"
	"fmt"
	"strings"

	"github.com/strictkv/strictkv"
)

const (
	// SizeMax is the size of the largest packed tuple, in bytes.
	SizeMax = 1 << 20
	// DepthMax is how deep tuples may be nested within one.
	DepthMax = 64
	// IntMax is the size of the largest integer, in bytes.
	IntMax = 255
)

// Tuple is a list of elements.
type Tuple []any

// UUID is a UUID as RFC 9562 has it, in its byte order.
type UUID [16]byte

// Versionstamp has the shape of FoundationDB's: the place of a transaction in the order of
// all, and that of a write within it. Nothing here fills one in.
type Versionstamp struct {
	Transaction [10]byte
	User        uint16
}

var (
	// ErrElement: an element that can't be packed; see ElementError. Don't retry.
	ErrElement = errors.New("tuple can't be packed")
	// ErrMalformed: bytes that are no packed tuple; see MalformedError. Don't retry.
	ErrMalformed = errors.New("malformed tuple")
)

// ElementError tells which element can't be packed, and why. It matches ErrElement.
type ElementError struct {
	// Path leads to the element: its place in the tuple, from 0, and then in those nested.
	Path []int
	What string
}

// Error names the element, and what is wrong with it.
func (e *ElementError) Error() string {
	return fmt.Sprintf("pack tuple: element %s: %s",
		strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Path), "[]"), " ", "."), e.What)
}

// Is makes the error match ErrElement.
func (e *ElementError) Is(target error) bool { return target == ErrElement }

// MalformedError tells where bytes are no packed tuple, and why. It matches ErrMalformed.
type MalformedError struct {
	// Offset is that of the element, in bytes.
	Offset int
	What   string
}

// Error tells the place, and what is wrong.
func (e *MalformedError) Error() string {
	return fmt.Sprintf("unpack tuple: at byte %d: %s", e.Offset, e.What)
}

// Is makes the error match ErrMalformed.
func (e *MalformedError) Is(target error) bool { return target == ErrMalformed }

// Pack encodes the tuple. Errors: ErrElement, for an element of another type, a string that is
// not UTF-8, and what exceeds a limit.
func (t Tuple) Pack() ([]byte, error) { return Append(nil, t...) }

// Append appends the encoding of a tuple of the elements to dst. What it appends to an encoded
// tuple makes that longer by the elements. Errors: ErrElement; dst is then returned as it was.
func Append(dst []byte, elements ...any) ([]byte, error) {
	p := packer{b: dst, limit: len(dst) + SizeMax}
	for i, e := range elements {
		if what := p.element(e, 0); what != "" {
			return dst, &ElementError{Path: append([]int{i}, p.path()...), What: what}
		}
	}
	return p.b, nil
}

// Unpack decodes a tuple. Bytes that Pack would not have made are refused: what Unpack
// accepts, Pack encodes to the same bytes. Elements share no memory with b. Errors:
// ErrMalformed.
func Unpack(b []byte) (Tuple, error) {
	u := unpacker{b: b}
	if len(b) > SizeMax {
		return nil, u.tooLarge()
	}
	t := Tuple{}
	for u.at < len(b) {
		e, err := u.element(0)
		if err != nil {
			return nil, err
		}
		t = append(t, e)
	}
	return t, nil
}

// Next decodes the first element of a packed tuple, and returns the rest of the bytes, which
// are a packed tuple as well. Errors: ErrMalformed, also if b is empty.
func Next(b []byte) (element any, rest []byte, err error) {
	u := unpacker{b: b}
	if element, err = u.element(0); err != nil {
		return nil, b, err
	}
	if u.at > SizeMax {
		return nil, b, u.tooLarge()
	}
	return element, b[u.at:], nil
}

// Range is that of all keys that are longer tuples and begin with t; a key that is t itself is
// not in it. The range of the empty tuple holds all keys that are tuples. Errors: ErrElement.
func (t Tuple) Range() (strictkv.Range, error) {
	b, err := t.Pack()
	if err != nil {
		return strictkv.Range{}, err
	}
	n := len(b)
	return strictkv.Range{From: append(b[:n:n], codeNil), To: append(b[:n:n], codeEscape)}, nil
}
