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
	"github.com/strictkv/strictkv/backend/internal/wire"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/s3"
)

// idlePerHost is the number of connections that a client keeps for its next
// requests. Clients of S3 keep 10 by default, and open others again and again.
const idlePerHost = 256

func denied(what string, err error) error {
	return fmt.Errorf("%w: %s: %w", backend.ErrDenied, what, wire.Hide(err))
}

// refused is the error of a setting of the environment.
func refused(what string, err error) error {
	return fmt.Errorf("%w: %s: %w", backend.ErrInvalid, what, wire.Hide(err))
}

// option returns options of a store: its own for a parameter that is true or false, if it
// is there.
func option[T any](l location, name string, make func(bool) T) ([]T, error) {
	if _, ok := l.parameters[name]; !ok {
		return nil, nil
	}
	value, err := l.parameters.Flag(name, false)
	return []T{make(value)}, err
}

func openGCS(ctx context.Context, l location) (*Bucket, error) {
	options, err := option(l, sendsOnce, gcs.SendsOnce)
	if err != nil {
		return nil, err
	}
	if key, ok := l.parameters["kms_key"]; ok {
		options = append(options, gcs.WithKMSKey(key))
	}
	client, err := storage.NewClient(ctx, storage.WithJSONReads())
	if err != nil {
		return nil, denied("client of Cloud Storage", err)
	}
	b := gcs.New(client.Bucket(l.bucket), options...)
	return &Bucket{Backend: b, close: client.Close}, nil
}

func openAzure(_ context.Context, l location) (*Bucket, error) {
	options, err := option(l, sendsOnce, azure.SendsOnce)
	if err != nil {
		return nil, err
	}
	if scope, ok := l.parameters["encryption_scope"]; ok {
		options = append(options, azure.WithEncryptionScope(scope))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, idlePerHost
	client, err := azureClient(l.bucket, &container.ClientOptions{
		ClientOptions: policy.ClientOptions{Transport: &http.Client{Transport: transport}},
	})
	if err != nil {
		return nil, err
	}
	return &Bucket{Backend: azure.New(client, options...), close: func() error {
		transport.CloseIdleConnections()
		return nil
	}}, nil
}

// azureClient makes a client of the container that the environment has credentials for.
func azureClient(name string, o *container.ClientOptions) (*container.Client, error) {
	if s := os.Getenv("AZURE_STORAGE_CONNECTION_STRING"); s != "" {
		client, err := container.NewClientFromConnectionString(s, name, o)
		if err != nil {
			return nil, refused("AZURE_STORAGE_CONNECTION_STRING", err)
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
		client, err := container.NewClientWithSharedKeyCredential(at, credential, o)
		if err != nil {
			return nil, refused("AZURE_STORAGE_ACCOUNT", err)
		}
		return client, nil
	}
	if sas := strings.TrimPrefix(os.Getenv("AZURE_STORAGE_SAS_TOKEN"), "?"); sas != "" {
		client, err := container.NewClientWithNoCredential(at+"?"+sas, o)
		if err != nil {
			return nil, refused("AZURE_STORAGE_SAS_TOKEN", err)
		}
		return client, nil
	}
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, denied("credentials for Azure", err)
	}
	client, err := container.NewClient(at, credential, o)
	if err != nil {
		return nil, refused("AZURE_STORAGE_ACCOUNT", err)
	}
	return client, nil
}

func openS3(ctx context.Context, l location) (*Bucket, error) {
	pathStyle, err := l.parameters.Flag("path_style", false)
	if err != nil {
		return nil, err
	}
	options, err := l.s3Options()
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
	return &Bucket{Backend: s3.New(client, l.bucket, options...)}, nil
}

func (l location) s3Options() ([]s3.Option, error) {
	options, err := option(l, sendsOnce, s3.SendsOnce)
	if err != nil {
		return nil, err
	}
	conditional, err := l.parameters.Flag("conditional_delete", true)
	if err != nil {
		return nil, err
	}
	if !conditional {
		options = append(options, s3.WithoutConditionalDelete())
	}
	consistent, err := l.parameters.Flag("consistent", false)
	if err != nil {
		return nil, err
	}
	if consistent {
		options = append(options, s3.StronglyConsistent())
	}
	if key, ok := l.parameters["kms_key"]; ok {
		options = append(options, s3.WithKMSKey(key))
	}
	return options, nil
}

func (l location) checkEndpoint() error {
	endpoint, ok := l.parameters["endpoint"]
	u, err := url.Parse(endpoint)
	if ok && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return invalid("parameter \"endpoint\": want https://host or http://host:port")
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
	noSync, err := l.parameters.Flag("nosync", false)
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
