package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/backendtest/faultproxy"
	"github.com/strictkv/strictkv/backend/s3"
	"github.com/strictkv/strictkv/backend/s3/s3test"
)

var sentinels = []error{
	backend.ErrNotFound, backend.ErrNotModified, backend.ErrPrecondition,
	backend.ErrBucketNotFound, backend.ErrDenied, backend.ErrThrottled,
	backend.ErrUnavailable, backend.ErrOutcomeUnknown, backend.ErrCorrupt,
	backend.ErrInvalid,
}

// assertOnly fails the test unless err matches want and no other sentinel.
func assertOnly(t *testing.T, want, err error, what string) {
	t.Helper()
	var got []error
	for _, s := range sentinels {
		if errors.Is(err, s) {
			got = append(got, s)
		}
	}
	assert.Equal(t, []error{want}, got, "%s: %v", what, err)
}

type kind int

const (
	get kind = iota
	list
	put
	del
)

var kinds = []kind{get, list, put, del}

func (k kind) reads() bool { return k == get || k == list }

func (k kind) String() string { return [...]string{"get", "list", "put", "delete"}[k] }

// matches reports whether r is a request of a call.
func (k kind) matches(r *http.Request) bool {
	switch k {
	case get:
		return r.Method == http.MethodGet && !r.URL.Query().Has("list-type")
	case list:
		return r.URL.Query().Has("list-type")
	case put:
		return r.Method == http.MethodPut
	}
	return r.Method == http.MethodDelete
}

// call makes a call on the object "object", which is at v.
func call(ctx context.Context, b *s3.Backend, k kind, v backend.Version) error {
	var err error
	switch k {
	case get:
		_, err = b.Get(ctx, "object", "")
	case list:
		_, err = b.List(ctx, backend.ListOptions{})
	case put:
		_, err = b.Put(ctx, "object", []byte("new"), backend.IfVersion(v))
	case del:
		err = b.Delete(ctx, "object", v)
	}
	return err
}

// object makes an object of ten times "data".
func object(t *testing.T, b *s3.Backend) backend.Version {
	t.Helper()
	data := bytes.Repeat([]byte("data"), 10)
	v, err := b.Put(t.Context(), "object", data, backend.IfAbsent())
	require.NoError(t, err)
	return v.Version
}

// faulty starts a store behind a proxy for faults. Its client would retry.
func faulty(t *testing.T, options ...s3.Option) (*s3.Backend, *faultproxy.Proxy) {
	t.Helper()
	target, err := url.Parse(s3test.GoFakes3(t).URL())
	require.NoError(t, err)
	p := faultproxy.New(target, faultproxy.Options{})
	t.Cleanup(p.Close)
	client := s3test.Client(t, p.URL(), func(o *awss3.Options) { o.RetryMaxAttempts = 5 })
	return s3.New(client, s3test.Bucket(t, client), options...), p
}

// refusal is an answer of S3.
func refusal(status int, code string) faultproxy.Fault {
	f := faultproxy.Fault{Status: status}
	if code != "" {
		f.Body = fmt.Sprintf("<Error><Code>%s</Code><Message>No.</Message></Error>", code)
	}
	return f
}

// answers are the rows of errors.go.
var answers = []struct {
	status      int
	code        string
	read, write error
}{
	{200, "InternalError", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{200, "PreconditionFailed", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{200, "SlowDown", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{301, "PermanentRedirect", backend.ErrInvalid, backend.ErrInvalid},
	{301, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{304, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{307, "", backend.ErrUnavailable, backend.ErrUnavailable},
	{400, "BadDigest", backend.ErrUnavailable, backend.ErrUnavailable},
	{400, "InvalidDigest", backend.ErrUnavailable, backend.ErrUnavailable},
	{400, "IncompleteBody", backend.ErrUnavailable, backend.ErrUnavailable},
	{400, "XAmzContentSHA256Mismatch", backend.ErrUnavailable, backend.ErrUnavailable},
	{400, "XAmzContentChecksumMismatch", backend.ErrUnavailable, backend.ErrUnavailable},
	{400, "ExpiredToken", backend.ErrDenied, backend.ErrDenied},
	{400, "InvalidToken", backend.ErrDenied, backend.ErrDenied},
	{400, "TokenRefreshRequired", backend.ErrDenied, backend.ErrDenied},
	{400, "RequestTimeout", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{400, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{400, "InvalidArgument", backend.ErrInvalid, backend.ErrInvalid},
	{401, "", backend.ErrDenied, backend.ErrDenied},
	{403, "AccessDenied", backend.ErrDenied, backend.ErrDenied},
	{403, "", backend.ErrDenied, backend.ErrDenied},
	{403, "RequestTimeTooSkewed", backend.ErrUnavailable, backend.ErrUnavailable},
	{404, "NoSuchBucket", backend.ErrBucketNotFound, backend.ErrBucketNotFound},
	{404, "NoSuchUpload", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{404, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{405, "MethodNotAllowed", backend.ErrInvalid, backend.ErrInvalid},
	{408, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{409, "ConditionalRequestConflict", backend.ErrUnavailable, backend.ErrUnavailable},
	{409, "OperationAborted", backend.ErrUnavailable, backend.ErrUnavailable},
	{409, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{411, "MissingContentLength", backend.ErrInvalid, backend.ErrInvalid},
	{412, "PreconditionFailed", backend.ErrUnavailable, backend.ErrPrecondition},
	{412, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{412, "SomethingElse", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{413, "", backend.ErrInvalid, backend.ErrInvalid},
	{418, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{429, "", backend.ErrThrottled, backend.ErrThrottled},
	{500, "InternalError", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{500, "SlowDown", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{501, "NotImplemented", backend.ErrInvalid, backend.ErrInvalid},
	{502, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{503, "SlowDown", backend.ErrThrottled, backend.ErrThrottled},
	{503, "SlowDownWrite", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{503, "ServiceUnavailable", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{503, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	{504, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
}

// TestAnswers: what each answer means, after a single request of a client that
// would retry.
func TestAnswers(t *testing.T) {
	t.Parallel()
	b, p := faulty(t)
	v := object(t, b)
	for _, c := range answers {
		for _, k := range kinds {
			if k == get && c.status == http.StatusOK {
				continue // It is an object that looks like an error, without an ETag.
			}
			p.Inject(k.matches, refusal(c.status, c.code))
			want := c.write
			if k.reads() {
				want = c.read
			}
			assertOnly(t, want, call(t.Context(), b, k, v),
				fmt.Sprintf("%v: %d %s", k, c.status, c.code))
			require.Zero(t, p.Pending(), "faults that met no request")
		}
	}
	require.NoError(t, call(t.Context(), b, get, v), "the object is still there")
}

// TestGateway: the page of a gateway says nothing of objects and conditions.
func TestGateway(t *testing.T) {
	t.Parallel()
	b, p := faulty(t)
	v := object(t, b)
	for _, status := range []int{404, 409, 412} {
		for _, body := range []string{
			"<html><head><title>Not here</title></head><body><hr></html>", "not here", "{}",
			"<Error><Message>no</Message></Error>",
		} {
			for _, k := range kinds {
				want := backend.ErrOutcomeUnknown
				if k.reads() {
					want = backend.ErrUnavailable
				}
				p.Inject(k.matches, faultproxy.Fault{Status: status, Body: body})
				assertOnly(t, want, call(t.Context(), b, k, v), fmt.Sprint(k, status, body))
			}
		}
	}
}

// TestMissing: only a Get may find that an object is absent, and a condition on it
// does not hold.
func TestMissing(t *testing.T) {
	t.Parallel()
	b, p := faulty(t)
	v := object(t, b)
	for _, k := range kinds {
		want := [...]error{
			backend.ErrNotFound, backend.ErrUnavailable,
			backend.ErrPrecondition, backend.ErrPrecondition,
		}[k]
		p.Inject(k.matches, refusal(http.StatusNotFound, "NoSuchKey"))
		assertOnly(t, want, call(t.Context(), b, k, v), k.String())
	}
}

// TestNotImplemented: the error says what the store lacks.
func TestNotImplemented(t *testing.T) {
	t.Parallel()
	b, p := faulty(t)
	v := object(t, b)
	_, err := b.Get(t.Context(), "object", v)
	assertOnly(t, backend.ErrNotModified, err, "get")
	for k, want := range map[kind]string{
		put: "the store does not implement PUT with If-Match",
		del: "the store does not implement DELETE with If-Match",
	} {
		p.Inject(k.matches, refusal(http.StatusNotImplemented, "NotImplemented"))
		assert.ErrorContains(t, call(t.Context(), b, k, v), want)
	}
	p.Inject(put.matches, refusal(http.StatusNotImplemented, "NotImplemented"))
	_, err = b.Put(t.Context(), "other", nil, backend.IfAbsent())
	assert.ErrorContains(t, err, "the store does not implement PUT with If-None-Match")
}

// TestLostAnswers: a write that may have landed is never reported as one that has
// not, and is sent once.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	b, p := faulty(t)
	internal := refusal(http.StatusInternalServerError, "InternalError")
	internal.Landed = true
	for _, c := range []struct {
		name   string
		fault  faultproxy.Fault
		landed bool
		want   error
	}{
		{"answer lost", faultproxy.Fault{ResetAfter: true}, true, backend.ErrOutcomeUnknown},
		{"request lost", faultproxy.Fault{ResetBefore: true}, false, backend.ErrOutcomeUnknown},
		{"landed, but an error", internal, true, backend.ErrOutcomeUnknown},
		{"landed twice", faultproxy.Fault{Duplicate: true}, true, backend.ErrPrecondition},
	} {
		v := object(t, b)
		p.Inject(put.matches, c.fault)
		assertOnly(t, c.want, call(t.Context(), b, put, v), "put: "+c.name)
		o, err := b.Get(t.Context(), "object", "")
		require.NoError(t, err)
		assert.Equal(t, c.landed, string(o.Data) == "new", "put: %s: landed", c.name)

		p.Inject(del.matches, c.fault)
		assertOnly(t, c.want, b.Delete(t.Context(), "object", o.Version), "delete: "+c.name)
		_, err = b.Get(t.Context(), "object", "")
		assert.Equal(t, c.landed, errors.Is(err, backend.ErrNotFound), "delete: %s: landed", c.name)
		if err == nil {
			require.NoError(t, b.Delete(t.Context(), "object", o.Version))
		}
	}
}

// TestDamagedBodies: a Get returns the object's bytes, or ErrUnavailable.
func TestDamagedBodies(t *testing.T) {
	t.Parallel()
	b, p := faulty(t)
	v := object(t, b)
	p.Inject(get.matches, faultproxy.Fault{Corrupt: true})
	assertOnly(t, backend.ErrUnavailable, call(t.Context(), b, get, v), "a changed bit")
	p.Inject(get.matches, faultproxy.Fault{Truncate: true})
	assertOnly(t, backend.ErrUnavailable, call(t.Context(), b, get, v), "a body cut off")
	p.Inject(list.matches, faultproxy.Fault{Truncate: true})
	assertOnly(t, backend.ErrUnavailable, call(t.Context(), b, list, v), "a listing cut off")

	o, err := b.Get(t.Context(), "object", "")
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("data", 10), string(o.Data))
}

// TestDamagedUpload: the store refuses data that do not match their checksum.
func TestDamagedUpload(t *testing.T) {
	t.Parallel()
	b, p := faulty(t)
	v := object(t, b)
	p.Inject(put.matches, faultproxy.Fault{CorruptRequest: true})
	assertOnly(t, backend.ErrUnavailable, call(t.Context(), b, put, v), "a changed bit")
	_, err := b.Get(t.Context(), "object", v)
	assertOnly(t, backend.ErrNotModified, err, "get after a refused upload")
}

// TestCancel: calls end when their context does, whatever the store is up to.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		b, p := faulty(t)
		v := object(t, b)
		ctx, cancel := context.WithCancel(t.Context())
		p.Inject(k.matches, // An hour, or until the proxy's end.
			faultproxy.Fault{Received: cancel, Delay: time.Hour})
		err := call(ctx, b, k, v)
		want := backend.ErrOutcomeUnknown
		if k.reads() {
			want = backend.ErrUnavailable
		}
		assertOnly(t, want, err, k.String())
		assert.ErrorIs(t, err, context.Canceled, k.String())
	}
}
