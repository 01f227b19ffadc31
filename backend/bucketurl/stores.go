package bucketurl

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/azure"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/s3"
)

// idlePerHost is the number of connections that a client keeps for its next
// requests. Clients of S3 keep 10 by default, and open others again and again.
const idlePerHost = 256

func denied(what string, err error) error {
	return fmt.Errorf("%w: %s: %w", backend.ErrDenied, what, err)
}

func openGCS(ctx context.Context, l location) (*Bucket, error) {
	client, err := storage.NewClient(ctx, storage.WithJSONReads())
	if err != nil {
		return nil, denied("client of Cloud Storage", err)
	}
	return &Bucket{Backend: gcs.New(client.Bucket(l.bucket)), close: client.Close}, nil
}

func openAzure(_ context.Context, l location) (*Bucket, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, idlePerHost
	client, err := azureClient(l.bucket, &container.ClientOptions{
		ClientOptions: policy.ClientOptions{Transport: &http.Client{Transport: transport}},
	})
	if err != nil {
		return nil, err
	}
	return &Bucket{Backend: azure.New(client), close: func() error {
		transport.CloseIdleConnections()
		return nil
	}}, nil
}

// azureClient makes a client of the container that the environment has credentials for.
func azureClient(name string, o *container.ClientOptions) (*container.Client, error) {
	if s := os.Getenv("AZURE_STORAGE_CONNECTION_STRING"); s != "" {
		client, err := container.NewClientFromConnectionString(s, name, o)
		if err != nil {
			return nil, invalid("AZURE_STORAGE_CONNECTION_STRING: %v", err)
		}
		return client, nil
	}
	account := os.Getenv("AZURE_STORAGE_ACCOUNT")
	if account == "" {
		return nil, invalid("no account: " +
			"set AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT")
	}
	at := (&url.URL{Scheme: "https", Host: account + ".blob.core.windows.net", Path: name}).String()
	if key := os.Getenv("AZURE_STORAGE_KEY"); key != "" {
		credential, err := container.NewSharedKeyCredential(account, key)
		if err != nil {
			return nil, denied("AZURE_STORAGE_KEY", err)
		}
		return container.NewClientWithSharedKeyCredential(at, credential, o)
	}
	if sas := strings.TrimPrefix(os.Getenv("AZURE_STORAGE_SAS_TOKEN"), "?"); sas != "" {
		return container.NewClientWithNoCredential(at+"?"+sas, o)
	}
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, denied("credentials for Azure", err)
	}
	return container.NewClient(at, credential, o)
}

func openS3(ctx context.Context, l location) (*Bucket, error) {
	pathStyle, err := l.flag("path_style", false)
	if err != nil {
		return nil, err
	}
	conditional, err := l.flag("conditional_delete", true)
	if err != nil {
		return nil, err
	}
	if err := l.checkEndpoint(); err != nil {
		return nil, err
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, denied("settings of the AWS SDK", err)
	}
	if builder, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		cfg.HTTPClient = builder.WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, idlePerHost
		})
	}
	client := awss3.NewFromConfig(cfg, func(o *awss3.Options) {
		o.UsePathStyle = pathStyle
		l.place(o)
	})
	if client.Options().Region == "" {
		return nil, invalid("no region: want s3://%s?region=..., or AWS_REGION", l.bucket)
	}
	if conditional {
		return &Bucket{Backend: s3.New(client, l.bucket)}, nil
	}
	return &Bucket{Backend: s3.New(client, l.bucket, s3.WithoutConditionalDelete())}, nil
}

func (l location) checkEndpoint() error {
	endpoint, ok := l.parameters["endpoint"]
	u, err := url.Parse(endpoint)
	if ok && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return invalid("parameter \"endpoint\": want https://host or http://host:port, not %q", endpoint)
	}
	return nil
}

// place tells a client of S3 where the bucket is.
func (l location) place(o *awss3.Options) {
	if region, ok := l.parameters["region"]; ok {
		o.Region = region
	}
	if endpoint, ok := l.parameters["endpoint"]; ok {
		o.BaseEndpoint = &endpoint
	}
	if o.Region == "" && o.BaseEndpoint != nil {
		o.Region = "us-east-1" // What stores with one region call it.
	}
}

func openFolder(_ context.Context, l location) (*Bucket, error) {
	noSync, err := l.flag("nosync", false)
	if err != nil {
		return nil, err
	}
	if noSync {
		return &Bucket{Backend: folder.New(l.bucket, folder.NoSync())}, nil
	}
	return &Bucket{Backend: folder.New(l.bucket)}, nil
}

// memories are the buckets in memory, by name. They stay for the life of the process.
var memories sync.Map // string -> *memory.Backend

func openMemory(_ context.Context, l location) (*Bucket, error) {
	b, _ := memories.LoadOrStore(l.bucket, memory.New())
	return &Bucket{Backend: b.(*memory.Backend)}, nil
}
