// Quickstart runs a transaction on a folder:
//
//	go run ./examples/quickstart
//
// Run it again, and it finds what it has left. It compiles no SDK of any cloud; its twin
// examples/anybucket works on a bucket of any store.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/folder"
)

func main() {
	dir := flag.String("dir", "./data", "the folder to keep the database in")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run opens the database, runs the transaction, and tells what it did.
func run(ctx context.Context, out io.Writer, dir string) (err error) {
	db, err := strictkv.Open(ctx, "example", folder.New(dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	fmt.Fprintf(out, "opened database %q in folder %s\n", "example", dir)

	start, before := time.Now(), db.Stats()
	if err := hello(ctx, db); err != nil {
		return err
	}
	took, did := time.Since(start), db.Stats().Sub(before)
	fmt.Fprintf(out, "committed a transaction in %v, by %d read and %d conditional write\n",
		took.Round(time.Microsecond), did.Gets, did.Puts)

	value, err := db.Collection([]byte("my-collection")).Read(ctx, []byte("key"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "my-collection/key is now %q\n", value)
	return nil
}

// hello writes "Hello", or "world!" where that has been said.
func hello(ctx context.Context, db *strictkv.DB) error {
	coll := db.Collection([]byte("my-collection"))
	key := []byte("key")
	err := db.Tx(ctx, func(tx *strictkv.Tx) error {
		b, err := tx.Read(coll, key)
		if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
			return err
		}
		if string(b) == "Hello" {
			return tx.Write(coll, key, []byte("world!"))
		}
		return tx.Write(coll, key, []byte("Hello"))
	})
	return err
}
