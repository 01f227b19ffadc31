// Quickstart runs a transaction on a folder, or on a bucket of Google Cloud Storage:
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -bucket gs://NAME
//
// Run it again, and it finds what it has left. The bucket's client takes its credentials
// from the environment, or honours STORAGE_EMULATOR_HOST.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"cloud.google.com/go/storage"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/gcs"
)

func main() {
	dir := flag.String("dir", "./data", "the folder to keep the database in")
	bucket := flag.String("bucket", "", "the bucket to keep it in instead, as gs://NAME")
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
	store, err := connect(ctx, dir, bucket)
	if err != nil {
		return err
	}
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

// connect returns the backend that the flags ask for.
func connect(ctx context.Context, dir, bucket string) (backend.Backend, error) {
	if bucket == "" {
		return folder.New(dir), nil
	}
	name, ok := strings.CutPrefix(bucket, "gs://")
	if !ok || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("bucket %q: want gs://NAME", bucket)
	}
	client, err := storage.NewClient(ctx, storage.WithJSONReads())
	if err != nil {
		return nil, fmt.Errorf("bucket %q: %w", bucket, err)
	}
	return gcs.New(client.Bucket(name)), nil
}

func place(dir, bucket string) string {
	if bucket != "" {
		return bucket
	}
	return "folder " + dir
}
