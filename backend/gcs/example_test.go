package gcs_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"cloud.google.com/go/storage"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/gcs"
)

func ExampleNew() {
	ctx := context.Background()
	// Credentials come from the environment (gcloud auth application-default login,
	// GOOGLE_APPLICATION_CREDENTIALS, or the machine's service account).
	client, err := storage.NewClient(ctx, storage.WithJSONReads())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	b := gcs.New(client.Bucket("my-bucket"))
	if _, err := b.Put(ctx, "greeting", []byte("hello"), backend.IfAbsent()); err != nil &&
		!errors.Is(err, backend.ErrPrecondition) {
		log.Fatal(err)
	}
	o, err := b.Get(ctx, "greeting", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s at generation %s\n", o.Data, o.Version)
}
