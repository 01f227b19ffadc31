package folder_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/folder"
)

// A database in a folder stays there when its process ends.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, name := range []string{"alice", "bob"} {
		db, err := strictkv.Open(ctx, "example", folder.New(dir))
		if err != nil {
			log.Fatal(err)
		}
		c := db.Collection([]byte("users"))
		err = c.Update(ctx, []byte("names"), func(old []byte) ([]byte, error) {
			return fmt.Append(old, name, " "), nil
		})
		if err != nil {
			log.Fatal(err)
		}
		names, err := c.Read(ctx, []byte("names"))
		fmt.Println(string(names), err, db.Close(ctx))
	}
	// Output:
	// alice  <nil> <nil>
	// alice bob  <nil> <nil>
}

// Tests need not wait for the disk: what they have written does not outlive a power cut.
func ExampleNoSync() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := strictkv.Open(ctx, "example", folder.New(dir, folder.NoSync()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(db.Close(ctx))
	// Output: <nil>
}
