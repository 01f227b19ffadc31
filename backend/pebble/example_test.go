package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/pebble"
)

// A database in a directory stays there when its process ends.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, name := range []string{"alice", "bob"} {
		store, err := pebble.Open(dir)
		if err != nil {
			log.Fatal(err)
		}
		db, err := strictkv.Open(ctx, "example", store)
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
		fmt.Println(string(names), err, db.Close(ctx), store.Close())
	}
	// Output:
	// alice  <nil> <nil> <nil>
	// alice bob  <nil> <nil> <nil>
}

// A cache whose data can be made again need not wait for the disk.
func ExampleNoSync() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := pebble.Open(dir, pebble.NoSync(), pebble.CacheSize(256<<20))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(store.Close())
	// Output: <nil>
}

// A server with more data than memory gives what it can spare to blocks that were read.
func ExampleCacheSize() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := pebble.Open(dir, pebble.CacheSize(1<<30))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(store.Close())
	// Output: <nil>
}

// Who writes the same keys again and again does with fewer tables, and takes more memory.
func ExampleWriteBuffer() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := pebble.Open(dir, pebble.WriteBuffer(64<<20))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(store.Close())
	// Output: <nil>
}

// Close the database first, then its store: another may open the directory then.
func ExampleBackend_Close() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := pebble.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	_, err = pebble.Open(dir)
	fmt.Println(errors.Is(err, pebble.ErrInUse))
	fmt.Println(store.Close())
	again, err := pebble.Open(dir)
	fmt.Println(err, again.Close())
	// Output:
	// true
	// <nil>
	// <nil> <nil>
}

// Two objects are written at one instant, or none is.
func ExampleBackend_PutAll() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := pebble.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	both := []backend.Write{
		{Name: "a", Data: []byte("1"), If: backend.IfAbsent()},
		{Name: "b", Data: []byte("2"), If: backend.IfAbsent()},
	}
	at, _, err := store.PutAll(ctx, both)
	fmt.Println(len(at), err)
	both[0].If = backend.IfVersion(at[0].Version)
	_, refused, err := store.PutAll(ctx, both)
	fmt.Println(both[refused].Name, errors.Is(err, backend.ErrPrecondition), store.Close())
	// Output:
	// 2 <nil>
	// b true <nil>
}

// More than that is to be written in several batches.
func ExampleBackend_BatchMax() {
	var store *pebble.Backend
	fmt.Println(store.BatchMax() >> 20)
	// Output: 16
}
