package s3_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/s3"
)

func ExampleNew() {
	ctx := context.Background()
	// Region and credentials come from the environment (AWS_REGION, AWS_PROFILE,
	// AWS_ACCESS_KEY_ID), from ~/.aws, or from the machine's role.
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	b := s3.New(awss3.NewFromConfig(c), "my-bucket")
	if _, err := b.Put(ctx, "greeting", []byte("hello"), backend.IfAbsent()); err != nil &&
		!errors.Is(err, backend.ErrPrecondition) {
		log.Fatal(err)
	}
	o, err := b.Get(ctx, "greeting", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s at version %s\n", o.Data, o.Version)
}

// A store other than AWS has an endpoint, which AWS_ENDPOINT_URL_S3 can name as well.
// Cloudflare R2 takes the region "auto". MinIO ignores the condition of a DELETE.
func ExampleNew_endpoint() {
	c, err := config.LoadDefaultConfig(context.Background(), config.WithRegion("us-east-1"))
	if err != nil {
		log.Fatal(err)
	}
	client := awss3.NewFromConfig(c, func(o *awss3.Options) {
		o.BaseEndpoint = aws.String("http://127.0.0.1:9000") // MinIO's
		o.UsePathStyle = true                                // the bucket is no part of the host
	})
	b := s3.New(client, "my-bucket", s3.WithoutConditionalDelete())
	if _, err := b.List(context.Background(), backend.ListOptions{}); err != nil {
		log.Fatal(err)
	}
}

// capabilities are those of a bucket at an endpoint, Amazon's own if there is none. Nothing is
// asked for that.
func capabilities(endpoint string, options ...s3.Option) backend.Capabilities {
	o := awss3.Options{Region: "eu-west-1"}
	if endpoint != "" {
		o.BaseEndpoint = &endpoint
	}
	return s3.New(awss3.New(o), "my-bucket", options...).Capabilities()
}

func ExampleWithStorageClass() {
	fmt.Printf("%+v\n", capabilities("", s3.WithStorageClass("STANDARD")))
	// Output: {ConditionalDelete:true SendsOnce:true Near:false}
}

func ExampleWithKMSKey() {
	fmt.Printf("%+v\n", capabilities("", s3.WithKMSKey("alias/my-key")))
	// Output: {ConditionalDelete:true SendsOnce:true Near:false}
}

// MinIO ignores the condition of a DELETE.
func ExampleWithoutConditionalDelete() {
	fmt.Printf("%+v\n", capabilities("http://127.0.0.1:9000", s3.WithoutConditionalDelete()))
	// Output: {ConditionalDelete:false SendsOnce:false Near:false}
}

// A store in the same network is reached directly: nobody on the way sends a write again.
func ExampleSendsOnce() {
	fmt.Printf("%+v\n", capabilities("http://10.0.0.2:7070", s3.SendsOnce(true)))
	// Output: {ConditionalDelete:true SendsOnce:true Near:false}
}

// A bucket of Tigris that is in one region.
func ExampleStronglyConsistent() {
	fmt.Printf("%+v\n", capabilities("https://t3.storage.dev", s3.StronglyConsistent()))
	// Output: {ConditionalDelete:true SendsOnce:false Near:false}
}
