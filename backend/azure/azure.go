// Package azure keeps objects in a container of Azure Blob Storage.
//
// The client is the SDK's, made with the credentials of one's choice:
//
//	// A connection string, as the portal shows it and as emulators have one.
//	s := os.Getenv("AZURE_STORAGE_CONNECTION_STRING")
//	c, err := container.NewClientFromConnectionString(s, "my-container", nil)
//
//	// The environment, a managed identity, or the login of the Azure CLI.
//	credential, err := azidentity.NewDefaultAzureCredential(nil)
//	c, err := container.NewClient(
//		"https://my-account.blob.core.windows.net/my-container", credential, nil)
//
// The credentials need to read, list, create, write and delete blobs (the role
// Storage Blob Data Contributor). The account must not have a hierarchical
// namespace, which has another order of names and objects for its folders.
//
// A version is the blob's ETag. Names are of at most 1024 bytes and without
// control characters. Azure takes a backslash for a slash, may drop dots at the end
// of a path's segment, and takes at most 254 segments; its order of names is that of
// their bytes for ASCII, and not documented beyond. A database has names of ASCII
// only, without backslashes and such dots.
//
// Each call is one request, without a retry, whatever the client's options say;
// that goes for the request of a token within the call, too. Only a page of a
// listing that comes back empty, which Azure may send, costs another request. A
// policy or a transport of one's own should not send a request again either: a
// write that was sent twice over net/http has an unknown outcome unless it
// succeeded.
//
// An upload carries the MD5 of its bytes, which the store verifies and keeps. A
// Get verifies its bytes by it. Get and Put hold the bytes once.
//
// # Errors
//
// The errors of package backend that a failed request ends with. "Unknown" is
// backend.ErrOutcomeUnknown; every other error of a write says that it was not
// applied. The adapter never sends a request again. What is worth another try are
// ErrThrottled, ErrUnavailable and, after a look at the object, unknown.
//
//	answer                               Get, List          Put, Delete
//	200 Get, List; 201 Put; 202 Delete   done               applied
//	any other below 400                  ErrUnavailable     unknown
//	304 to a Get of a known version      ErrNotModified     -
//	400, 405, 411, 413                   ErrInvalid         ErrInvalid
//	400 Md5Mismatch                      ErrUnavailable     ErrUnavailable
//	400 InvalidAuthenticationInfo        ErrDenied          ErrDenied
//	401, 403                             ErrDenied          ErrDenied
//	404 BlobNotFound                     ErrNotFound        ErrPrecondition
//	404 ContainerNotFound                ErrBucketNotFound  ErrBucketNotFound
//	404 ResourceNotFound                 ErrBucketNotFound  ErrBucketNotFound
//	409 BlobAlreadyExists                ErrUnavailable     ErrPrecondition
//	409 ContainerBeingDeleted            ErrBucketNotFound  ErrBucketNotFound
//	409 ContainerDisabled                ErrDenied          ErrDenied
//	409 BlobArchived                     ErrUnavailable     ErrUnavailable
//	409 BlobBeingRehydrated              ErrUnavailable     ErrUnavailable
//	409 BlobImmutableDueToPolicy         ErrUnavailable     ErrUnavailable
//	409 SnapshotsPresent                 ErrUnavailable     ErrUnavailable
//	412 ConditionNotMet                  ErrUnavailable     ErrPrecondition
//	412 LeaseIdMissing                   ErrUnavailable     ErrUnavailable
//	429, 503 ServerBusy                  ErrThrottled       ErrThrottled
//	all others: 404, 408, 409, 412, 5xx  ErrUnavailable     unknown
//	200 without ETag or length           ErrUnavailable     -
//	200 cut off, or of another MD5       ErrUnavailable     -
//	200 of more than ObjectMax           ErrCorrupt         -
//	201 without ETag                     -                  unknown
//	any error to a request sent twice    (as above)         unknown
//
//	no answer                            Get, List          Put, Delete
//	no name, connection or TLS trust     ErrUnavailable     ErrUnavailable
//	no token: refused, no credentials    ErrDenied          ErrDenied
//	no token: service out of reach       ErrUnavailable     ErrUnavailable
//	context ended before the call        ErrUnavailable     ErrUnavailable
//	context ended during the call        ErrUnavailable     unknown
//	connection lost, timeout, others     ErrUnavailable     unknown
//
// Azure documents 500 and 503 as worth another try, but only of ServerBusy that
// the request was not received. If the context has ended, the error matches the
// context's error as well. The SDK's error is wrapped, for errors.As. No error's text
// holds a credential, such as the signature in a container's URL.
package azure

import (
	"bytes"
	"context"
	"crypto/md5" // What the store keeps with a blob; no secret hangs on it.
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/internal/wire"
)

const (
	contentType = "application/octet-stream"
	// cacheControl keeps copies out of the caches in front of a public container.
	cacheControl = "no-store"
	// drainMax is the length in bytes of a body that is rather read to its end
	// than given up together with its connection.
	drainMax = 64 << 10
)

var (
	errNoVersion = errors.New("the answer has no ETag")
	errNoLength  = errors.New("the answer has no length")
	errPartial   = errors.New("the answer is a part of the blob")
	errChecksum  = errors.New("the bytes do not match their MD5")
)

// Backend is a container, or what its client sees of it. Make one with New.
type Backend struct {
	place

	container *container.Client
	tier      *blob.AccessTier
	scope     *blob.CPKScopeInfo
	once      bool // see SendsOnce
}

var _ backend.Backend = (*Backend)(nil)

// Option changes a Backend that New makes.
type Option func(*Backend)

// WithStorageClass stores objects in an access tier such as "Hot", which suits
// them best. The default is that of the account.
func WithStorageClass(class string) Option {
	return func(b *Backend) { b.tier = to.Ptr(blob.AccessTier(class)) }
}

// WithEncryptionScope encrypts objects by a scope of the account, which may have a key of
// its own in Key Vault. The default is that of the container.
func WithEncryptionScope(name string) Option {
	return func(b *Backend) { b.scope = &blob.CPKScopeInfo{EncryptionScope: &name} }
}

// SendsOnce declares that nobody on the way to the store sends a write again, or, with
// false, that somebody may, such as a proxy that takes TLS apart. See
// backend.Capabilities. The default is true if the client's endpoint is Microsoft's own,
// such as https://account.blob.core.windows.net; else false.
func SendsOnce(once bool) Option { return func(b *Backend) { b.once = once } }

// New returns a backend over the container. It sends no request: a missing
// container or wrong credentials are errors of the calls. So is the secondary endpoint
// of an account, which lags behind the primary: ErrInvalid.
func New(c *container.Client, options ...Option) *Backend {
	b := &Backend{container: c, place: locate(c.URL())}
	b.once = b.own
	for _, o := range options {
		o(b)
	}
	return b
}

// Capabilities implements backend.Backend.
func (b *Backend) Capabilities() backend.Capabilities {
	return backend.Capabilities{ConditionalDelete: true, SendsOnce: b.once}
}

// Get implements backend.Backend. Data that arrive damaged are ErrUnavailable.
func (b *Backend) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	fail := func(kind, cause error) (backend.Object, error) {
		return backend.Object{}, b.fail("get", name, kind, cause)
	}
	var o blob.DownloadStreamOptions
	err := b.check(name)
	if err == nil && known != "" {
		var tag azcore.ETag
		tag, err = parse(known)
		o.AccessConditions = only(blob.ModifiedAccessConditions{IfNoneMatch: &tag})
	}
	if err != nil {
		return fail(backend.ErrInvalid, err)
	}
	if err := ctx.Err(); err != nil {
		return fail(backend.ErrUnavailable, err)
	}
	r, err := b.container.NewBlobClient(name).DownloadStream(once(ctx), &o)
	if err != nil {
		return backend.Object{}, b.readError(ctx, "get", name, err)
	}
	if r.Body == nil { // So the SDK answers 304.
		if known == "" {
			return fail(backend.ErrUnavailable, errNoVersion)
		}
		return fail(backend.ErrNotModified, nil)
	}
	defer r.Body.Close()
	v := format(r.ETag)
	if v != "" && v == known { // The store did not obey the condition.
		_, _ = io.CopyN(io.Discard, r.Body, drainMax)
		return fail(backend.ErrNotModified, nil)
	}
	data, err := readAll(name, &r)
	if errors.Is(err, backend.ErrCorrupt) {
		return backend.Object{}, err
	}
	if err != nil {
		return fail(backend.ErrUnavailable, wire.Ended(ctx, err))
	}
	return backend.Object{Data: data, Version: v, Time: clock(r.Date)}, nil
}

// readAll reads the whole blob, and looks whether it is.
func readAll(name string, r *blob.DownloadStreamResponse) ([]byte, error) {
	switch {
	case format(r.ETag) == "":
		return nil, errNoVersion
	case r.ContentRange != nil:
		return nil, errPartial
	case r.ContentLength == nil || *r.ContentLength < 0:
		return nil, errNoLength
	case *r.ContentLength > backend.ObjectMax:
		return nil, wire.TooLarge(name, *r.ContentLength)
	}
	data := make([]byte, *r.ContentLength)
	if n, err := io.ReadFull(r.Body, data); err != nil {
		return nil, fmt.Errorf("read %d of %d bytes: %w", n, len(data), err)
	}
	// Only a body read to its end leaves its connection to the next request.
	if n, err := r.Body.Read(make([]byte, 1)); n > 0 {
		return nil, errNoLength
	} else if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	// A blob that others have uploaded in blocks has no checksum.
	if sum := md5.Sum(data); len(r.ContentMD5) > 0 && !bytes.Equal(sum[:], r.ContentMD5) {
		return nil, errChecksum
	}
	return data, nil
}

// Put implements backend.Backend. More than backend.ObjectMax are ErrInvalid.
func (b *Backend) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	cond := blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}
	err := b.check(name)
	if err == nil && !c.Absent() {
		var tag azcore.ETag
		tag, err = parse(c.Version())
		cond = blob.ModifiedAccessConditions{IfMatch: &tag}
	}
	if len(data) > backend.ObjectMax {
		err = wire.ErrSize
	}
	if err != nil {
		return backend.Stamp{}, b.fail("put", name, backend.ErrInvalid, err)
	}
	if err := ctx.Err(); err != nil {
		return backend.Stamp{}, b.fail("put", name, backend.ErrUnavailable, err)
	}
	sum := md5.Sum(data)
	var sent wire.Sendings
	body := streaming.NopCloser(bytes.NewReader(data))
	r, err := b.container.NewBlockBlobClient(name).Upload(counted(ctx, &sent), body,
		&blockblob.UploadOptions{
			AccessConditions: only(cond),
			Tier:             b.tier,
			CPKScopeInfo:     b.scope,
			// The store compares the bytes with it before it stores them.
			TransactionalValidation: blob.TransferValidationTypeMD5(sum[:]),
			HTTPHeaders: &blob.HTTPHeaders{
				BlobContentMD5:   sum[:],
				BlobContentType:  to.Ptr(contentType),
				BlobCacheControl: to.Ptr(cacheControl),
			},
		})
	v := format(r.ETag)
	if err == nil && v == "" {
		err = errNoVersion
	}
	if err != nil {
		return backend.Stamp{}, b.writeError(ctx, "put", name, err, &sent)
	}
	return backend.Stamp{Version: v, Time: clock(r.Date)}, nil
}

// clock is the store's, in seconds, as the SDK has read it; zero if there is none.
func clock(date *time.Time) time.Time {
	if date == nil {
		return time.Time{}
	}
	return date.UTC()
}

// Delete implements backend.Backend. A blob with snapshots, which a database never
// makes, is not deleted: ErrUnavailable.
func (b *Backend) Delete(ctx context.Context, name string, v backend.Version) error {
	tag, err := parse(v)
	if nameErr := b.check(name); nameErr != nil {
		err = nameErr
	}
	if err != nil {
		return b.fail("delete", name, backend.ErrInvalid, err)
	}
	if err := ctx.Err(); err != nil {
		return b.fail("delete", name, backend.ErrUnavailable, err)
	}
	var sent wire.Sendings
	_, err = b.container.NewBlobClient(name).Delete(counted(ctx, &sent), &blob.DeleteOptions{
		AccessConditions: only(blob.ModifiedAccessConditions{IfMatch: &tag}),
	})
	if err != nil {
		return b.writeError(ctx, "delete", name, err, &sent)
	}
	return nil
}

func only(c blob.ModifiedAccessConditions) *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &c}
}
