package bucketurl_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/memory"
)

// The databases in a bucket are closed before it is.
func ExampleBucket_Close() {
	ctx := context.Background()
	bucket, err := bucketurl.Open(ctx, "mem://example-of-close")
	if err != nil {
		log.Fatal(err)
	}
	db, err := strictkv.Open(ctx, "example", bucket)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(db.Close(ctx), bucket.Close())
	// Output: <nil> <nil>
}

func ExampleFile() {
	fmt.Println(bucketurl.File("/var/lib/my app"))
	// Output: file:///var/lib/my%20app
}

// A part of a bucket, for tests perhaps, is removed without what else is there.
func ExampleBucket_Within() {
	ctx := context.Background()
	bucket, err := bucketurl.Open(ctx, "mem://example-of-within")
	if err != nil {
		log.Fatal(err)
	}
	defer bucket.Close()
	part := bucket.Within("trial")
	if _, err := part.Put(ctx, "greeting", []byte("hello"), backend.IfAbsent()); err != nil {
		log.Fatal(err)
	}
	o, err := bucket.Get(ctx, "trial/greeting", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", o.Data)
	// Output: hello
}

// A scheme of a program's own has parameters that are true or false.
func ExampleParameters_Flag() {
	scheme := bucketurl.Scheme{
		Name: "heap", Parameters: []string{"fast"},
		Open: func(_ context.Context, dir string, p bucketurl.Parameters) (
			backend.Backend, func() error, error,
		) {
			fast, err := p.Flag("fast", false)
			fmt.Println(dir, fast, err)
			return memory.New(), nil, err
		},
	}
	bucket, err := bucketurl.Open(context.Background(), "heap:///data?fast=true", scheme)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(bucket.Close())
	// Output:
	// /data true <nil>
	// <nil>
}

func ExampleParameters_Int() {
	scheme := bucketurl.Scheme{
		Name: "heap", Parameters: []string{"size"},
		Open: func(_ context.Context, dir string, p bucketurl.Parameters) (
			backend.Backend, func() error, error,
		) {
			size, err := p.Int("size", 1, 100, 10)
			fmt.Println(dir, size, err)
			return memory.New(), nil, err
		},
	}
	bucket, err := bucketurl.Open(context.Background(), "heap:///data?size=20", scheme)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(bucket.Close())
	// Output:
	// /data 20 <nil>
	// <nil>
}

// What is in memory is written one object at a time.
func ExampleBucket_PutAll() {
	ctx := context.Background()
	bucket, err := bucketurl.Open(ctx, "mem://example-of-put-all")
	if err != nil {
		log.Fatal(err)
	}
	defer bucket.Close()
	_, _, err = bucket.PutAll(ctx, []backend.Write{
		{Name: "greeting", Data: []byte("hello"), If: backend.IfAbsent()},
	})
	fmt.Println(bucket.BatchMax(), errors.Is(err, backend.ErrInvalid))
	// Output: 0 true
}

// A store that can't write several objects at one instant says so by 0.
func ExampleBucket_BatchMax() {
	bucket, err := bucketurl.Open(context.Background(), "mem://example-of-batch-max")
	if err != nil {
		log.Fatal(err)
	}
	defer bucket.Close()
	fmt.Println(bucket.BatchMax())
	// Output: 0
}
