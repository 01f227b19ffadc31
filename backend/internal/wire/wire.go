// Package wire is what the adapters of stores behind HTTP have in common: the error of a
// failed call, which names no credential, the count of a request's copies, and the clock
// of an answer.
package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv/backend"
)

// Error is a failed call. It formats itself only when asked: "not modified" and
// "precondition failed" are everyday answers, which must stay cheap.
type Error struct {
	// Store is the adapter's package, and Bucket what it is over.
	Store, Bucket string
	Call, Name    string
	// Kind is of package backend; the error matches it.
	Kind error
	// Cause is the SDK's error, the context's or the adapter's own, or nil.
	Cause error
	// Pause is for how long the store wants to be left alone.
	Pause time.Duration
}

// Error names the call, and the bucket if that is what is wrong.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s %s %q: %v", e.Store, e.Call, e.Name, e.Kind)
	if errors.Is(e.Kind, backend.ErrBucketNotFound) {
		s += fmt.Sprintf(": %q", e.Bucket)
	}
	if e.Cause != nil {
		s += ": " + Text(e.Cause.Error())
	}
	return s
}

// GoString is Error: the fields may hold credentials.
func (e *Error) GoString() string { return e.Error() }

// Is makes the error match its kind.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Unwrap returns the cause, without the credentials in its text.
func (e *Error) Unwrap() error { return Hide(e.Cause) }

// RetryAfter implements backend.RetryAfter.
func (e *Error) RetryAfter() time.Duration { return e.Pause }

// Ended adds the context's error to err if the context has ended.
func Ended(ctx context.Context, err error) error {
	if c := ctx.Err(); c != nil && !errors.Is(err, c) {
		return fmt.Errorf("%w: %w", c, err)
	}
	return err
}

// Date is the store's clock as it answered, in seconds; zero if the header does not tell.
func Date(h http.Header) time.Time {
	at, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return at
}

// ErrSize is the cause of a Put that is refused, as no Get could read what it writes.
var ErrSize = fmt.Errorf("the data are longer than %d bytes", int64(backend.ObjectMax))

// TooLarge is the error of an object that is larger than backend.ObjectMax.
func TooLarge(name string, size int64) error {
	what := fmt.Sprintf("of %d bytes", size)
	if size < 0 {
		what = "without an end"
	}
	return &backend.CorruptError{Object: name, Err: fmt.Errorf(
		"%s, where the largest that is read has %d", what, int64(backend.ObjectMax))}
}

// Sendings is how often a write has been sent, as far as net/http tells. A policy or a
// transport of the user's may repeat it, and so does net/http itself if an HTTP/2 server
// ends the stream in certain ways.
type Sendings struct{ n atomic.Int32 }

// Count lets s count the requests with this context that have such a header. It must be the
// write's own: the request of a token may have the same context.
func (s *Sendings) Count(
	ctx context.Context, own func(header string, values []string) bool,
) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaderField: func(header string, values []string) {
			if own(header, values) {
				s.n.Add(1)
			}
		},
	})
}

// Conditional reports whether a header is the condition of a write.
func Conditional(header string, _ []string) bool {
	return strings.EqualFold(header, "If-Match") || strings.EqualFold(header, "If-None-Match")
}

// Begun reports whether any part of the write may have been sent.
func (s *Sendings) Begun() bool { return s.n.Load() > 0 }

// Repeated reports whether an answer may speak of the second copy of the write.
func (s *Sendings) Repeated() bool { return s.n.Load() > 1 }
