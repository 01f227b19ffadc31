package memory_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
)

// Handles of one backend see one bucket, as processes do that open the same one.
func ExampleNew() {
	ctx, bucket := context.Background(), memory.New()
	one, err := strictkv.Open(ctx, "example", bucket)
	if err != nil {
		log.Fatal(err)
	}
	two, err := strictkv.Open(ctx, "example", bucket)
	if err != nil {
		log.Fatal(err)
	}
	key := []byte("key")
	if err := one.Collection([]byte("c")).Write(ctx, key, []byte("value")); err != nil {
		log.Fatal(err)
	}
	value, err := two.Collection([]byte("c")).Read(ctx, key)
	fmt.Println(string(value), err, one.Close(ctx), two.Close(ctx))
	// Output: value <nil> <nil> <nil>
}

// A test of a sweep lets days pass on the store's clock.
func ExampleWithClock() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	bucket := memory.New(memory.WithClock(func() time.Time { return now }))
	now = now.AddDate(0, 0, 3)
	stamp, err := bucket.Put(context.Background(), "name", nil, backend.IfAbsent())
	fmt.Println(stamp.Time.Format(time.DateOnly), err)
	// Output: 2026-01-04 <nil>
}

func ExampleBackend_Len() {
	bucket := memory.New()
	fmt.Println(bucket.Len())
	_, err := bucket.Put(context.Background(), "name", []byte("data"), backend.IfAbsent())
	fmt.Println(bucket.Len(), err)
	// Output:
	// 0
	// 1 <nil>
}
