package gcs_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"google.golang.org/api/option"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
)

// roundTrip fails each request before it is sent.
type roundTrip func() error

func (f roundTrip) RoundTrip(*http.Request) (*http.Response, error) { return nil, f() }

// TestNotSent: a request that was not sent is one that was not applied.
func TestNotSent(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(nil)
	closed.Close()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()

	answer := func(status int) *http.Response { return &http.Response{StatusCode: status} }
	for _, c := range []struct {
		name, url string
		transport http.RoundTripper
		want      error
	}{
		{"connection refused", closed.URL, &http.Transport{}, backend.ErrUnavailable},
		{"certificate not trusted", untrusted.URL, &http.Transport{}, backend.ErrUnavailable},
		{"no such host", closed.URL, roundTrip(func() error {
			return &net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}
		}), backend.ErrUnavailable},
		{"name service down", closed.URL, roundTrip(func() error {
			return &net.DNSError{IsTimeout: true}
		}), backend.ErrUnavailable},
		{"token refused", closed.URL, roundTrip(func() error {
			return &oauth2.RetrieveError{Response: answer(400)}
		}), backend.ErrDenied},
		{"token refused, new library", closed.URL, roundTrip(func() error {
			return &auth.Error{Response: answer(401)}
		}), backend.ErrDenied},
		{"tokens unavailable", closed.URL, roundTrip(func() error {
			return &oauth2.RetrieveError{Response: answer(503)}
		}), backend.ErrUnavailable},
		{"tokens unavailable, new library", closed.URL, roundTrip(func() error {
			return &auth.Error{Response: answer(429)}
		}), backend.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := gcs.New(gcstest.Client(t, c.url,
				option.WithHTTPClient(&http.Client{Transport: c.transport})).Bucket("bucket"))
			for _, kind := range kinds {
				assertOnly(t, c.want, call(t.Context(), b, kind, "1"), c.name)
			}
		})
	}
}

// TestMaybeSent: of a connection that broke, nobody knows what it carried.
func TestMaybeSent(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"read", "write"} {
		transport := roundTrip(func() error { return &net.OpError{Op: op, Err: net.ErrClosed} })
		b := gcs.New(gcstest.Client(t, "http://127.0.0.1:1",
			option.WithHTTPClient(&http.Client{Transport: transport})).Bucket("bucket"))
		for _, kind := range []gcstest.Kind{gcstest.Write, gcstest.Delete} {
			assertOnly(t, backend.ErrOutcomeUnknown, call(t.Context(), b, kind, "1"), op)
		}
	}
}

// early answers an upload before it has read any of it.
type early struct {
	status int
	body   string
}

func (e early) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: e.status, Body: io.NopCloser(strings.NewReader(e.body)),
	}, r.Body.Close()
}

// TestEarlyAnswer: the store need not listen to the end to refuse an upload.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	for answer, want := range map[early]error{
		{412, `{"error": {"errors": [{"reason": "conditionNotMet"}]}}`}: backend.ErrPrecondition,
		{429, ""}: backend.ErrThrottled,
	} {
		b := gcs.New(gcstest.Client(t, "http://127.0.0.1:1",
			option.WithHTTPClient(&http.Client{Transport: answer})).Bucket("bucket"))
		assertOnly(t, want, call(t.Context(), b, gcstest.Write, "1"), "early answer")
	}
}

// TestNoGeneration: what has no version cannot be returned.
func TestNoGeneration(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		assert.NoError(t, err)
		_, err = io.WriteString(w, "{}")
		assert.NoError(t, err)
	}))
	t.Cleanup(s.Close)
	b := gcs.New(gcstest.Client(t, s.URL).Bucket("bucket"))
	assertOnly(t, backend.ErrOutcomeUnknown, call(t.Context(), b, gcstest.Write, "1"), "put")
	assertOnly(t, backend.ErrUnavailable, call(t.Context(), b, gcstest.Read, "1"), "get")
}

// TestEndedContext: a call after its context's end is not sent, so not applied.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	b := gcs.New(s.Bucket(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Inject(func(*http.Request) gcstest.Fault {
		assert.Fail(t, "a request")
		return gcstest.Fault{}
	})
	for _, kind := range kinds {
		err := call(ctx, b, kind, "1")
		assertOnly(t, backend.ErrUnavailable, err, "call after the context's end")
		assert.ErrorIs(t, err, context.Canceled)
	}
}

// TestInvalid: what the store would refuse, or take for something else, is not
// sent.
func TestInvalid(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	b := gcs.New(s.Bucket(t))
	s.Inject(func(*http.Request) gcstest.Fault {
		assert.Fail(t, "a request")
		return gcstest.Fault{}
	})
	for _, name := range []string{
		"", ".", "..", "a\nb", "a\rb", "\xff", "a\xc3", strings.Repeat("x", 1025),
		".well-known/acme-challenge/x",
	} {
		_, err := b.Get(t.Context(), name, "")
		assertOnly(t, backend.ErrInvalid, err, "get "+name)
		_, err = b.Put(t.Context(), name, nil, backend.IfAbsent())
		assertOnly(t, backend.ErrInvalid, err, "put "+name)
		assertOnly(t, backend.ErrInvalid, b.Delete(t.Context(), name, "1"), "delete "+name)
	}
	for _, v := range []backend.Version{"0", "-1", "+1", "01", "x", "1.0", "99999999999999999999"} {
		_, err := b.Get(t.Context(), "name", v)
		assertOnly(t, backend.ErrInvalid, err, "get at "+string(v))
		_, err = b.Put(t.Context(), "name", nil, backend.IfVersion(v))
		assertOnly(t, backend.ErrInvalid, err, "put at "+string(v))
		assertOnly(t, backend.ErrInvalid, b.Delete(t.Context(), "name", v), "delete at "+string(v))
	}
	_, err := b.List(t.Context(), backend.ListOptions{Limit: -1})
	assertOnly(t, backend.ErrInvalid, err, "list with a negative limit")
}

// TestUnderlyingError: what the SDK has said is still there for those who ask.
func TestUnderlyingError(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	b := gcs.New(s.Bucket(t))
	_, err := b.Get(t.Context(), "absent", "")
	require.ErrorIs(t, err, storage.ErrObjectNotExist)
	assert.ErrorContains(t, err, `gcs get "absent": not found: `)
}
