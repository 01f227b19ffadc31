package gcs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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
)

var errNoGeneration = errors.New("the answer has no generation")

// callError formats itself only when asked: "not modified" and "precondition
// failed" are everyday answers, which must stay cheap.
type callError struct {
	call, name string
	kind       error // of package backend
	cause      error // of the SDK or the context, or nil
}

func (e *callError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("gcs %s %q: %v", e.call, e.name, e.kind)
	}
	return fmt.Sprintf("gcs %s %q: %v: %v", e.call, e.name, e.kind, e.cause)
}

func (e *callError) Is(target error) bool { return target == e.kind }

func (e *callError) Unwrap() error { return e.cause }

// RetryAfter implements backend.RetryAfter.
func (e *callError) RetryAfter() time.Duration {
	var answer *googleapi.Error
	if !errors.As(e.cause, &answer) {
		return 0
	}
	return backend.ParseRetryAfter(answer.Header.Get("Retry-After"), time.Now())
}

// ended adds the context's error to err if the context has ended.
func ended(ctx context.Context, err error) error {
	if c := ctx.Err(); c != nil && !errors.Is(err, c) {
		return fmt.Errorf("%w: %w", c, err)
	}
	return err
}

// readError tells what a failed Get or List means.
func (b *Backend) readError(ctx context.Context, call, name string, err error) error {
	kind := certain(err)
	switch {
	case answered(err, http.StatusNotModified):
		kind = backend.ErrNotModified
		b.exists()
	case errors.Is(err, storage.ErrBucketNotExist):
		kind = backend.ErrBucketNotFound
	case errors.Is(err, storage.ErrObjectNotExist):
		kind = b.missing(ctx, err, backend.ErrNotFound)
	case kind == nil:
		kind = backend.ErrUnavailable
	}
	return &callError{call, name, kind, ended(ctx, err)}
}

// writeError tells what a failed Put or Delete means.
func (b *Backend) writeError(ctx context.Context, call, name string, err error) error {
	kind := certain(err)
	switch {
	case answered(err, http.StatusPreconditionFailed):
		kind = backend.ErrPrecondition
		b.exists()
	case answered(err, http.StatusNotFound):
		kind = b.missing(ctx, err, backend.ErrPrecondition)
	case kind == nil:
		kind = backend.ErrOutcomeUnknown
	}
	return &callError{call, name, kind, ended(ctx, err)}
}

// answered tells whether err is an answer of the store with that status.
func answered(err error, status int) bool {
	var e *googleapi.Error
	return errors.As(err, &e) && e.Code == status
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

// missing tells what a 404 speaks of: ErrBucketNotFound, or object if it is just
// the object that is absent. If neither the answer tells, nor an earlier one, it
// asks the store, and its failure to answer is a failure of the call.
func (b *Backend) missing(ctx context.Context, err, object error) error {
	var answer *googleapi.Error
	if errors.As(err, &answer) {
		switch {
		case says(answer, "No such object"):
			b.exists()
			return object
		case says(answer, "bucket does not exist"):
			return backend.ErrBucketNotFound
		}
	}
	if b.seen.Load() {
		return object
	}
	_, listErr := b.objects(ctx, backend.ListOptions{Limit: 1}).Next()
	switch kind := certain(listErr); {
	case listErr == nil, errors.Is(listErr, iterator.Done):
		b.exists()
		return object
	case errors.Is(listErr, storage.ErrBucketNotExist):
		return backend.ErrBucketNotFound
	case kind != nil:
		return kind
	}
	return backend.ErrUnavailable
}

// says tells whether the answer's body contains the text. The SDK parses only the
// bodies of some.
func says(e *googleapi.Error, text string) bool { return strings.Contains(e.Body, text) }
