package protobuf_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/typed"
	"github.com/strictkv/strictkv/layers/typed/protobuf"
)

func Example() {
	ctx := context.Background()
	db, err := strictkv.Open(ctx, "example", memory.New())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close(ctx)
	names := typed.New(db.Collection([]byte("names")), typed.Int[int](),
		protobuf.Codec[*wrapperspb.StringValue]())
	if err := names.Auto().Set(ctx, 1, wrapperspb.String("alice")); err != nil {
		fmt.Println(err)
	}
	m, ok, err := names.Auto().Get(ctx, 1)
	fmt.Println(m.GetValue(), ok, err)
	// Output: alice true <nil>
}

func ExampleCodec() {
	var c typed.Codec[*wrapperspb.BoolValue] = protobuf.Codec[*wrapperspb.BoolValue]()
	b, err := c.Append(nil, wrapperspb.Bool(true))
	fmt.Printf("%x %v\n", b, err)
	// Output: 0801 <nil>
}

func ExampleMessages_Name() {
	fmt.Println(protobuf.Codec[*wrapperspb.BoolValue]().Name())
	// Output: protobuf google.protobuf.BoolValue
}

func ExampleMessages_Append() {
	_, err := protobuf.Codec[*wrapperspb.BoolValue]().Append(nil, nil)
	fmt.Println(err)
	// Output: a nil message
}

func ExampleMessages_Decode() {
	m, err := protobuf.Codec[*wrapperspb.BoolValue]().Decode([]byte{8, 1})
	fmt.Println(m.GetValue(), err)
	// Output: true <nil>
}

func TestMessages(t *testing.T) {
	c := protobuf.Codec[*structpb.Struct]()
	in, err := structpb.NewStruct(map[string]any{"a": 1, "b": "x", "c": nil})
	require.NoError(t, err)
	first, err := c.Append([]byte("before"), in)
	require.NoError(t, err)
	assert.Equal(t, "before", string(first[:6]))
	for range 20 {
		again, err := c.Append([]byte("before"), in)
		require.NoError(t, err)
		assert.Equal(t, first, again, "maps are in order")
	}
	out, err := c.Decode(first[6:])
	require.NoError(t, err)
	assert.True(t, proto.Equal(in, out))
	_, err = c.Decode([]byte{0xff})
	require.Error(t, err)

	whatever := protobuf.Codec[proto.Message]()
	_, err = whatever.Decode(nil)
	require.ErrorContains(t, err, "no type of messages")
	_, err = whatever.Append(nil, nil)
	require.Error(t, err)
	assert.Equal(t, "protobuf", whatever.Name())
}

// Fields that this program does not know stay, when a message is read and written.
func TestUnknownFields(t *testing.T) {
	b := []byte{0x08, 0x01, 0x12, 0x01, 'x'}
	c := protobuf.Codec[*wrapperspb.BoolValue]()
	m, err := c.Decode(b)
	require.NoError(t, err)
	again, err := c.Append(nil, m)
	require.NoError(t, err)
	assert.Equal(t, b, again)
}
