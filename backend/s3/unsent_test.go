package s3_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/s3"
	"github.com/strictkv/strictkv/backend/s3/s3test"
)

// nowhere is a URL where nobody listens.
func nowhere() string {
	s := httptest.NewServer(nil)
	defer s.Close()
	return s.URL
}

// do is a client of HTTP.
type do func(*http.Request) (*http.Response, error)

func (f do) Do(r *http.Request) (*http.Response, error) { return f(r) }

func through(f do) func(*awss3.Options) {
	return func(o *awss3.Options) { o.HTTPClient = f }
}

func failing(err error) func(*awss3.Options) {
	return through(func(*http.Request) (*http.Response, error) { return nil, err })
}

// identity makes the client fail to get credentials.
func identity(err error) func(*awss3.Options) {
	return func(o *awss3.Options) {
		o.HTTPClient = do(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("a request without credentials")
		})
		o.Credentials = aws.CredentialsProviderFunc(
			func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, err })
	}
}

func tokenAnswer(status int) error {
	return &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
		Err:      errors.New("no token"),
	}
}

// TestNotSent: a request that was not sent is one that was not applied.
func TestNotSent(t *testing.T) {
	t.Parallel()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	plain := func(*awss3.Options) {}
	for _, c := range []struct {
		name, url string
		option    func(*awss3.Options)
		want      error
	}{
		{"connection refused", nowhere(), plain, backend.ErrUnavailable},
		{"certificate not trusted", untrusted.URL, plain, backend.ErrUnavailable},
		{"no such host", nowhere(), failing(
			&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}),
			backend.ErrUnavailable},
		{"name service down", nowhere(), failing(&net.DNSError{IsTimeout: true}),
			backend.ErrUnavailable},
		{"proxy refuses", nowhere(), failing(
			&net.OpError{Op: "proxyconnect", Err: net.ErrClosed}), backend.ErrUnavailable},
		{"no credentials", nowhere(), identity(errors.New("none found")), backend.ErrDenied},
		{"token refused", nowhere(), identity(tokenAnswer(403)), backend.ErrDenied},
		{"token service throttles", nowhere(), identity(tokenAnswer(429)), backend.ErrUnavailable},
		{"token service is slow", nowhere(), identity(tokenAnswer(408)), backend.ErrUnavailable},
		{"token service is down", nowhere(), identity(tokenAnswer(503)), backend.ErrUnavailable},
		{"token service is away", nowhere(), identity(
			&smithyhttp.RequestSendError{Err: net.ErrClosed}), backend.ErrUnavailable},
		{"no region", "", func(o *awss3.Options) { o.BaseEndpoint, o.Region = nil, "" },
			backend.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := s3.New(s3test.Client(t, c.url, c.option), "bucket")
			for _, k := range kinds {
				assertOnly(t, c.want, call(t.Context(), b, k, "v"), c.name)
			}
		})
	}
}

// TestMaybeSent: of a connection that broke, nobody knows what it carried.
func TestMaybeSent(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		&net.OpError{Op: "read", Err: net.ErrClosed}, &net.OpError{Op: "write", Err: net.ErrClosed},
		io.ErrUnexpectedEOF, context.DeadlineExceeded, errors.New("http2: stream error"),
	} {
		b := s3.New(s3test.Client(t, nowhere(), failing(err)), "bucket")
		for _, k := range []kind{put, del} {
			assertOnly(t, backend.ErrOutcomeUnknown, call(t.Context(), b, k, "v"), k.String())
		}
	}
}

// TestUnsentAfterEnd: a context that ends while the connection is being made ends a
// call that was not applied.
func TestUnsentAfterEnd(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		ctx, cancel := context.WithCancel(t.Context())
		b := s3.New(s3test.Client(t, nowhere(), through(
			func(*http.Request) (*http.Response, error) {
				cancel()
				return nil, &net.OpError{Op: "dial", Err: context.Canceled}
			})), "bucket")
		err := call(ctx, b, k, "v")
		assertOnly(t, backend.ErrUnavailable, err, k.String())
		assert.ErrorIs(t, err, context.Canceled)
	}
}

// TestSentOnce: whatever the client is told to repeat, it sends a request once.
func TestSentOnce(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		sent := 0
		b := s3.New(s3test.Client(t, nowhere(), func(o *awss3.Options) {
			o.Retryer, o.RetryMaxAttempts = eager{}, 5
		}, through(func(*http.Request) (*http.Response, error) {
			sent++
			return nil, io.ErrUnexpectedEOF
		})), "bucket")
		err := call(t.Context(), b, k, "v")
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.NotContains(t, err.Error(), "twice", "the SDK did not even try")
		assert.Equal(t, 1, sent, "requests of a %v", k)
	}
}

// TestNeverTwice: nor may what a user has added to the client send a write again.
func TestNeverTwice(t *testing.T) {
	t.Parallel()
	client := s3test.GoFakes3(t).Client(t)
	bucket := s3test.Bucket(t, client)
	first := s3.New(client, bucket)
	v := object(t, first)
	twice := middleware.FinalizeMiddlewareFunc("Twice", func(
		ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
	) (middleware.FinalizeOutput, middleware.Metadata, error) {
		_, _, err := next.HandleFinalize(ctx, in)
		assert.NoError(t, err)
		return next.HandleFinalize(ctx, in)
	})
	b := s3.New(awss3.New(client.Options(), awss3.WithAPIOptions(
		func(stack *middleware.Stack) error {
			return stack.Finalize.Add(twice, middleware.After)
		})), bucket)
	assertOnly(t, backend.ErrOutcomeUnknown, call(t.Context(), b, del, v), "delete, sent twice")
	_, err := first.Get(t.Context(), "object", v)
	assertOnly(t, backend.ErrNotFound, err, "get after the first copy has landed")
}

// eager retries everything.
type eager struct{ aws.NopRetryer }

func (eager) IsErrorRetryable(error) bool { return true }

func (eager) MaxAttempts() int { return 5 }

// untouched is a backend whose store must get no request.
func untouched(t *testing.T, bucket string) *s3.Backend {
	t.Helper()
	return s3.New(s3test.Client(t, nowhere(), through(
		func(r *http.Request) (*http.Response, error) {
			assert.Fail(t, "a request", "%s %s", r.Method, r.URL)
			return nil, net.ErrClosed
		})), bucket)
}

// TestEndedContext: a call after its context's end is not sent, so not applied.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	b := untouched(t, "bucket")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, k := range kinds {
		err := call(ctx, b, k, "v")
		assertOnly(t, backend.ErrUnavailable, err, k.String())
		assert.ErrorIs(t, err, context.Canceled)
	}
}

// TestInvalid: what the store would refuse, or take for something else, is not
// sent.
func TestInvalid(t *testing.T) {
	t.Parallel()
	b := untouched(t, "bucket")
	for _, name := range []string{
		"", "a\nb", "a\rb", "\x00", "\x1f", "\xff", "a\xc3", "\ufffe", "\uffff",
		strings.Repeat("x", 1025),
	} {
		_, err := b.Get(t.Context(), name, "")
		assertOnly(t, backend.ErrInvalid, err, "get "+name)
		_, err = b.Put(t.Context(), name, nil, backend.IfAbsent())
		assertOnly(t, backend.ErrInvalid, err, "put "+name)
		assertOnly(t, backend.ErrInvalid, b.Delete(t.Context(), name, "v"), "delete "+name)
	}
	for _, v := range []backend.Version{`"v"`, "a b", "a\nb", "é", `W/"v"`} {
		_, err := b.Get(t.Context(), "name", v)
		assertOnly(t, backend.ErrInvalid, err, "get at "+string(v))
		_, err = b.Put(t.Context(), "name", nil, backend.IfVersion(v))
		assertOnly(t, backend.ErrInvalid, err, "put at "+string(v))
		assertOnly(t, backend.ErrInvalid, b.Delete(t.Context(), "name", v), "delete at "+string(v))
	}
	_, err := b.List(t.Context(), backend.ListOptions{Limit: -1})
	assertOnly(t, backend.ErrInvalid, err, "list with a negative limit")

	for _, bucket := range []string{"", "name--usw2-az1--x-s3", "name--usw2-az1--xa-s3"} {
		b := untouched(t, bucket)
		for _, k := range kinds {
			assertOnly(t, backend.ErrInvalid, call(t.Context(), b, k, "v"), bucket)
		}
	}
}

// TestUnderlyingError: what the SDK has said is still there for those who ask.
func TestUnderlyingError(t *testing.T) {
	t.Parallel()
	client := s3test.GoFakes3(t).Client(t)
	_, err := s3.New(client, s3test.Bucket(t, client)).Get(t.Context(), "absent", "")
	var api smithy.APIError
	require.ErrorAs(t, err, &api)
	assert.Equal(t, "NoSuchKey", api.ErrorCode())
	assert.ErrorContains(t, err, `s3 get "absent": not found: `)
}
