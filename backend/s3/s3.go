// Package s3 keeps objects in a bucket of Amazon S3, or of a store that speaks its
// protocol: Cloudflare R2, MinIO, Ceph, Tigris and others.
//
// The client is the user's, made as for any other purpose: by
// config.LoadDefaultConfig for AWS, and with awss3.Options.BaseEndpoint (and mostly
// UsePathStyle) for the others; see the examples. Its credentials need
// s3:GetObject, s3:PutObject, s3:DeleteObject for the objects and s3:ListBucket for
// the bucket; without the last, a Get of an absent object is answered with 403.
//
// A version is the object's ETag without its quotes. In most buckets that is a hash
// of the content: equal bytes have equal versions, so two states of an object must
// differ in their bytes for the conditions to tell them apart. What StrictKV stores
// does.
//
// The store must honour If-None-Match and If-Match of a PUT, and list names in byte
// order. Directory buckets (S3 Express One Zone) don't list so and are refused. A
// store that lacks the If-Match of a DELETE can be used with
// WithoutConditionalDelete.
//
// Each call is one request, which the SDK may not repeat, whatever the client's
// settings; only a page of a listing with a name that XML cannot carry takes two.
// Data go by a single PutObject. Every upload carries a
// CRC32C, which S3 verifies, keeps and returns for the SDK to verify the download. A
// store that does none of this leaves the length to tell whether data arrived whole.
//
// What each answer and each failure of the network means is listed in errors.go.
package s3

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/internal/wire"
)

const (
	contentType = "application/octet-stream"
	// cacheControl keeps copies out of the caches in front of a public bucket.
	cacheControl = "no-store"
	// drainMax is the length in bytes of a body that is rather read to its end
	// than given up together with its connection.
	drainMax = 64 << 10
)

var (
	errLength = errors.New("the answer has no sensible Content-Length")
	errLong   = errors.New("the body is longer than its Content-Length")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Backend is a bucket, or what its client sees of it. Make one with New.
type Backend struct {
	place

	client *awss3.Client
	bucket string
	class  types.StorageClass
	key    *string // of the key management service
	once   bool    // see SendsOnce
	// looks: a Delete looks at the object, as the store ignores its condition.
	looks bool
}

var _ backend.Backend = (*Backend)(nil)

// Option changes a Backend that New makes.
type Option func(*Backend)

// WithStorageClass stores objects in a class such as "STANDARD", which suits them
// best and is the default.
func WithStorageClass(class string) Option {
	return func(b *Backend) { b.class = types.StorageClass(class) }
}

// WithoutConditionalDelete is for stores that ignore or refuse the If-Match of a
// DELETE. A Delete then asks by one request whether the object is still at the
// version, and removes it by another: a write between the two is lost. That is
// harmless for objects that are never replaced. See Capabilities.
func WithoutConditionalDelete() Option { return func(b *Backend) { b.looks = true } }

// WithKMSKey encrypts objects by a key of AWS KMS, by its id or ARN, and asks the store to
// use a key of the bucket's for many objects (aws:kms with a bucket key). The default is
// the bucket's own setting. The credentials need kms:GenerateDataKey and kms:Decrypt.
func WithKMSKey(id string) Option { return func(b *Backend) { b.key = &id } }

// SendsOnce declares that nobody on the way to the store sends a write again, or, with
// false, that somebody may. See backend.Capabilities. A reverse proxy before a store may,
// as nginx does on a lost connection, and so may one that takes TLS apart. The default is
// true if the client's endpoint is Amazon's own, *.amazonaws.com, to which TLS leads; else
// false.
func SendsOnce(once bool) Option { return func(b *Backend) { b.once = once } }

// StronglyConsistent declares that the bucket is none of those of a store that reads old
// states: for Tigris, that its location is one region or "multi-region". Without it, its
// endpoints are refused.
func StronglyConsistent() Option {
	return func(b *Backend) {
		if errors.Is(b.err, errTigris) {
			b.err = nil
		}
	}
}

// New returns a backend over the bucket, or over an access point by its ARN. It sends no
// request: a missing bucket or wrong credentials are errors of the calls. So is a bucket of
// a kind that no database can be in, as far as its name or the endpoint tells: ErrInvalid.
func New(c *awss3.Client, bucket string, options ...Option) *Backend {
	b := &Backend{client: c, bucket: bucket, place: locate(c.Options(), bucket)}
	b.once = b.own
	for _, o := range options {
		o(b)
	}
	return b
}

// Capabilities implements backend.Backend. A Delete is not atomic if b was made with
// WithoutConditionalDelete: what may be replaced meanwhile, or created again, must then
// not be deleted.
func (b *Backend) Capabilities() backend.Capabilities {
	return backend.Capabilities{ConditionalDelete: !b.looks, SendsOnce: b.once}
}

// Get implements backend.Backend. Data that arrive damaged are ErrUnavailable.
func (b *Backend) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	fail := func(err error) (backend.Object, error) { return backend.Object{}, err }
	if err := b.check(ctx, "get", name, known); err != nil {
		return fail(err)
	}
	out, o, err := b.open(ctx, "get", name, known)
	if err != nil {
		return fail(err)
	}
	defer out.Body.Close()
	o.Data, err = readAll(name, out.Body, out.ContentLength)
	if errors.Is(err, backend.ErrCorrupt) {
		return fail(err)
	}
	if err != nil {
		return fail(b.fail("get", name, backend.ErrUnavailable, wire.Ended(ctx, err)))
	}
	return o, nil
}

// open asks for an object, unless it is at the known version. Without an error,
// the caller reads the data, and closes the body.
func (b *Backend) open(
	ctx context.Context, call, name string, known backend.Version,
) (*awss3.GetObjectOutput, backend.Object, error) {
	in := awss3.GetObjectInput{
		Bucket: &b.bucket, Key: &name, ChecksumMode: types.ChecksumModeEnabled,
	}
	a := attempt{asks: "GET"}
	if known != "" {
		in.IfNoneMatch, a.asks, a.knows = etag(known), "GET with If-None-Match", true
	}
	out, err := b.client.GetObject(ctx, &in, a.options)
	if err != nil {
		return nil, backend.Object{}, b.readError(ctx, &a, call, name, err)
	}
	v, err := version(out.ETag)
	switch {
	case err != nil:
		err = b.fail(call, name, backend.ErrUnavailable, err)
	case v == known: // Some stores ignore the condition.
		_, _ = io.CopyN(io.Discard, out.Body, drainMax)
		err = b.fail(call, name, backend.ErrNotModified, nil)
	}
	if err != nil {
		_ = out.Body.Close()
		return nil, backend.Object{}, err
	}
	return out, backend.Object{Version: v, Time: a.date}, nil
}

// readAll reads up to the end of the body, where the SDK compares the checksum.
func readAll(name string, body io.Reader, length *int64) ([]byte, error) {
	if length == nil || *length < 0 {
		return nil, errLength
	}
	if *length > backend.ObjectMax {
		return nil, wire.TooLarge(name, *length)
	}
	data := make([]byte, *length)
	if _, err := io.ReadFull(body, data); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	var more [1]byte
	if _, err := io.ReadFull(body, more[:]); err == nil {
		return nil, errLong
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data, nil
}

// Put implements backend.Backend. More than backend.ObjectMax are ErrInvalid.
func (b *Backend) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	in := awss3.PutObjectInput{
		Bucket: &b.bucket, Key: &name, StorageClass: b.class,
		ContentType: aws.String(contentType), CacheControl: aws.String(cacheControl),
		Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
	}
	if err := b.check(ctx, "put", name, c.Version()); err != nil {
		return backend.Stamp{}, err
	}
	a := attempt{asks: "PUT with If-None-Match", data: data}
	switch {
	case !c.Valid():
		return backend.Stamp{}, b.fail("put", name, backend.ErrInvalid, errCondition)
	case len(data) > backend.ObjectMax:
		return backend.Stamp{}, b.fail("put", name, backend.ErrInvalid, wire.ErrSize)
	case c.Absent():
		in.IfNoneMatch = aws.String("*")
	default:
		in.IfMatch, a.asks = etag(c.Version()), "PUT with If-Match"
	}
	if b.key != nil {
		in.ServerSideEncryption = types.ServerSideEncryptionAwsKms
		in.SSEKMSKeyId, in.BucketKeyEnabled = b.key, aws.Bool(true)
	}
	// The header spares a body in chunks with a trailer, which some stores refuse.
	in.ChecksumCRC32C = aws.String(checksum(data))
	out, err := b.client.PutObject(ctx, &in, a.options)
	if err != nil {
		return backend.Stamp{}, b.writeError(ctx, &a, "put", name, err)
	}
	v, err := version(out.ETag)
	if err != nil {
		return backend.Stamp{}, b.fail("put", name, backend.ErrOutcomeUnknown, err)
	}
	return backend.Stamp{Version: v, Time: a.date}, nil
}

// checksum is the CRC32C of data in the form of a header.
func checksum(data []byte) string {
	crc := binary.BigEndian.AppendUint32(nil, crc32.Checksum(data, castagnoli))
	return base64.StdEncoding.EncodeToString(crc)
}

// Delete implements backend.Backend, but see WithoutConditionalDelete.
func (b *Backend) Delete(ctx context.Context, name string, v backend.Version) error {
	if err := b.check(ctx, "delete", name, v); err != nil {
		return err
	}
	if v == "" {
		return b.fail("delete", name, backend.ErrInvalid, errVersion)
	}
	in := awss3.DeleteObjectInput{Bucket: &b.bucket, Key: &name}
	a := attempt{asks: "DELETE"}
	if !b.looks {
		in.IfMatch, a.asks = etag(v), "DELETE with If-Match"
	} else if err := b.look(ctx, name, v); err != nil {
		return err
	}
	if _, err := b.client.DeleteObject(ctx, &in, a.options); err != nil {
		return b.writeError(ctx, &a, "delete", name, err)
	}
	return nil
}

// look returns nil if the object is at v.
func (b *Backend) look(ctx context.Context, name string, v backend.Version) error {
	out, _, err := b.open(ctx, "delete", name, v)
	switch {
	case err == nil:
		_ = out.Body.Close()
	case errors.Is(err, backend.ErrNotModified):
		return nil
	case !errors.Is(err, backend.ErrNotFound):
		return err
	}
	return b.fail("delete", name, backend.ErrPrecondition, nil)
}
