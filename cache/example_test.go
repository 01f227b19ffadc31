package cache_test

import (
	"context"
	"fmt"
	"log"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/cache"
)

// Handles that are given one cache have one bound together.
func ExampleNew() {
	ctx, shared := context.Background(), cache.New(64<<20)
	for _, name := range []string{"users", "orders"} {
		db, err := strictkv.Open(ctx, name, memory.New(), strictkv.WithCache(shared))
		if err != nil {
			log.Fatal(err)
		}
		defer db.Close(ctx)
		if err := db.Collection([]byte("c")).Write(ctx, []byte("key"), []byte("v")); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(shared.Size() > 0, shared.Size() < 64<<20)
	// Output: true true
}

// Half of what a handle would take by itself leaves room for what else the program does.
func ExampleDefaultSize() {
	size := cache.DefaultSize()
	small := cache.New(size / 2)
	fmt.Println(size > 0, size <= cache.DefaultSizeMax, small.Size())
	// Output: true true 0
}

func ExampleCache_Size() {
	fmt.Println(cache.New(1<<20).Size(), "bytes are kept at first")
	// Output: 0 bytes are kept at first
}
