package azure_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/azure"
	"github.com/strictkv/strictkv/backend/azure/azuretest"
)

// transport answers each request by itself.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// over returns a client of a store that is reached by the transport.
func over(t *testing.T, url string, by http.RoundTripper) *azure.Backend {
	o := eager()
	o.Transport = &http.Client{Transport: by}
	return azure.New(azuretest.Client(t, url, "container", o))
}

// TestNotSent: a request that was not sent is one that was not applied.
func TestNotSent(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(nil)
	closed.Close()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()

	fails := func(err error) http.RoundTripper {
		return transport(func(*http.Request) (*http.Response, error) { return nil, err })
	}
	for _, c := range []struct {
		name, url string
		by        http.RoundTripper
	}{
		{"connection refused", closed.URL, &http.Transport{}},
		{"certificate not trusted", untrusted.URL, &http.Transport{}},
		{"no such host", closed.URL, fails(
			&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}})},
		{"name service down", closed.URL, fails(&net.DNSError{IsTimeout: true})},
	} {
		b := over(t, c.url, c.by)
		for _, k := range kinds {
			assertOnly(t, backend.ErrUnavailable, call(t.Context(), b, k, "1"), c.name)
		}
	}
}

// tokens is a credential that has none.
type tokens struct{ err error }

func (c tokens) GetToken(
	context.Context, policy.TokenRequestOptions,
) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, c.err
}

// TestNoToken: without a token there is no request.
func TestNoToken(t *testing.T) {
	t.Parallel()
	refused := func(status int) error {
		r := httptest.NewRequest(http.MethodPost, "https://example.com/token", nil)
		return &azidentity.AuthenticationFailedError{RawResponse: &http.Response{
			StatusCode: status, Request: r, Body: http.NoBody,
		}}
	}
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"refused", refused(400), backend.ErrDenied},
		{"refused", refused(401), backend.ErrDenied},
		{"no credentials", azidentity.NewCredentialUnavailableError("none"), backend.ErrDenied},
		{"a credential of one's own", errors.New("refused"), backend.ErrDenied},
		{"out of reach", &azidentity.AuthenticationFailedError{}, backend.ErrUnavailable},
		{"out of reach", &net.OpError{Op: "dial", Err: net.ErrClosed}, backend.ErrUnavailable},
		{"out of reach", &net.OpError{Op: "read", Err: net.ErrClosed}, backend.ErrUnavailable},
		{"starting", refused(404), backend.ErrUnavailable},
		{"busy", refused(429), backend.ErrUnavailable},
		{"broken", refused(503), backend.ErrUnavailable},
		{"out of time", context.DeadlineExceeded, backend.ErrUnavailable},
		{"ended", context.Canceled, backend.ErrUnavailable},
	} {
		o := &container.ClientOptions{}
		o.Transport = &http.Client{Transport: transport(
			func(*http.Request) (*http.Response, error) {
				assert.Fail(t, "a request")
				return nil, net.ErrClosed
			})}
		client, err := container.NewClient("https://example.com/container", tokens{c.err}, o)
		require.NoError(t, err)
		for _, k := range kinds {
			assertOnly(t, c.want, call(t.Context(), azure.New(client), k, "1"), "token: "+c.name)
		}
	}
}

// TestMaybeSent: of a connection that broke, nobody knows what it carried.
func TestMaybeSent(t *testing.T) {
	t.Parallel()
	for _, lost := range []error{
		&net.OpError{Op: "read", Err: net.ErrClosed}, &net.OpError{Op: "write", Err: net.ErrClosed},
		io.EOF, io.ErrUnexpectedEOF, errors.New("something else"), context.DeadlineExceeded,
	} {
		b := over(t, "http://127.0.0.1:1", transport(func(*http.Request) (*http.Response, error) {
			return nil, lost
		}))
		for _, k := range []kind{write, remove} {
			assertOnly(t, backend.ErrOutcomeUnknown, call(t.Context(), b, k, "1"), lost.Error())
		}
		for _, k := range []kind{read, list} {
			assertOnly(t, backend.ErrUnavailable, call(t.Context(), b, k, "1"), lost.Error())
		}
	}
}

// TestSentTwice: somebody between the adapter and the network, whom the client's
// owner has put there, repeats a write whose answer was lost. What he is told then
// about the second copy is not the outcome of the write.
func TestSentTwice(t *testing.T) {
	t.Parallel()
	s := azuretest.New(t)
	var sent atomic.Int32
	inner := &http.Transport{}
	t.Cleanup(inner.CloseIdleConnections)
	twice := policyFunc(func(r *policy.Request) (*http.Response, error) {
		answer, err := r.Clone(r.Raw().Context()).Next()
		if err != nil || r.Raw().Header.Get("If-Match") == "" {
			return answer, err
		}
		_ = answer.Body.Close()
		if err := r.RewindBody(); err != nil {
			return nil, err
		}
		sent.Add(1)
		return r.Next()
	})
	for _, c := range []struct {
		name string
		kind kind
		then http.RoundTripper
	}{
		{"put", write, inner},
		{"delete", remove, inner},
		{"put, then no connection", write, refusing(inner, &sent)},
		{"delete, then no connection", remove, refusing(inner, &sent)},
	} {
		plain := s.Container(t)
		o := eager()
		o.Transport = &http.Client{Transport: c.then}
		o.PerRetryPolicies = []policy.Policy{twice}
		name := plain.URL()[strings.LastIndex(plain.URL(), "/")+1:]
		b := azure.New(azuretest.Client(t, s.URL(), name, o))
		v := object(t, azure.New(plain), "object")
		sent.Store(0)
		err := call(t.Context(), b, c.kind, v)
		assertOnly(t, backend.ErrOutcomeUnknown, err, c.name)
		assert.EqualValues(t, 1, sent.Load(), "%s: repetitions", c.name)
	}
}

type policyFunc func(*policy.Request) (*http.Response, error)

func (f policyFunc) Do(r *policy.Request) (*http.Response, error) { return f(r) }

// refusing is a network that takes no connection for what is sent again.
func refusing(by http.RoundTripper, sent *atomic.Int32) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		if sent.Load() > 0 {
			return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
		}
		return by.RoundTrip(r)
	})
}

// TestEarlyAnswer: the store need not listen to the end to refuse an upload.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]error{
		"ConditionNotMet": backend.ErrPrecondition, "LeaseIdMissing": backend.ErrUnavailable,
	} {
		b := over(t, "http://127.0.0.1:1", transport(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusPreconditionFailed, Body: http.NoBody,
				Header: http.Header{"X-Ms-Error-Code": {code}}, Request: r,
			}, r.Body.Close()
		}))
		assertOnly(t, want, call(t.Context(), b, write, "1"), code)
	}
}

// TestIncompleteAnswers: what has no version or length, or is a part only, cannot
// be returned.
func TestIncompleteAnswers(t *testing.T) {
	t.Parallel()
	const tag = "Etag"
	for _, c := range []struct {
		name   string
		status int
		header map[string]string
	}{
		{"no ETag", 200, nil},
		{"a weak ETag", 200, map[string]string{tag: `W/"1"`}},
		{"an empty ETag", 200, map[string]string{tag: `""`}},
		{"a part", 206, map[string]string{tag: `"1"`, "Content-Range": "bytes 0-3/9"}},
		{"a checksum of others", 200, map[string]string{tag: `"1"`, "Content-MD5": "MTIzNA=="}},
		{"compressed", 200, map[string]string{tag: `"1"`, "Content-Encoding": "gzip"}},
	} {
		b := served(t, func(w http.ResponseWriter, r *http.Request) {
			for name, value := range c.header {
				w.Header().Set(name, value)
			}
			if r.Method == http.MethodPut {
				w.WriteHeader(http.StatusCreated)
				return
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, "body")
		})
		assertOnly(t, backend.ErrUnavailable, call(t.Context(), b, read, ""), c.name)
		if strings.Contains(c.name, "ETag") {
			assertOnly(t, backend.ErrOutcomeUnknown, call(t.Context(), b, write, "1"), c.name)
		}
	}
	b := served(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(tag, `"1"`)
		_ = http.NewResponseController(w).Flush() // Without a length, then.
		_, _ = io.WriteString(w, "body")
	})
	assertOnly(t, backend.ErrUnavailable, call(t.Context(), b, read, ""), "no length")
	b = served(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(tag, `"1"`)
		_, _ = io.WriteString(w, "body")
	})
	_, err := b.Get(t.Context(), "object", "1")
	assertOnly(t, backend.ErrNotModified, err, "a store that ignores If-None-Match")
	assert.NoError(t, call(t.Context(), b, read, ""), "a blob without a checksum")
}

// served returns a client of a server of one's own.
func served(t *testing.T, f http.HandlerFunc) *azure.Backend {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return azure.New(azuretest.Client(t, s.URL, "container", eager()))
}

// TestEndedContext: a call after its context's end is not sent, so not applied.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, k := range kinds {
		err := call(ctx, unasked(t), k, "1")
		assertOnly(t, backend.ErrUnavailable, err, "call after the context's end")
		assert.ErrorIs(t, err, context.Canceled)
	}
}

// unasked returns a client that must send nothing.
func unasked(t *testing.T) *azure.Backend {
	return over(t, "http://127.0.0.1:1", transport(func(*http.Request) (*http.Response, error) {
		assert.Fail(t, "a request")
		return nil, net.ErrClosed
	}))
}

// TestInvalid: what the store would refuse, or take for something else, is not
// sent.
func TestInvalid(t *testing.T) {
	t.Parallel()
	b := unasked(t)
	for _, name := range []string{
		"", ".", "..", "a\nb", "a\rb", "\x00", "\x7f", "\uffff", "\xff", "a\xc3",
		strings.Repeat("x", 1025),
	} {
		_, err := b.Get(t.Context(), name, "")
		assertOnly(t, backend.ErrInvalid, err, "get "+name)
		_, err = b.Put(t.Context(), name, nil, backend.IfAbsent())
		assertOnly(t, backend.ErrInvalid, err, "put "+name)
		assertOnly(t, backend.ErrInvalid, b.Delete(t.Context(), name, "1"), "delete "+name)
	}
	for _, v := range []backend.Version{"*", `"`, `a"b`, "a b", "a\nb", "é"} {
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
	b := azure.New(azuretest.New(t).Container(t))
	_, err := b.Get(t.Context(), "absent", "")
	var answer *azcore.ResponseError
	require.ErrorAs(t, err, &answer)
	assert.Equal(t, "BlobNotFound", answer.ErrorCode)
	assert.ErrorContains(t, err, `azure get "absent": not found: `)
}
