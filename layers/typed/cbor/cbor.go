// Package cbor is the codec of CBOR (RFC 8949) for package typed:
//
//	users := typed.New(c, typed.String[string](), cbor.Codec[User]())
//
// It is smaller and faster than JSON, and has byte strings. It is a module of its own, so that
// who does not use it does not download the library behind it.
package cbor

import (
	"github.com/fxamacker/cbor/v2"
)

// Values is the codec of values of type V, which Codec makes. It is a typed.Codec.
type Values[V any] struct {
	enc cbor.EncMode
	dec cbor.DecMode
}

// Codec is the codec of values of type V, by the rules of github.com/fxamacker/cbor and its
// struct tags, json's included. It encodes deterministically, times to the nanosecond in their
// zone, and refuses maps with a key twice. Fields that V does not have are dropped when a value
// is read, and are gone once it is written.
func Codec[V any]() Values[V] {
	encoding := cbor.CoreDetEncOptions()
	encoding.Time = cbor.TimeRFC3339Nano
	enc, err := encoding.EncMode()
	if err == nil {
		var dec cbor.DecMode
		dec, err = cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF}.DecMode()
		if err == nil {
			return Values[V]{enc, dec}
		}
	}
	panic(err) // the options are constants
}

// Name is "CBOR".
func (Values[V]) Name() string { return "CBOR" }

// Append appends a value.
func (c Values[V]) Append(dst []byte, v V) ([]byte, error) {
	b, err := c.enc.Marshal(v)
	if err != nil || dst == nil {
		return b, err
	}
	return append(dst, b...), nil
}

// Decode decodes a value, and refuses more than one.
func (c Values[V]) Decode(b []byte) (v V, err error) {
	err = c.dec.Unmarshal(b, &v)
	return v, err
}
