// Anybucket runs the transaction of examples/quickstart on a bucket of any store that package
// bucketurl knows. It compiles the SDKs of three clouds, which takes some minutes once:
//
//	go run ./examples/anybucket -bucket gs://NAME
//	go run ./examples/anybucket -bucket azblob://NAME
//	go run ./examples/anybucket -bucket 's3://NAME?region=eu-west-1'
//	go run ./examples/anybucket -bucket ./data
//
// Credentials come from the environment, as do the addresses of emulators.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/bucketurl"
)

func main() {
	bucket := flag.String("bucket", "./data", "the URL of the bucket to keep the database in")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *bucket); err != nil {
		fmt.Fprintln(os.Stderr, "anybucket:", err)
		os.Exit(1)
	}
}

// run opens the bucket and the database, and runs the transaction.
func run(ctx context.Context, out io.Writer, bucket string) (err error) {
	store, err := bucketurl.Open(ctx, bucket)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	db, err := strictkv.Open(ctx, "example", store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	coll := db.Collection([]byte("my-collection"))
	said, err := strictkv.Do(ctx, db, func(tx *strictkv.Tx) (string, error) {
		return hello(tx, coll)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "database %q in %s says %q\n", "example", bucket, said)
	return nil
}

// hello writes "Hello", or "world!" where that has been said, and returns it.
func hello(tx *strictkv.Tx, coll *strictkv.Collection) (string, error) {
	key := []byte("key")
	b, err := tx.Read(coll, key)
	if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
		return "", err
	}
	say := "Hello"
	if string(b) == say {
		say = "world!"
	}
	return say, tx.Write(coll, key, []byte(say))
}
