package cache_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"

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

// A program that is started again asks for what it has on disk only whether that has changed.
func ExampleOpen() {
	ctx, bucket := context.Background(), memory.New()
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for range 2 {
		onDisk, err := cache.Open(dir, 1<<30)
		if err != nil {
			log.Fatal(err)
		}
		db, err := strictkv.Open(ctx, "db", bucket, strictkv.WithCache(onDisk))
		if err != nil {
			log.Fatal(err)
		}
		pages := db.Collection([]byte("pages"))
		if _, err := pages.Read(ctx, []byte("home")); err != nil { // the first time
			if err := pages.Write(ctx, []byte("home"), make([]byte, 100_000)); err != nil {
				log.Fatal(err)
			}
		}
		fmt.Println(db.Stats().DiskHits, "values of the disk")
		if err := db.Close(ctx); err != nil {
			log.Fatal(err)
		}
		if err := onDisk.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 0 values of the disk
	// 1 values of the disk
}

// opened opens a cache in a new directory, which remove removes.
func opened(opts ...cache.Option) (c *cache.Cache, remove func()) {
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		log.Fatal(err)
	}
	if c, err = cache.Open(dir, cache.DiskSizeMin, opts...); err != nil {
		log.Fatal(err)
	}
	return c, func() { _ = os.RemoveAll(dir) }
}

// The disk has much, memory little.
func ExampleMemory() {
	c, remove := opened(cache.Memory(16 << 20))
	defer remove()
	fmt.Println(c.Size(), c.Close())
	// Output: 0 <nil>
}

func ExampleSynced() {
	c, remove := opened(cache.Synced())
	defer remove()
	fmt.Println(c.Disk().Records, c.Close())
	// Output: 0 <nil>
}

func ExampleWithLogger() {
	c, remove := opened(cache.WithLogger(slog.Default()))
	defer remove()
	fmt.Println(c.Disk().Damaged, c.Close())
	// Output: 0 <nil>
}

func ExampleCache_Disk() {
	c, remove := opened()
	defer remove()
	s := c.Disk()
	fmt.Println(s.Records, "records,", s.Hits, "hits,", s.Cut, "bytes cut", c.Close())
	// Output: 0 records, 0 hits, 0 bytes cut <nil>
}

// Close the handles that use the cache first.
func ExampleCache_Close() {
	c, remove := opened()
	defer remove()
	fmt.Println(c.Close(), c.Close())
	// Output: <nil> <nil>
}
