package cbor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/typed"
	"github.com/strictkv/strictkv/layers/typed/cbor"
)

type user struct {
	Name string `json:"name"`
	Key  []byte
	Seen time.Time
	Tags map[string]int
}

func Example() {
	ctx := context.Background()
	db, err := strictkv.Open(ctx, "example", memory.New())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close(ctx)
	users := typed.New(db.Collection([]byte("users")), typed.Int[int](), cbor.Codec[user]())
	if err := users.Auto().Set(ctx, 1, user{Name: "alice"}); err != nil {
		fmt.Println(err)
	}
	u, ok, err := users.Auto().Get(ctx, 1)
	fmt.Println(u.Name, ok, err)
	// Output: alice true <nil>
}

func ExampleCodec() {
	var c typed.Codec[[]int] = cbor.Codec[[]int]()
	b, err := c.Append(nil, []int{1, 1000})
	fmt.Printf("%x %v\n", b, err)
	// Output: 82011903e8 <nil>
}

func ExampleValues_Name() {
	fmt.Println(cbor.Codec[int]().Name())
	// Output: CBOR
}

func ExampleValues_Append() {
	b, err := cbor.Codec[string]().Append(nil, "a")
	fmt.Printf("%x %v\n", b, err)
	// Output: 6161 <nil>
}

func ExampleValues_Decode() {
	v, err := cbor.Codec[string]().Decode([]byte{0x61, 0x61})
	fmt.Println(v, err)
	// Output: a <nil>
}

func TestValues(t *testing.T) {
	c := cbor.Codec[user]()
	in := user{
		Name: "alice", Key: []byte{0, 1}, Tags: map[string]int{"a": 1, "b": 2, "c": 3},
		Seen: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
	}
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
	assert.Equal(t, in, out)
	for _, bad := range []string{"", "\xff", "\x01\x01", "\xa2\x61a\x01\x61a\x02"} {
		_, err = c.Decode([]byte(bad))
		require.Error(t, err, "%x", bad)
	}
	_, err = cbor.Codec[chan int]().Append(nil, nil)
	require.Error(t, err)
}
