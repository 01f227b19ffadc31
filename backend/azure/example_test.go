package azure_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/azure"
)

func ExampleNew() {
	ctx := context.Background()
	// Credentials come from the environment (AZURE_CLIENT_ID and others), the
	// machine's managed identity, or "az login".
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		log.Fatal(err)
	}
	client, err := container.NewClient(
		"https://my-account.blob.core.windows.net/my-container", credential, nil)
	if err != nil {
		log.Fatal(err)
	}

	b := azure.New(client)
	if _, err := b.Put(ctx, "greeting", []byte("hello"), backend.IfAbsent()); err != nil &&
		!errors.Is(err, backend.ErrPrecondition) {
		log.Fatal(err)
	}
	o, err := b.Get(ctx, "greeting", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s at ETag %s\n", o.Data, o.Version)
}

func ExampleNew_connectionString() {
	// As the portal shows it below "Access keys", or as Azurite has one.
	client, err := container.NewClientFromConnectionString(
		os.Getenv("AZURE_STORAGE_CONNECTION_STRING"), "my-container", nil)
	if err != nil {
		log.Fatal(err)
	}
	page, err := azure.New(client).List(context.Background(), backend.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(page.Objects), "objects")
}

// open is a container of an account, reached by a signature in its URL. Nothing is asked yet.
func open(options ...azure.Option) *azure.Backend {
	client, err := container.NewClientWithNoCredential(
		"https://account.blob.core.windows.net/container?sig=secret", nil)
	if err != nil {
		log.Fatal(err)
	}
	return azure.New(client, options...)
}

func ExampleWithStorageClass() {
	fmt.Printf("%+v\n", open(azure.WithStorageClass("Hot")).Capabilities())
	// Output: {ConditionalDelete:true SendsOnce:true Near:false}
}

func ExampleWithEncryptionScope() {
	fmt.Printf("%+v\n", open(azure.WithEncryptionScope("my-scope")).Capabilities())
	// Output: {ConditionalDelete:true SendsOnce:true Near:false}
}

// A proxy takes TLS to the cloud apart, and may send a write again.
func ExampleSendsOnce() {
	fmt.Printf("%+v\n", open(azure.SendsOnce(false)).Capabilities())
	// Output: {ConditionalDelete:true SendsOnce:false Near:false}
}
