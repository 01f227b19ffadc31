package s3

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/strictkv/strictkv/backend"
)

// The errors of package backend that a failed request ends with. "Unknown" is
// backend.ErrOutcomeUnknown; whatever the table does not name is unknown. Nothing is
// retried here: ErrThrottled and ErrUnavailable invite the caller to.
//
//	answer                              Get, List        Put, Delete
//	200, 204                            success          success: applied
//	200 without a strong ETag           ErrUnavailable   unknown (Put)
//	200 with an error in its body       ErrUnavailable   unknown
//	301 PermanentRedirect               ErrInvalid       ErrInvalid: not applied
//	304                                 ErrNotModified   unknown
//	307                                 ErrUnavailable   ErrUnavailable: not applied
//	400 of a damaged body               -                ErrUnavailable: not applied
//	400 of a token                      ErrDenied        ErrDenied: not applied
//	400 RequestTimeout or without code  ErrUnavailable   unknown
//	400 of any other code               ErrInvalid       ErrInvalid: not applied
//	401, 403                            ErrDenied        ErrDenied: not applied
//	403 RequestTimeTooSkewed            ErrUnavailable   ErrUnavailable: not applied
//	404 NoSuchBucket                    ErrBucketNotFound, not applied
//	404 NoSuchKey                       ErrNotFound      ErrPrecondition: not applied
//	404 of any other code               ErrUnavailable   unknown
//	405, 411, 413                       ErrInvalid       ErrInvalid: not applied
//	409 ConditionalRequestConflict      ErrUnavailable   ErrUnavailable: not applied
//	409 OperationAborted                ErrUnavailable   ErrUnavailable: not applied
//	412                                 ErrUnavailable   ErrPrecondition: not applied
//	429, 503 SlowDown                   ErrThrottled     ErrThrottled: not applied
//	501                                 ErrInvalid       ErrInvalid: not applied
//	500, 502, 503, 504, all others      ErrUnavailable   unknown
//
//	no answer                           Get, List        Put, Delete
//	no name, connection or TLS trust    ErrUnavailable   ErrUnavailable: not applied
//	no credentials: none, or refused    ErrDenied        ErrDenied: not applied
//	no credentials: out of reach        ErrUnavailable   ErrUnavailable: not applied
//	the SDK made no request             ErrInvalid       ErrInvalid: not applied
//	context ended before the request    ErrUnavailable   ErrUnavailable: not applied
//	context ended during the request    ErrUnavailable   unknown
//	connection lost, timeout            ErrUnavailable   unknown
//	body cut off, or wrong checksum     ErrUnavailable   unknown
//
// A 404 counts only with S3's own code: that of a proxy with a wrong address must
// not read as an absent object. SlowDown counts only by that name: MinIO says
// SlowDownWrite when too few disks took a write. A clock that S3 finds skewed is one
// that the SDK corrects before the next request.
//
// If the context has ended, the error matches the context's error as well. The
// SDK's error is wrapped, for errors.As.

// callError formats itself only when asked: "not modified" and "precondition
// failed" are everyday answers, which must stay cheap.
type callError struct {
	call, name string
	kind       error // of package backend
	cause      error // of the SDK or the context, or nil
}

// RetryAfter implements backend.RetryAfter.
func (e *callError) RetryAfter() time.Duration {
	var r *smithyhttp.ResponseError
	if !errors.As(e.cause, &r) || r.Response == nil || r.Response.Response == nil {
		return 0
	}
	return backend.ParseRetryAfter(r.Response.Header.Get("Retry-After"), time.Now())
}

func (e *callError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("s3 %s %q: %v", e.call, e.name, e.kind)
	}
	return fmt.Sprintf("s3 %s %q: %v: %v", e.call, e.name, e.kind, e.cause)
}

func (e *callError) Is(target error) bool { return target == e.kind }

func (e *callError) Unwrap() error { return e.cause }

var errRepeated = errors.New("the SDK tried to send a request twice")

// attempt is one request, which the SDK may not repeat: of a write that has landed,
// and whose answer was lost, the second copy would report a failed precondition.
type attempt struct {
	asks   string // what the store must be able to do
	data   []byte // to upload
	knows  bool   // it asks for what is not at a known version
	client awss3.HTTPClient
	tried  bool  // client was asked to send the request
	err    error // client's
}

// options is given to the SDK's call.
func (a *attempt) options(o *awss3.Options) {
	o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 1
	o.DisableLogOutputChecksumValidationSkipped = true
	a.client, o.HTTPClient = o.HTTPClient, a
}

// Do sends the request for the SDK.
func (a *attempt) Do(r *http.Request) (*http.Response, error) {
	if a.tried {
		return nil, errRepeated
	}
	a.tried = true
	if r.GetBody == nil && r.ContentLength == int64(len(a.data)) {
		// The transport may take another connection if this one ends before any
		// of the request is written to it, as idle ones do. It repeats no PUT.
		r.GetBody = func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(a.data)), nil
		}
	}
	resp, err := a.client.Do(r)
	a.err = err
	return resp, err
}

// readError tells what a failed Get or List means.
func (a *attempt) readError(ctx context.Context, call, name string, err error) error {
	kind := a.certain(ctx, err)
	status, code := answer(err)
	switch {
	case kind != nil:
	case status == http.StatusNotModified && a.knows:
		kind = backend.ErrNotModified
	case status == http.StatusNotFound && code == "NoSuchKey" && call != "list":
		kind = backend.ErrNotFound
	default:
		kind = backend.ErrUnavailable
	}
	return &callError{call, name, kind, a.explain(ctx, err)}
}

// writeError tells what a failed Put or Delete means.
func (a *attempt) writeError(ctx context.Context, call, name string, err error) error {
	kind := a.certain(ctx, err)
	status, code := answer(err)
	switch {
	case kind != nil:
	case status == http.StatusPreconditionFailed,
		status == http.StatusNotFound && code == "NoSuchKey":
		kind = backend.ErrPrecondition
	default:
		kind = backend.ErrOutcomeUnknown
	}
	return &callError{call, name, kind, a.explain(ctx, err)}
}

// explain says more about some errors.
func (a *attempt) explain(ctx context.Context, err error) error {
	if status, _ := answer(err); a.tried && status == http.StatusNotImplemented {
		return fmt.Errorf("the store does not implement %s: %w", a.asks, err)
	}
	return ended(ctx, err)
}

// ended adds the context's error to err if the context has ended.
func ended(ctx context.Context, err error) error {
	if c := ctx.Err(); c != nil && !errors.Is(err, c) {
		return fmt.Errorf("%w: %w", c, err)
	}
	return err
}

// answer returns the status of the store's answer, 0 if there was none, and S3's
// code for the error, empty if it has none. The SDK makes a code out of the status
// where the body has none.
func answer(err error) (status int, code string) {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	if code == "UnknownError" || code == strings.ReplaceAll(http.StatusText(status), " ", "") {
		code = ""
	}
	return status, code
}

// certain returns what a failure means for every call, if it certainly had no
// effect; else nil. It knows neither of objects nor of preconditions.
func (a *attempt) certain(ctx context.Context, err error) error {
	if !a.tried {
		return unsent(ctx, err)
	}
	if status, code := answer(err); status != 0 {
		return refused(status, code)
	}
	var (
		lookup *net.DNSError
		op     *net.OpError
		trust  *tls.CertificateVerificationError
	)
	switch {
	case errors.As(a.err, &lookup), errors.As(a.err, &trust):
		return backend.ErrUnavailable
	case errors.As(a.err, &op) && (op.Op == "dial" || op.Op == "proxyconnect"):
		return backend.ErrUnavailable
	}
	return nil
}

// unsent returns what it means that the SDK made no request. What it then answers
// with is a service of credentials, if any.
func unsent(ctx context.Context, err error) error {
	status, _ := answer(err)
	var send *smithyhttp.RequestSendError
	switch {
	case ctx.Err() != nil, errors.As(err, &send), status >= 500,
		status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
		return backend.ErrUnavailable
	case status != 0, strings.Contains(err.Error(), "get identity"):
		return backend.ErrDenied
	}
	return backend.ErrInvalid
}

// refused returns what an answer means that is given before the store acts.
func refused(status int, code string) error {
	switch status {
	case http.StatusTemporaryRedirect: // To the place of a bucket that is new.
		return backend.ErrUnavailable
	case http.StatusBadRequest:
		return badRequest(code)
	case http.StatusForbidden:
		if code == "RequestTimeTooSkewed" {
			return backend.ErrUnavailable
		}
		return backend.ErrDenied
	case http.StatusUnauthorized:
		return backend.ErrDenied
	case http.StatusMethodNotAllowed, http.StatusLengthRequired,
		http.StatusRequestEntityTooLarge, http.StatusNotImplemented:
		return backend.ErrInvalid
	case http.StatusTooManyRequests:
		return backend.ErrThrottled
	}
	return named[answerKey{status, code}]
}

type answerKey struct {
	status int
	code   string
}

// named are the answers that count only with their code.
var named = map[answerKey]error{
	{http.StatusMovedPermanently, "PermanentRedirect"}:  backend.ErrInvalid,
	{http.StatusNotFound, "NoSuchBucket"}:               backend.ErrBucketNotFound,
	{http.StatusConflict, "ConditionalRequestConflict"}: backend.ErrUnavailable,
	{http.StatusConflict, "OperationAborted"}:           backend.ErrUnavailable,
	{http.StatusServiceUnavailable, "SlowDown"}:         backend.ErrThrottled,
}

func badRequest(code string) error {
	switch code {
	case "", "RequestTimeout":
		return nil
	case "BadDigest", "InvalidDigest", "IncompleteBody", "XAmzContentSHA256Mismatch",
		"XAmzContentChecksumMismatch":
		return backend.ErrUnavailable
	case "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
		return backend.ErrDenied
	}
	return backend.ErrInvalid
}
