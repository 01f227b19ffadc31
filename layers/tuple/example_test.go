package tuple_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/tuple"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func ExampleTuple_Pack() {
	key := must(tuple.Tuple{"order", 1066, nil}.Pack())
	fmt.Printf("%q\n", key)
	_, err := tuple.Tuple{"order", 1 + 2i}.Pack()
	fmt.Println(err, errors.Is(err, tuple.ErrElement))
	// Output:
	// "\x02order\x00\x16\x04*\x00"
	// pack tuple: element 1: a complex128 is none of the types that can be true
}

func ExampleAppend() {
	key := must(tuple.Append(nil, "order"))
	key = must(tuple.Append(key, 1066, true))
	fmt.Println(must(tuple.Unpack(key)))
	// Output: [order 1066 true]
}

func ExampleUnpack() {
	t := must(tuple.Unpack([]byte("\x02order\x00\x16\x04\x2a")))
	fmt.Println(t[0].(string), t[1].(int64))
	_, err := tuple.Unpack([]byte("\x02order\x00\x16\x04"))
	fmt.Println(err, errors.Is(err, tuple.ErrMalformed))
	// Output:
	// order 1066
	// unpack tuple: at byte 7: 1 of 2 bytes are there true
}

func ExampleNext() {
	first, rest, err := tuple.Next([]byte("\x02order\x00\x16\x04\x2a"))
	fmt.Printf("%v %q %v\n", first, rest, err)
	// Output: order "\x16\x04*" <nil>
}

// All that begins with the same elements is one range.
func ExampleTuple_Range() {
	ctx := context.Background()
	db := must(strictkv.Open(ctx, "example", memory.New()))
	defer db.Close(ctx)
	events := db.Collection([]byte("events"))
	for _, t := range []tuple.Tuple{
		{"alice", 2026, "signed in"}, {"bob", 2026, "signed up"}, {"alice", 2025, "signed up"},
	} {
		if err := events.Write(ctx, must(t.Pack()), nil); err != nil {
			fmt.Println(err)
		}
	}
	for item, err := range events.Items(ctx, must(tuple.Tuple{"alice"}.Range())) {
		fmt.Println(must(tuple.Unpack(item.Key)), err)
	}
	// Output:
	// [alice 2025 signed up] <nil>
	// [alice 2026 signed in] <nil>
}
