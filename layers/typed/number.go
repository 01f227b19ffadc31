package typed

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/strictkv/strictkv/layers/tuple"
)

const signBit = 1 << 63

type intCodec[K ~int | ~int8 | ~int16 | ~int32 | ~int64] struct{}

// Int is the codec of signed integers: eight bytes whatever their type, big endian, with the
// sign flipped, so that negative numbers come first. The type may become a wider one later.
func Int[K ~int | ~int8 | ~int16 | ~int32 | ~int64]() KeyCodec[K] { return intCodec[K]{} }

func (intCodec[K]) Name() string { return "int" }

func (intCodec[K]) Append(dst []byte, k K) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, uint64(k)^signBit), nil
}

func (c intCodec[K]) Decode(b []byte) (K, error) {
	if err := sized(b, 8); err != nil {
		return 0, err
	}
	return c.narrow(int64(binary.BigEndian.Uint64(b) ^ signBit))
}

func (intCodec[K]) narrow(v int64) (K, error) {
	if k := K(v); int64(k) == v {
		return k, nil
	}
	return 0, fmt.Errorf("%d is out of range of %T", v, K(0))
}

func (intCodec[K]) AppendPart(dst []byte, k K) ([]byte, error) {
	return tuple.Append(dst, int64(k))
}

func (c intCodec[K]) DecodePart(b []byte) (K, []byte, error) {
	v, rest, err := part[int64](b)
	if err != nil {
		return 0, b, err
	}
	k, err := c.narrow(v)
	return k, rest, err
}

type uintCodec[K ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64] struct{}

// Uint is the codec of unsigned integers: eight bytes whatever their type, big endian. The
// type may become a wider one later.
func Uint[K ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64]() KeyCodec[K] { return uintCodec[K]{} }

func (uintCodec[K]) Name() string { return "uint" }

func (uintCodec[K]) Append(dst []byte, k K) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, uint64(k)), nil
}

func (c uintCodec[K]) Decode(b []byte) (K, error) {
	if err := sized(b, 8); err != nil {
		return 0, err
	}
	return c.narrow(binary.BigEndian.Uint64(b))
}

func (uintCodec[K]) narrow(v uint64) (K, error) {
	if k := K(v); uint64(k) == v {
		return k, nil
	}
	return 0, fmt.Errorf("%d is out of range of %T", v, K(0))
}

func (uintCodec[K]) AppendPart(dst []byte, k K) ([]byte, error) {
	return tuple.Append(dst, uint64(k))
}

func (c uintCodec[K]) DecodePart(b []byte) (K, []byte, error) {
	e, rest, err := tuple.Next(b)
	if err != nil {
		return 0, b, err
	}
	v, ok := e.(uint64)
	if i, small := e.(int64); small && i >= 0 {
		v, ok = uint64(i), true
	}
	if !ok {
		return 0, b, fmt.Errorf("%v where an unsigned integer must be", e)
	}
	k, err := c.narrow(v)
	return k, rest, err
}

type timeCodec struct{}

// Time is the codec of instants, to the nanosecond: twelve bytes, of the seconds since 1970 as
// Int has them, and of the nanoseconds within. What is decoded is in UTC; equal instants are
// equal keys in whatever zone. Every time that a calendar has is in range, the zero Time too.
func Time() KeyCodec[time.Time] { return timeCodec{} }

func (timeCodec) Name() string { return "time" }

func (timeCodec) Append(dst []byte, t time.Time) ([]byte, error) {
	sec, err := unix(t)
	if err != nil {
		return nil, err
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(sec)^signBit)
	return binary.BigEndian.AppendUint32(dst, uint32(t.Nanosecond())), nil
}

// unix is t.Unix, which wraps around 292 billion years before 1970.
func unix(t time.Time) (int64, error) {
	sec := t.Unix()
	if t.Before(time.Unix(0, 0)) != (sec < 0) {
		return 0, fmt.Errorf("%v is out of range", t)
	}
	return sec, nil
}

func (timeCodec) Decode(b []byte) (time.Time, error) {
	if err := sized(b, 12); err != nil {
		return time.Time{}, err
	}
	sec, nsec := binary.BigEndian.Uint64(b)^signBit, binary.BigEndian.Uint32(b[8:])
	return instant(int64(sec), int64(nsec))
}

func instant(sec, nsec int64) (time.Time, error) {
	if nsec < 0 || nsec >= int64(time.Second) {
		return time.Time{}, fmt.Errorf("%d nanoseconds of a second", nsec)
	}
	t := time.Unix(sec, nsec).UTC()
	if got, err := unix(t); err != nil || got != sec {
		return time.Time{}, fmt.Errorf("%d seconds since 1970 are out of range", sec)
	}
	return t, nil
}

func (timeCodec) AppendPart(dst []byte, t time.Time) ([]byte, error) {
	sec, err := unix(t)
	if err != nil {
		return nil, err
	}
	return tuple.Append(dst, sec, t.Nanosecond())
}

func (timeCodec) DecodePart(b []byte) (time.Time, []byte, error) {
	sec, rest, err := part[int64](b)
	if err != nil {
		return time.Time{}, b, err
	}
	nsec, rest, err := part[int64](rest)
	if err != nil {
		return time.Time{}, b, err
	}
	t, err := instant(sec, nsec)
	return t, rest, err
}

type uuidCodec[K ~[16]byte] struct{}

// UUID is the codec of UUIDs of any package whose type is an array of 16 bytes, as
// github.com/google/uuid has it, stored as these.
func UUID[K ~[16]byte]() KeyCodec[K] { return uuidCodec[K]{} }

func (uuidCodec[K]) Name() string { return "UUID" }

func (uuidCodec[K]) Append(dst []byte, k K) ([]byte, error) { return append(dst, k[:]...), nil }

func (uuidCodec[K]) Decode(b []byte) (k K, err error) {
	if err := sized(b, len(k)); err != nil {
		return k, err
	}
	return K(b), nil
}

func (uuidCodec[K]) AppendPart(dst []byte, k K) ([]byte, error) {
	return tuple.Append(dst, tuple.UUID(k))
}

func (uuidCodec[K]) DecodePart(b []byte) (K, []byte, error) {
	v, rest, err := part[tuple.UUID](b)
	return K(v), rest, err
}
