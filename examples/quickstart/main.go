// Quickstart runs a transaction on a folder, or on a bucket of any store that package
// bucketurl knows:
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -bucket gs://NAME
//	go run ./examples/quickstart -bucket azblob://NAME
//	go run ./examples/quickstart -bucket 's3://NAME?region=eu-west-1'
//
// Run it again, and it finds what it has left. Credentials come from the environment, as
// do the addresses of emulators.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl"
)

func main() {
	dir := flag.String("dir", "./data", "the folder to keep the database in")
	bucket := flag.String("bucket", "", "the URL of a bucket to keep it in instead")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *dir, *bucket); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run opens the database, runs the transaction, and tells what it did.
func run(ctx context.Context, out io.Writer, dir, bucket string) error {
	store, err := bucketurl.Open(ctx, cmp.Or(bucket, bucketurl.File(dir)))
	if err != nil {
		return err
	}
	defer store.Close()
	db, err := strictkv.Open(ctx, "example", store)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "opened database %q in %s\n", "example", place(dir, bucket))

	start, before := time.Now(), db.Stats()
	if err := hello(ctx, db); err != nil {
		return errors.Join(err, db.Close(ctx))
	}
	took, did := time.Since(start), db.Stats().Sub(before)
	fmt.Fprintf(out, "committed a transaction in %v, by %d read and %d conditional write\n",
		took.Round(time.Microsecond), did.Gets, did.Puts)

	value, err := db.Collection([]byte("my-collection")).Read(ctx, []byte("key"))
	if err != nil {
		return errors.Join(err, db.Close(ctx))
	}
	fmt.Fprintf(out, "my-collection/key is now %q\n", value)
	return db.Close(ctx)
}

// hello writes "Hello", or "world!" where that has been said.
func hello(ctx context.Context, db *strictkv.DB) error {
	coll := db.Collection([]byte("my-collection"))
	key := []byte("key")
	err := db.Tx(ctx, func(tx *strictkv.Tx) error {
		b, err := tx.Read(coll, key)
		if err != nil && !errors.Is(err, backend.ErrNotFound) {
			return err
		}
		if string(b) == "Hello" {
			return tx.Write(coll, key, []byte("world!"))
		}
		return tx.Write(coll, key, []byte("Hello"))
	})
	return err
}

func place(dir, bucket string) string {
	if bucket != "" {
		return bucket
	}
	return "folder " + dir
}
