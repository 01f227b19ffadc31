package gcs_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"cloud.google.com/go/storage"
	"google.golang.org/api/option"

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

// capabilities are those of a bucket. Nothing is asked for that.
func capabilities(options ...gcs.Option) backend.Capabilities {
	client, err := storage.NewClient(context.Background(), storage.WithJSONReads(),
		option.WithoutAuthentication())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	return gcs.New(client.Bucket("my-bucket"), options...).Capabilities()
}

func ExampleWithStorageClass() {
	fmt.Printf("%+v\n", capabilities(gcs.WithStorageClass("STANDARD")))
	// Output: {ConditionalDelete:true SendsOnce:true Near:false}
}

func ExampleWithKMSKey() {
	fmt.Printf("%+v\n", capabilities(
		gcs.WithKMSKey("projects/p/locations/l/keyRings/r/cryptoKeys/k")))
	// Output: {ConditionalDelete:true SendsOnce:true Near:false}
}

// A proxy takes TLS to the cloud apart, and may send a write again.
func ExampleSendsOnce() {
	fmt.Printf("%+v\n", capabilities(gcs.SendsOnce(false)))
	// Output: {ConditionalDelete:true SendsOnce:false Near:false}
}
