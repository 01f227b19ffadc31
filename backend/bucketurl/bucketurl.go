// Package bucketurl opens a backend by a URL, for programs that leave the choice of
// the store to a flag or a setting. It depends on the SDKs of all the stores; a
// program that needs one of them only is smaller if it uses that adapter directly.
//
//	gs://bucket/prefix         Google Cloud Storage
//	azblob://container/prefix  Azure Blob Storage
//	s3://bucket/prefix         Amazon S3, and other stores that speak its protocol
//	file:///directory          a folder; also file://./directory, or a plain path
//	                           that is absolute or begins with "./" or "../"
//	mem://name                 the memory of this process: the same name, the same data
//
// A program may add schemes of stores in directories, such as pebble:///directory of package
// pebbleurl, which is a module of its own.
//
// A prefix, which may have several parts, keeps the objects below "prefix/", apart
// from others in the bucket. It makes the names of objects longer, of which stores
// take up to 1024 bytes: one of more than 33 bytes leaves no room for the longest
// keys. Percent signs escape what a URL may not contain.
//
// # Parameters
//
// Parameters follow a question mark, as in s3://bucket?region=eu-west-1.
//
//	file    nosync=true               writes return before the disk has them; see folder.NoSync
//	gs      kms_key=projects/...      of Cloud KMS; see gcs.WithKMSKey
//	azblob  encryption_scope=name     of the account; see azure.WithEncryptionScope
//	s3      region=eu-west-1          instead of that of the environment
//	s3      endpoint=https://host     of a store other than Amazon's
//	s3      path_style=true           the bucket is in the path of requests, not the host's name
//	s3      conditional_delete=false  the store ignores If-Match of a DELETE;
//	                                  see s3.WithoutConditionalDelete
//	s3      kms_key=arn:aws:kms:...   of AWS KMS; see s3.WithKMSKey
//	s3      consistent=true           the bucket has no eventual reads; see s3.StronglyConsistent
//	clouds  sends_once=true           nobody on the way sends a write again, or, if false,
//	                                  somebody may; see SendsOnce of the store's package
//
// # Credentials and emulators
//
// Each store's clients take their credentials from where its users expect them.
//
//   - gs: Application Default Credentials. STORAGE_EMULATOR_HOST names an emulator,
//     which needs none.
//   - azblob: AZURE_STORAGE_CONNECTION_STRING, which may be an emulator's; else the
//     account AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or
//     AZURE_STORAGE_SAS_TOKEN, or else with the default chain of package azidentity.
//   - s3: the default chain of the SDK, with its environment (AWS_ACCESS_KEY_ID,
//     AWS_PROFILE, AWS_REGION) and shared files. AWS_ENDPOINT_URL_S3 or
//     AWS_ENDPOINT_URL names another store or an emulator; where there is one, the
//     region need not be known.
package bucketurl

import (
	"context"
	"fmt"

	"github.com/strictkv/strictkv/backend"
)

// Bucket is an open backend.
type Bucket struct {
	backend.Backend

	close func() error // nil: nothing to close
}

// Scheme is a kind of store in a directory, of which this package need not know: its URLs are
// name:///directory, or name://./directory.
type Scheme struct {
	// Name is that of the scheme, in lower case.
	Name string
	// Parameters are the names of those that its URLs may have.
	Parameters []string
	// Open opens the store in a directory, and returns what closes it, or nil. Its errors are
	// shown, and must hold no parameter's value.
	Open func(
		ctx context.Context, dir string, p Parameters,
	) (b backend.Backend, close func() error, err error)
}

// Open returns the backend that a URL names, by the schemes above and those that are given.
// It sends no request to the store: a missing bucket or wrong credentials are errors of the
// calls. Only the search for credentials may use the network. Of a scheme that is given, the
// errors of its Open are returned.
//
// A URL that is malformed, or for which the environment lacks a setting, is a
// backend.ErrInvalid that says what is allowed; credentials that can't be found or
// read are a backend.ErrDenied. No error shows a user or a parameter's value.
func Open(ctx context.Context, url string, more ...Scheme) (*Bucket, error) {
	l, err := known(more).parse(url)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", redacted(url), err)
	}
	b, err := l.scheme.open(ctx, l)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", redacted(url), err)
	}
	if l.prefix != "" {
		b.Backend = &prefixed{b.Backend, l.prefix}
	}
	return b, nil
}

// Within is the part of the bucket whose objects are below "prefix/", for Close of the whole to be
// called. It makes their names longer: see the package comment.
func (b *Bucket) Within(prefix string) backend.Backend { return &prefixed{b.Backend, prefix + "/"} }

// Close releases what the bucket's clients hold. Close the databases in the bucket
// first: no call may be under way or follow. What is in memory stays there. The SDKs
// of Cloud Storage and S3 keep idle connections for up to 90 seconds more.
func (b *Bucket) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}
