package typed

import (
	"fmt"

	"github.com/strictkv/strictkv/layers/tuple"
)

// Pair is a key of two parts.
type Pair[A, B any] struct {
	First  A
	Second B
}

// PairCodec is the codec of pairs, which PairOf makes.
type PairCodec[A, B any] struct {
	first  KeyCodec[A]
	second KeyCodec[B]
}

// PairOf is the codec of keys of two parts, in the order of the first and, among those with the
// same, of the second. They are stored as a packed tuple of both. A part may be a pair itself,
// for keys of more parts; As gives them a type of your own.
func PairOf[A, B any](first KeyCodec[A], second KeyCodec[B]) PairCodec[A, B] {
	return PairCodec[A, B]{first, second}
}

// Prefix is what the keys of all pairs begin with whose first part is a: for Range.Prefix. If
// the second part is a pair as well, its Prefix can be appended. Errors: those of the codec.
func (c PairCodec[A, B]) Prefix(a A) ([]byte, error) {
	if c.first == nil {
		return nil, errNil
	}
	return c.first.AppendPart(nil, a)
}

// Name is made of the names of the parts' codecs.
func (c PairCodec[A, B]) Name() string {
	if c.first == nil || c.second == nil {
		return "pair of nothing"
	}
	return fmt.Sprintf("pair of %s and %s", c.first.Name(), c.second.Name())
}

// Append appends both parts.
func (c PairCodec[A, B]) Append(dst []byte, p Pair[A, B]) ([]byte, error) {
	return c.AppendPart(dst, p)
}

// Decode decodes both parts, and refuses more than these.
func (c PairCodec[A, B]) Decode(b []byte) (Pair[A, B], error) {
	p, rest, err := c.DecodePart(b)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes behind it", len(rest))
	}
	return p, err
}

// AppendPart appends both parts.
func (c PairCodec[A, B]) AppendPart(dst []byte, p Pair[A, B]) ([]byte, error) {
	if c.first == nil || c.second == nil {
		return nil, errNil
	}
	b, err := c.first.AppendPart(dst, p.First)
	if err != nil {
		return nil, fmt.Errorf("first part: %w", err)
	}
	if b, err = c.second.AppendPart(b, p.Second); err != nil {
		return nil, fmt.Errorf("second part: %w", err)
	}
	return b, nil
}

// DecodePart decodes both parts.
func (c PairCodec[A, B]) DecodePart(b []byte) (p Pair[A, B], rest []byte, err error) {
	if c.first == nil || c.second == nil {
		return p, b, errNil
	}
	if p.First, rest, err = c.first.DecodePart(b); err != nil {
		return p, b, fmt.Errorf("first part: %w", err)
	}
	if p.Second, rest, err = c.second.DecodePart(rest); err != nil {
		return p, b, fmt.Errorf("second part: %w", err)
	}
	return p, rest, nil
}

type tupleCodec struct{}

// Tuple is the codec of tuples whose elements differ from key to key. It costs more than
// PairOf, and what is decoded needs type assertions.
func Tuple() KeyCodec[tuple.Tuple] { return tupleCodec{} }

func (tupleCodec) Name() string { return "tuple" }

func (tupleCodec) Append(dst []byte, t tuple.Tuple) ([]byte, error) {
	return tuple.Append(dst, t...)
}

func (tupleCodec) Decode(b []byte) (tuple.Tuple, error) { return tuple.Unpack(b) }

func (tupleCodec) AppendPart(dst []byte, t tuple.Tuple) ([]byte, error) {
	return tuple.Append(dst, t)
}

func (tupleCodec) DecodePart(b []byte) (tuple.Tuple, []byte, error) { return part[tuple.Tuple](b) }

type asCodec[K, P any] struct {
	KeyCodec[P]
	to   func(K) P
	from func(P) (K, error)
}

// As is the codec of a type K that is stored as another, of which there is a codec: a struct as
// a pair of its fields, for example. from undoes to, and may refuse. The order is that of P.
func As[K, P any](c KeyCodec[P], to func(K) P, from func(P) (K, error)) KeyCodec[K] {
	if c == nil || to == nil || from == nil {
		return nil
	}
	return asCodec[K, P]{c, to, from}
}

func (c asCodec[K, P]) Append(dst []byte, k K) ([]byte, error) {
	return c.KeyCodec.Append(dst, c.to(k))
}

func (c asCodec[K, P]) Decode(b []byte) (k K, err error) {
	p, err := c.KeyCodec.Decode(b)
	if err != nil {
		return k, err
	}
	return c.from(p)
}

func (c asCodec[K, P]) AppendPart(dst []byte, k K) ([]byte, error) {
	return c.KeyCodec.AppendPart(dst, c.to(k))
}

func (c asCodec[K, P]) DecodePart(b []byte) (k K, rest []byte, err error) {
	p, rest, err := c.KeyCodec.DecodePart(b)
	if err != nil {
		return k, b, err
	}
	k, err = c.from(p)
	return k, rest, err
}
