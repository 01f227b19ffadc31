package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/internal/wire"
)

// The errors of package backend that a failed request ends with. "Unknown" is
// backend.ErrOutcomeUnknown; whatever the table does not name is unknown. Nothing is
// retried here: ErrThrottled and ErrUnavailable invite the caller to.
//
//	answer                              Get, List        Put, Delete
//	200, 204                            success          success: applied
//	200 without a strong ETag           ErrUnavailable   unknown (Put)
//	200 with an error in its body       ErrUnavailable   unknown
//	200 of more than ObjectMax          ErrCorrupt       -
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
//	412 PreconditionFailed              ErrUnavailable   ErrPrecondition: not applied
//	412 of any other code               ErrUnavailable   unknown
//	429, 503 SlowDown                   ErrThrottled     ErrThrottled: not applied
//	501                                 ErrInvalid       ErrInvalid: not applied
//	500, 502, 503, 504, all others      ErrUnavailable   unknown
//	any error to a request sent twice   (as above)       unknown
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
// A 404 and a 412 count only with S3's own code: that of a proxy with a wrong address must
// not read as an absent object, nor as a lost race. SlowDown counts only by that name:
// MinIO says SlowDownWrite when too few disks took a write. A clock that S3 finds skewed is
// one that the SDK corrects before the next request.
//
// If the context has ended, the error matches the context's error as well. The
// SDK's error is wrapped, for errors.As. No error's text holds a credential.

// fail is the error of a call.
func (b *Backend) fail(call, name string, kind, cause error) error {
	return &wire.Error{
		Store: "s3", Bucket: b.bucket, Call: call, Name: name,
		Kind: kind, Cause: cause, Pause: pause(cause),
	}
}

// pause is how long the answer asks to be left alone.
func pause(err error) time.Duration {
	var r *smithyhttp.ResponseError
	if !errors.As(err, &r) || r.Response == nil || r.Response.Response == nil {
		return 0
	}
	return backend.ParseRetryAfter(r.Response.Header.Get("Retry-After"), time.Now())
}

// readError tells what a failed Get or List means.
func (b *Backend) readError(
	ctx context.Context, a *attempt, call, name string, err error,
) error {
	kind := a.certain(ctx, err)
	status, code := a.answer(err)
	switch {
	case kind != nil:
	case status == http.StatusNotModified && a.knows:
		kind = backend.ErrNotModified
	case status == http.StatusNotFound && code == "NoSuchKey" && call != "list":
		kind = backend.ErrNotFound
	default:
		kind = backend.ErrUnavailable
	}
	return b.fail(call, name, kind, a.explain(ctx, err))
}

// writeError tells what a failed Put or Delete means.
func (b *Backend) writeError(
	ctx context.Context, a *attempt, call, name string, err error,
) error {
	kind := a.certain(ctx, err)
	status, code := a.answer(err)
	switch {
	case kind != nil:
	case status == http.StatusPreconditionFailed && code == "PreconditionFailed",
		status == http.StatusNotFound && code == "NoSuchKey":
		kind = backend.ErrPrecondition
	}
	if kind == nil || a.sent.Repeated() || a.sent.Begun() && status == 0 {
		kind = backend.ErrOutcomeUnknown
	}
	return b.fail(call, name, kind, a.explain(ctx, err))
}

// explain says more about some errors.
func (a *attempt) explain(ctx context.Context, err error) error {
	if status, _ := a.answer(err); a.tried && status == http.StatusNotImplemented {
		return fmt.Errorf("the store does not implement %s: %w", a.asks, err)
	}
	return wire.Ended(ctx, err)
}

// answer returns the status of the store's answer, 0 if there was none, and S3's
// code for the error, empty if it has none.
func (a *attempt) answer(err error) (status int, code string) {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	if a.refused {
		return status, a.code
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	return status, code
}

// certain returns what a failure means for every call, if it certainly had no
// effect; else nil. It knows neither of objects nor of preconditions.
func (a *attempt) certain(ctx context.Context, err error) error {
	if !a.tried {
		return a.unsent(ctx, err)
	}
	if status, code := a.answer(err); status != 0 {
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
func (a *attempt) unsent(ctx context.Context, err error) error {
	status, _ := a.answer(err)
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
