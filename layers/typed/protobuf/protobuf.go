// Package protobuf is the codec of protocol buffers for package typed:
//
//	users := typed.New(c, typed.String[string](), protobuf.Codec[*pb.User]())
//
// It keeps fields that the program does not know, so that an older one does not drop what a
// newer one has written.
package protobuf

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Messages is the codec of messages of type M, which Codec makes. It is a typed.Codec.
type Messages[M proto.Message] struct{}

var errNil = errors.New("a nil message")

// Codec is the codec of messages of type M, a pointer to a generated struct. The bytes are the
// wire format, with maps in the order of their keys; other versions of the protobuf library may
// choose other bytes for the same message, as ever, so it is no codec of keys.
func Codec[M proto.Message]() Messages[M] { return Messages[M]{} }

// Name is that of the message.
func (Messages[M]) Name() string {
	var m M
	if any(m) == nil {
		return "protobuf"
	}
	return fmt.Sprintf("protobuf %s", m.ProtoReflect().Descriptor().FullName())
}

// Append appends the message in the wire format. A nil message, or one that lacks a required
// field, is an error.
func (Messages[M]) Append(dst []byte, m M) ([]byte, error) {
	if any(m) == nil || !m.ProtoReflect().IsValid() {
		return nil, errNil
	}
	return proto.MarshalOptions{Deterministic: true}.MarshalAppend(dst, m)
}

// Decode decodes a message.
func (Messages[M]) Decode(b []byte) (m M, err error) {
	if any(m) == nil {
		return m, fmt.Errorf("%T is no type of messages", &m)
	}
	into := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(b, into); err != nil {
		return m, err
	}
	return into.(M), nil
}
