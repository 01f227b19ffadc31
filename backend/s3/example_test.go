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
