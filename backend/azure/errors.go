package azure

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/strictkv/strictkv/backend"
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

// callError formats itself only when asked: "not modified" and "precondition
// failed" are everyday answers, which must stay cheap.
type callError struct {
	call, name string
	kind       error // of package backend
	cause      error // of the SDK or the context, or nil
}

func (e *callError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("azure %s %q: %v", e.call, e.name, e.kind)
	}
	return fmt.Sprintf("azure %s %q: %v: %v", e.call, e.name, e.kind, e.cause)
}

func (e *callError) Is(target error) bool { return target == e.kind }

func (e *callError) Unwrap() error { return e.cause }

// RetryAfter implements backend.RetryAfter.
func (e *callError) RetryAfter() time.Duration {
	var a *azcore.ResponseError
	if !errors.As(e.cause, &a) || a.RawResponse == nil {
		return 0
	}
	return backend.ParseRetryAfter(a.RawResponse.Header.Get("Retry-After"), time.Now())
}

// ended adds the context's error to err if the context has ended.
func ended(ctx context.Context, err error) error {
	if c := ctx.Err(); c != nil && !errors.Is(err, c) {
		return fmt.Errorf("%w: %w", c, err)
	}
	return err
}

// readError tells what a failed Get or List means.
func readError(ctx context.Context, call, name string, err error) error {
	kind := meaning(err).read
	if kind == nil {
		kind = backend.ErrUnavailable
	}
	return &callError{call, name, kind, ended(ctx, err)}
}

// writeError tells what a failed Put or Delete means.
func writeError(ctx context.Context, call, name string, err error, sent *sendings) error {
	var a *azcore.ResponseError
	kind := meaning(err).write
	switch {
	case kind == nil, sent.repeated():
		kind = backend.ErrOutcomeUnknown
	case !errors.As(err, &a) && sent.begun(): // It was the second try that was not sent.
		kind = backend.ErrOutcomeUnknown
	}
	return &callError{call, name, kind, ended(ctx, err)}
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
