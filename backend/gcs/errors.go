package gcs

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/storage"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/internal/wire"
)

var errNoGeneration = errors.New("the answer has no generation")

// fail is the error of a call.
func (b *Backend) fail(call, name string, kind, cause error) error {
	return &wire.Error{
		Store: "gcs", Bucket: b.bucket.BucketName(), Call: call, Name: name,
		Kind: kind, Cause: cause, Pause: pause(cause),
	}
}

// pause is how long the answer asks to be left alone.
func pause(err error) time.Duration {
	var answer *googleapi.Error
	if !errors.As(err, &answer) {
		return 0
	}
	return backend.ParseRetryAfter(answer.Header.Get("Retry-After"), time.Now())
}

// readError tells what a failed Get or List means. Only a Get that knows a version can
// learn that it still is the object's.
func (b *Backend) readError(
	ctx context.Context, call, name string, known bool, err error,
) error {
	kind := certain(err)
	switch {
	case known && answered(err, http.StatusNotModified):
		kind = backend.ErrNotModified
		b.exists()
	case errors.Is(err, storage.ErrBucketNotExist):
		kind = b.missing(ctx, err, nil)
	case errors.Is(err, storage.ErrObjectNotExist):
		if kind = b.missing(ctx, err, backend.ErrNotFound); kind == nil {
			kind = b.askAgain(ctx, name)
		}
	}
	if kind == nil {
		kind = backend.ErrUnavailable
	}
	return b.fail(call, name, kind, wire.Ended(ctx, err))
}

// writeError tells what a failed Put or Delete means.
func (b *Backend) writeError(
	ctx context.Context, call, name string, err error, sent *wire.Sendings,
) error {
	kind := certain(err)
	switch {
	case answered(err, http.StatusPreconditionFailed) && reason(err) == "conditionNotMet":
		kind = backend.ErrPrecondition
		b.exists()
	case answered(err, http.StatusNotFound):
		kind = b.missing(ctx, err, backend.ErrPrecondition)
	}
	if kind == nil || sent.Repeated() || sent.Begun() && !answered(err, 0) {
		kind = backend.ErrOutcomeUnknown
	}
	return b.fail(call, name, kind, wire.Ended(ctx, err))
}

// answered reports whether err is an answer with that status; 0 is any.
func answered(err error, status int) bool {
	var e *googleapi.Error
	return errors.As(err, &e) && (status == 0 || e.Code == status)
}

// reason returns the store's own for a refusal. An answer of a gateway has none.
func reason(err error) string {
	var e *googleapi.Error
	if !errors.As(err, &e) {
		return ""
	}
	if len(e.Errors) > 0 {
		return e.Errors[0].Reason
	}
	var body struct { // Which the SDK leaves alone where data were asked for.
		Error struct{ Errors []googleapi.ErrorItem }
	}
	if json.Unmarshal([]byte(e.Body), &body) != nil || len(body.Error.Errors) == 0 {
		return ""
	}
	return body.Error.Errors[0].Reason
}

// ofSDK reports whether a header is that by which the SDK marks its requests to the store.
func ofSDK(header string, values []string) bool {
	return strings.EqualFold(header, "X-Goog-Api-Client") &&
		strings.Contains(strings.Join(values, " "), "gccl/")
}

// certain returns what a failure means for every call, if it certainly had no
// effect; else nil. It knows neither of objects nor of preconditions.
func certain(err error) error {
	var answer *googleapi.Error
	if errors.As(err, &answer) {
		return refused(answer)
	}
	var (
		lookup *net.DNSError
		op     *net.OpError
		trust  *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &lookup), errors.As(err, &trust):
		return backend.ErrUnavailable
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect"):
		return backend.ErrUnavailable
	}
	return tokenless(err)
}

// refused returns what an answer means that is given before the store acts.
func refused(e *googleapi.Error) error {
	switch e.Code {
	case http.StatusBadRequest:
		if says(e, "CRC32C") { // Damaged on the way here.
			return backend.ErrUnavailable
		}
		return backend.ErrInvalid
	case http.StatusMethodNotAllowed, http.StatusLengthRequired,
		http.StatusRequestEntityTooLarge:
		return backend.ErrInvalid
	case http.StatusForbidden:
		if says(e, `"rateLimitExceeded"`) || says(e, `"userRateLimitExceeded"`) {
			return backend.ErrThrottled
		}
		return backend.ErrDenied
	case http.StatusUnauthorized:
		return backend.ErrDenied
	case http.StatusTooManyRequests:
		return backend.ErrThrottled
	case http.StatusPreconditionFailed:
		if reason(e) == "orgPolicyConstraintFailed" {
			return backend.ErrDenied
		}
	}
	return nil
}

// tokenless returns what it means that there is no token to send a request with,
// or nil if err says something else.
func tokenless(err error) error {
	var (
		fetch    *auth.Error
		retrieve *oauth2.RetrieveError
		answer   *http.Response
	)
	switch {
	case errors.As(err, &fetch):
		answer = fetch.Response
	case errors.As(err, &retrieve):
		answer = retrieve.Response
	default:
		return nil
	}
	if answer == nil || answer.StatusCode >= 500 ||
		answer.StatusCode == http.StatusRequestTimeout ||
		answer.StatusCode == http.StatusTooManyRequests {
		return backend.ErrUnavailable
	}
	return backend.ErrDenied
}

// missing tells what a 404 speaks of: ErrBucketNotFound, or object if it is just the
// object that is absent, or nil if it is not the store that says so. If it is, and neither
// the answer tells, nor an earlier one, the store is asked, and its failure to answer is a
// failure of the call.
func (b *Backend) missing(ctx context.Context, err, object error) error {
	var answer *googleapi.Error
	switch {
	case !errors.As(err, &answer):
		return nil
	case says(answer, "No such object"): // Without a reason where data were asked for.
		b.exists()
		return object
	case reason(err) != "notFound":
		return nil
	case object == nil, says(answer, "bucket does not exist"):
		return backend.ErrBucketNotFound
	case b.seen.Load():
		return object
	}
	_, listErr := b.objects(ctx, backend.ListOptions{Limit: 1}).Next()
	switch kind := certain(listErr); {
	case listErr == nil, errors.Is(listErr, iterator.Done):
		b.exists()
		return object
	case kind != nil:
		return kind
	case reason(listErr) == "notFound":
		return backend.ErrBucketNotFound
	}
	return backend.ErrUnavailable
}

// askAgain tells what a 404 to a Get means that may be a gateway's: XML reads do not show
// the answer. The API in JSON gives the store's reason.
func (b *Backend) askAgain(ctx context.Context, name string) error {
	_, err := b.bucket.Object(name).Attrs(ctx)
	if kind := certain(err); kind != nil || err == nil {
		return kind // Nil: the object is there.
	}
	return b.missing(ctx, err, backend.ErrNotFound)
}

// says reports whether the answer's body contains the text. The SDK parses only the
// bodies of some.
func says(e *googleapi.Error, text string) bool { return strings.Contains(e.Body, text) }
