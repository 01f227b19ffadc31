package bucketurl_test

import (
	"context"
	"fmt"
	"log"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl"
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
