package typed

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv/layers/tuple"
)

// Codec turns values into bytes and back. It is used by many goroutines at once.
type Codec[T any] interface {
	// Name names the codec in errors.
	Name() string
	// Append appends the encoding of v to dst.
	Append(dst []byte, v T) ([]byte, error)
	// Decode decodes what Append has appended to nothing. It may keep b, but
	// not change it.
	Decode(b []byte) (T, error)
}

// KeyCodec is a Codec of keys: their bytes have the order of the keys, and equal keys have
// equal bytes.
type KeyCodec[K any] interface {
	Codec[K]
	// AppendPart appends the key as one or more elements of a packed tuple, for a key of
	// several parts. These too have the order of the keys, and if one is the beginning of
	// another's, that goes on with the byte 0xff, which begins no element.
	AppendPart(dst []byte, k K) ([]byte, error)
	// DecodePart decodes what AppendPart has appended, and returns the rest of b.
	DecodePart(b []byte) (k K, rest []byte, err error)
}

var errNil = errors.New("a nil codec")

// part decodes the first element of a packed tuple, which must be of type E.
func part[E any](b []byte) (v E, rest []byte, err error) {
	e, rest, err := tuple.Next(b)
	if err != nil {
		return v, b, err
	}
	v, ok := e.(E)
	if !ok {
		return v, b, fmt.Errorf("a %T where a %T must be", e, v)
	}
	return v, rest, nil
}

// sized tells what is wrong with bytes that are not as many as they must be.
func sized(b []byte, n int) error {
	if len(b) != n {
		return fmt.Errorf("%d bytes, not %d", len(b), n)
	}
	return nil
}

type bytesCodec struct{}

// Bytes is the codec of byte strings, which are stored as they are. An empty one can be no key.
func Bytes() KeyCodec[[]byte] { return bytesCodec{} }

func (bytesCodec) Name() string { return "bytes" }

func (bytesCodec) Append(dst, v []byte) ([]byte, error) { return append(dst, v...), nil }

func (bytesCodec) Decode(b []byte) ([]byte, error) { return b, nil }

func (bytesCodec) AppendPart(dst, v []byte) ([]byte, error) { return tuple.Append(dst, v) }

func (bytesCodec) DecodePart(b []byte) ([]byte, []byte, error) { return part[[]byte](b) }

type stringCodec[K ~string] struct{}

// String is the codec of strings, which are stored as they are. An empty one can be no key; as
// a part, or in an index, it can be, but must be UTF-8 then.
func String[K ~string]() KeyCodec[K] { return stringCodec[K]{} }

func (stringCodec[K]) Name() string { return "string" }

func (stringCodec[K]) Append(dst []byte, v K) ([]byte, error) { return append(dst, v...), nil }

func (stringCodec[K]) Decode(b []byte) (K, error) { return K(b), nil }

func (stringCodec[K]) AppendPart(dst []byte, v K) ([]byte, error) {
	return tuple.Append(dst, string(v))
}

func (stringCodec[K]) DecodePart(b []byte) (K, []byte, error) {
	s, rest, err := part[string](b)
	return K(s), rest, err
}

type jsonCodec[V any] struct{}

// JSON is the codec of values as encoding/json has it: for structs whose fields come and go.
// Fields that V does not have are dropped when a value is read, and are gone once it is written.
func JSON[V any]() Codec[V] { return jsonCodec[V]{} }

func (jsonCodec[V]) Name() string { return "JSON" }

func (jsonCodec[V]) Append(dst []byte, v V) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil || dst == nil {
		return b, err
	}
	return append(dst, b...), nil
}

func (jsonCodec[V]) Decode(b []byte) (v V, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}
