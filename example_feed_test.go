package strictkv_test

import (
	"context"
	"fmt"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

func ExampleWithFeed() {
	ctx := context.Background()
	bucket := memory.New() // or one in the cloud
	db, err := strictkv.Open(ctx, "shop", bucket, strictkv.WithFeed(strictkv.FeedOptions{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	orders := db.Collection([]byte("orders"))
	if err := orders.Write(ctx, []byte("7"), []byte("paid")); err != nil {
		fmt.Println(err)
	}
	if err := db.Close(ctx); err != nil { // what has not been written yet is now
		fmt.Println(err)
	}
	fmt.Println(db.Stats().FeedWritten, "object tells followers what has been written")
	// Output: 1 object tells followers what has been written
}
