// Package gcs keeps objects in a bucket of Google Cloud Storage.
//
// The client must speak HTTP (storage.NewClient), and should be made with
// storage.WithJSONReads: the older XML reads, its default, cannot ask "unless it
// is at this generation", so that every Get of a known object transfers its data.
// The answers are the same. The credentials need the permissions get, list,
// create and delete for objects (roles/storage.objectUser); without list, a Get of
// an absent object is answered with 403.
//
// A version is the object's generation. The bucket should not keep noncurrent
// versions, which cost as much as live ones and which nothing here removes. It may:
// see Delete.
//
// Each call is one request, without a retry. Only an object that is not found costs
// another if the answer may be a gateway's, as those to XML reads may; and the first, if
// the answer does not tell whether there is a bucket at all.
//
// A Put tells the store's time, which is that of the object; a Get does not, as the SDK
// does not show the headers of an answer.
//
// # Errors
//
// The errors of package backend that a failed request ends with. "Unknown" is
// backend.ErrOutcomeUnknown. Google documents 408 and all of 5xx as worth another
// try, but for none of them that the request had no effect.
//
//	answer                            Get, List        Put, Delete
//	304                               ErrNotModified   unknown
//	400, 405, 411, 413                ErrInvalid       ErrInvalid: not applied
//	400 for a checksum                -                ErrUnavailable: not applied
//	401, 403                          ErrDenied        ErrDenied: not applied
//	403 for a rate, 429               ErrThrottled     ErrThrottled: not applied
//	404 notFound, no bucket           ErrBucketNotFound, not applied
//	404 notFound, no object           ErrNotFound      ErrPrecondition: not applied
//	412 conditionNotMet               ErrUnavailable   ErrPrecondition: not applied
//	412 orgPolicyConstraintFailed     ErrDenied        ErrDenied: not applied
//	404, 412 of another or no reason  ErrUnavailable   unknown
//	408, 409, 499, 5xx, all others    ErrUnavailable   unknown
//	200 of more than ObjectMax        ErrCorrupt       -
//	any error to a request sent twice (as above)       unknown
//
//	no answer                         Get, List        Put, Delete
//	no name, connection or TLS trust  ErrUnavailable   ErrUnavailable: not applied
//	no token: refused                 ErrDenied        ErrDenied: not applied
//	no token: service out of reach    ErrUnavailable   ErrUnavailable: not applied
//	context ended before the call     ErrUnavailable   ErrUnavailable: not applied
//	context ended during the call     ErrUnavailable   unknown
//	connection lost, timeout          ErrUnavailable   unknown
//	body cut off, or wrong checksum   ErrUnavailable   unknown
//
// If the context has ended, the error matches the context's error as well. The
// SDK's error is wrapped, for errors.As. No error's text holds a credential, such as the
// key= of a request.
package gcs

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"cloud.google.com/go/storage"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/internal/wire"
)

const (
	contentType = "application/octet-stream"
	// cacheControl keeps copies out of the caches in front of a public bucket,
	// which would answer reads for an hour.
	cacheControl = "no-store"
	// drainMax is the length in bytes of a body that is rather read to its end
	// than given up together with its connection.
	drainMax = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Backend is a bucket, or what its client sees of it. Make one with New.
type Backend struct {
	bucket *storage.BucketHandle
	class  string
	key    string // of the key management service
	once   bool   // see SendsOnce

	// seen: the store has answered as only an existing bucket can.
	seen atomic.Bool
}

var _ backend.Backend = (*Backend)(nil)

// Option changes a Backend that New makes.
type Option func(*Backend)

// WithStorageClass stores objects in a class such as "STANDARD", which suits them
// best. The default is the bucket's own class.
func WithStorageClass(class string) Option { return func(b *Backend) { b.class = class } }

// WithKMSKey encrypts objects by a key of Cloud KMS, by its full name:
// projects/p/locations/l/keyRings/r/cryptoKeys/k. The default is the bucket's own key, or
// Google's. The service agent of Cloud Storage must be allowed to use it.
func WithKMSKey(name string) Option { return func(b *Backend) { b.key = name } }

// SendsOnce declares that nobody on the way to the store sends a write again, or, with
// false, that somebody may, such as a proxy that takes TLS apart. See
// backend.Capabilities. The default is true if the client's endpoint is Google's own,
// *.googleapis.com, to which TLS leads; else false.
func SendsOnce(once bool) Option { return func(b *Backend) { b.once = once } }

// New returns a backend over the bucket. The handle is the backend's from then
// on, which turns off the retries that may have been set for it. New sends no
// request: a missing bucket or wrong credentials are errors of the calls.
func New(bucket *storage.BucketHandle, options ...Option) *Backend {
	// A retry within the SDK would turn a write that has landed, and whose answer
	// was lost, into one whose precondition failed.
	b := &Backend{
		bucket: bucket.Retryer(storage.WithPolicy(storage.RetryNever)), once: own(bucket),
	}
	for _, o := range options {
		o(b)
	}
	return b
}

// own reports whether requests go to Google itself. A client does not show its endpoint,
// but signs URLs of it.
func own(bucket *storage.BucketHandle) bool {
	at, err := bucket.SignedURL("object", &storage.SignedURLOptions{
		GoogleAccessID: "nobody", Method: http.MethodGet, Expires: time.Unix(1<<32, 0),
		SignBytes: func([]byte) ([]byte, error) { return nil, nil },
	})
	u, parseErr := url.Parse(at)
	return err == nil && parseErr == nil && strings.HasSuffix(u.Host, ".googleapis.com")
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
	if err := checkName(name); err != nil {
		return fail(backend.ErrInvalid, err)
	}
	object := b.bucket.Object(name)
	if known != "" {
		generation, err := parse(known)
		if err != nil {
			return fail(backend.ErrInvalid, err)
		}
		object = object.If(storage.Conditions{GenerationNotMatch: generation})
	}
	if err := ctx.Err(); err != nil {
		return fail(backend.ErrUnavailable, err)
	}
	r, err := object.NewReader(ctx)
	if err != nil {
		return backend.Object{}, b.readError(ctx, "get", name, known != "", err)
	}
	defer r.Close()
	b.exists()
	v := format(r.Attrs.Generation)
	if v == known {
		// The condition was not sent (XML reads) or not obeyed (some emulators).
		_, _ = io.CopyN(io.Discard, r, drainMax)
		return fail(backend.ErrNotModified, nil)
	}
	data, err := readAll(name, r)
	if errors.Is(err, backend.ErrCorrupt) {
		return backend.Object{}, err
	}
	if err != nil {
		// The SDK asks for the rest of a broken body by another request, of which
		// a 404 only says that this generation has been replaced.
		return fail(backend.ErrUnavailable, wire.Ended(ctx, err))
	}
	return backend.Object{Data: data, Version: v, Modified: r.Attrs.LastModified}, nil
}

// readAll reads up to the end of the stream, where the SDK compares the checksum, into
// memory that is allocated once, as the length is known.
func readAll(name string, r *storage.Reader) ([]byte, error) {
	if r.Attrs.Generation <= 0 {
		return nil, errNoGeneration
	}
	if r.Attrs.Size > backend.ObjectMax {
		return nil, wire.TooLarge(name, r.Attrs.Size)
	}
	data := make([]byte, 0, max(r.Attrs.Size, 0)+1) // One byte more, to meet the end.
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) > backend.ObjectMax { // It has not told its length.
			return nil, wire.TooLarge(name, -1)
		}
		if len(data) == cap(data) {
			data = slices.Grow(data, 512)
		}
	}
}

// Put implements backend.Backend. More than backend.ObjectMax are ErrInvalid.
func (b *Backend) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	cond := storage.Conditions{DoesNotExist: true}
	err := checkName(name)
	if err == nil && !c.Absent() {
		cond = storage.Conditions{}
		cond.GenerationMatch, err = parse(c.Version())
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
	var sent wire.Sendings
	w := b.bucket.Object(name).If(cond).NewWriter(sent.Count(ctx, ofSDK))
	w.StorageClass, w.KMSKeyName = b.class, b.key
	if err := upload(w, data); err != nil {
		return backend.Stamp{}, b.writeError(ctx, "put", name, err, &sent)
	}
	b.exists()
	return backend.Stamp{
		Version: format(w.Attrs().Generation), Time: w.Attrs().Updated,
	}, nil
}

// upload sends the object by one request.
func upload(w *storage.Writer, data []byte) error {
	w.ChunkSize = 0 // Else every upload has a buffer of 16 MiB.
	w.ContentType = contentType
	w.CacheControl = cacheControl
	// The checksum makes the store refuse a body that was cut off but still is
	// well formed, as a context that ends may leave it.
	w.SendCRC32C, w.CRC32C = true, crc32.Checksum(data, castagnoli)
	_, err := w.Write(data)
	// Close tells how the upload has ended, after a failed Write too.
	if closeErr := w.Close(); closeErr != nil {
		return closeErr
	}
	if err == nil && w.Attrs().Generation <= 0 {
		return errNoGeneration
	}
	return err
}

// Delete implements backend.Backend. What it removes leaves no noncurrent version, in
// a bucket that keeps them too.
//
// There, a state that has been replaced is ErrPrecondition: by the service's reference
// the condition is on the object's current generation, which its own test server takes
// for the live one, whichever the request names. A store that removed the noncurrent
// version that is named, as some emulators do, would let a Delete succeed that should
// not; no store removes another state.
func (b *Backend) Delete(ctx context.Context, name string, v backend.Version) error {
	generation, err := parse(v)
	if nameErr := checkName(name); nameErr != nil {
		err = nameErr
	}
	if err != nil {
		return b.fail("delete", name, backend.ErrInvalid, err)
	}
	if err := ctx.Err(); err != nil {
		return b.fail("delete", name, backend.ErrUnavailable, err)
	}
	// The condition is what counts. Emulators that ignore it on a delete obey the
	// generation, without which they would remove whatever is live.
	object := b.bucket.Object(name).Generation(generation).
		If(storage.Conditions{GenerationMatch: generation})
	var sent wire.Sendings
	if err := object.Delete(sent.Count(ctx, ofSDK)); err != nil {
		return b.writeError(ctx, "delete", name, err, &sent)
	}
	b.exists()
	return nil
}

// exists notes that the bucket does.
func (b *Backend) exists() {
	if !b.seen.Load() { // Spares the other cores a cache line.
		b.seen.Store(true)
	}
}
