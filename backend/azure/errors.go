package azure

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/internal/wire"
)

// outcomes is the table of the package comment, as far as it is about answers.
var outcomes = map[answer]outcome{
	{http.StatusBadRequest, ""}:            always(backend.ErrInvalid),
	{http.StatusMethodNotAllowed, ""}:      always(backend.ErrInvalid),
	{http.StatusLengthRequired, ""}:        always(backend.ErrInvalid),
	{http.StatusRequestEntityTooLarge, ""}: always(backend.ErrInvalid),
	{http.StatusUnauthorized, ""}:          always(backend.ErrDenied),
	{http.StatusForbidden, ""}:             always(backend.ErrDenied),
	{http.StatusTooManyRequests, ""}:       always(backend.ErrThrottled),

	// Damaged on the way here.
	{http.StatusBadRequest, bloberror.MD5Mismatch}:               always(backend.ErrUnavailable),
	{http.StatusBadRequest, bloberror.InvalidAuthenticationInfo}: always(backend.ErrDenied),

	{http.StatusNotFound, bloberror.BlobNotFound}: {
		backend.ErrNotFound, backend.ErrPrecondition,
	},
	{http.StatusNotFound, bloberror.ContainerNotFound}:     always(backend.ErrBucketNotFound),
	{http.StatusNotFound, bloberror.ResourceNotFound}:      always(backend.ErrBucketNotFound),
	{http.StatusConflict, bloberror.ContainerBeingDeleted}: always(backend.ErrBucketNotFound),
	{http.StatusConflict, bloberror.ContainerDisabled}:     always(backend.ErrDenied),

	{http.StatusConflict, bloberror.BlobAlreadyExists}:         {write: backend.ErrPrecondition},
	{http.StatusPreconditionFailed, bloberror.ConditionNotMet}: {write: backend.ErrPrecondition},

	// What others do to a blob: not by the condition, and it may pass.
	{http.StatusConflict, bloberror.BlobArchived}:             always(backend.ErrUnavailable),
	{http.StatusConflict, bloberror.BlobBeingRehydrated}:      always(backend.ErrUnavailable),
	{http.StatusConflict, bloberror.BlobImmutableDueToPolicy}: always(backend.ErrUnavailable),
	{http.StatusConflict, bloberror.SnapshotsPresent}:         always(backend.ErrUnavailable),
	{http.StatusPreconditionFailed, bloberror.LeaseIDMissing}: always(backend.ErrUnavailable),

	{http.StatusServiceUnavailable, bloberror.ServerBusy}: always(backend.ErrThrottled),
}

// answer is a status with a code of the store's, or with any if the code is empty.
type answer struct {
	status int
	code   bloberror.Code
}

// outcome is what an answer means, nil if nothing certain.
type outcome struct{ read, write error }

func always(kind error) outcome { return outcome{kind, kind} }

// fail is the error of a call.
func (b *Backend) fail(call, name string, kind, cause error) error {
	return &wire.Error{
		Store: "azure", Bucket: b.name, Call: call, Name: name,
		Kind: kind, Cause: cause, Pause: pause(cause),
	}
}

// pause is how long the answer asks to be left alone.
func pause(err error) time.Duration {
	var a *azcore.ResponseError
	if !errors.As(err, &a) || a.RawResponse == nil {
		return 0
	}
	return backend.ParseRetryAfter(a.RawResponse.Header.Get("Retry-After"), time.Now())
}

// readError tells what a failed Get or List means.
func (b *Backend) readError(ctx context.Context, call, name string, err error) error {
	kind := meaning(err).read
	if kind == nil {
		kind = backend.ErrUnavailable
	}
	return b.fail(call, name, kind, wire.Ended(ctx, err))
}

// writeError tells what a failed Put or Delete means.
func (b *Backend) writeError(
	ctx context.Context, call, name string, err error, sent *wire.Sendings,
) error {
	var a *azcore.ResponseError
	kind := meaning(err).write
	switch {
	case kind == nil, sent.Repeated():
		kind = backend.ErrOutcomeUnknown
	case !errors.As(err, &a) && sent.Begun(): // It was the second try that was not sent.
		kind = backend.ErrOutcomeUnknown
	}
	return b.fail(call, name, kind, wire.Ended(ctx, err))
}

// meaning tells what a failure means by itself.
func meaning(err error) outcome {
	var a *azcore.ResponseError
	if !errors.As(err, &a) {
		return always(unsent(err))
	}
	if o, ok := outcomes[answer{a.StatusCode, bloberror.Code(a.ErrorCode)}]; ok {
		return o
	}
	return outcomes[answer{a.StatusCode, ""}]
}

// unsent returns what a failure means that certainly came before the request was
// sent; else nil.
func unsent(err error) error {
	var (
		lookup *net.DNSError
		op     *net.OpError
		trust  *tls.CertificateVerificationError
		token  *azidentity.AuthenticationFailedError
		final  interface{ NonRetriable() }
	)
	switch {
	case errors.As(err, &lookup), errors.As(err, &trust):
		return backend.ErrUnavailable
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect"):
		return backend.ErrUnavailable
	case errors.As(err, &token):
		return tokenless(token.RawResponse)
	case !errors.As(err, &final):
		return nil
	case errors.As(err, new(net.Error)), errors.Is(err, context.Canceled):
		return backend.ErrUnavailable
	}
	// So the SDK marks the failure of all that it does to authorize a request.
	return backend.ErrDenied
}

// tokenless returns what it means that there is no token to send a request with,
// after that answer of the service which gives them.
func tokenless(r *http.Response) error {
	if r == nil || r.StatusCode >= 500 {
		return backend.ErrUnavailable
	}
	switch r.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests,
		http.StatusNotFound, http.StatusGone: // A machine's service that is starting.
		return backend.ErrUnavailable
	}
	return backend.ErrDenied
}
