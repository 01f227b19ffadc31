package azure_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/azure"
	"github.com/strictkv/strictkv/backend/backendtest/faultproxy"
)

// refusal is an answer of the store with a code.
func refusal(status int, code string) faultproxy.Fault {
	f := faultproxy.Fault{Status: status}
	if code != "" {
		f.Header = http.Header{"X-Ms-Error-Code": {code}, "Content-Type": {"application/xml"}}
		f.Body = "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code></Error>"
	}
	return f
}

// object makes an object of ten times "data".
func object(t *testing.T, b *azure.Backend, name string) backend.Version {
	t.Helper()
	v, err := b.Put(t.Context(), name, bytes.Repeat([]byte("data"), 10), backend.IfAbsent())
	require.NoError(t, err)
	return v.Version
}

// TestAnswers: what each answer means, after a single request, for a client that
// would retry.
func TestAnswers(t *testing.T) {
	t.Parallel()
	b, p := disturbed(t, stores[0].start)
	v := object(t, b, "object")
	for _, c := range []struct {
		status      int
		code        string
		read, write error
	}{
		// Not what a call asks for.
		{206, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{204, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{200, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{302, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{304, "ConditionNotMet", backend.ErrUnavailable, backend.ErrOutcomeUnknown},

		{400, "", backend.ErrInvalid, backend.ErrInvalid},
		{400, "InvalidHeaderValue", backend.ErrInvalid, backend.ErrInvalid},
		{400, "Md5Mismatch", backend.ErrUnavailable, backend.ErrUnavailable},
		{400, "InvalidAuthenticationInfo", backend.ErrDenied, backend.ErrDenied},
		{401, "NoAuthenticationInformation", backend.ErrDenied, backend.ErrDenied},
		{403, "AuthorizationPermissionMismatch", backend.ErrDenied, backend.ErrDenied},
		{403, "", backend.ErrDenied, backend.ErrDenied},
		{404, "BlobNotFound", backend.ErrNotFound, backend.ErrPrecondition},
		{404, "ContainerNotFound", backend.ErrBucketNotFound, backend.ErrBucketNotFound},
		{404, "ResourceNotFound", backend.ErrBucketNotFound, backend.ErrBucketNotFound},
		{404, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{405, "UnsupportedHttpVerb", backend.ErrInvalid, backend.ErrInvalid},
		{408, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{409, "BlobAlreadyExists", backend.ErrUnavailable, backend.ErrPrecondition},
		{409, "ContainerBeingDeleted", backend.ErrBucketNotFound, backend.ErrBucketNotFound},
		{409, "ContainerDisabled", backend.ErrDenied, backend.ErrDenied},
		{409, "BlobArchived", backend.ErrUnavailable, backend.ErrUnavailable},
		{409, "BlobBeingRehydrated", backend.ErrUnavailable, backend.ErrUnavailable},
		{409, "BlobImmutableDueToPolicy", backend.ErrUnavailable, backend.ErrUnavailable},
		{409, "SnapshotsPresent", backend.ErrUnavailable, backend.ErrUnavailable},
		{409, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{411, "MissingContentLengthHeader", backend.ErrInvalid, backend.ErrInvalid},
		{412, "ConditionNotMet", backend.ErrUnavailable, backend.ErrPrecondition},
		{412, "LeaseIdMissing", backend.ErrUnavailable, backend.ErrUnavailable},
		{412, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{413, "RequestBodyTooLarge", backend.ErrInvalid, backend.ErrInvalid},
		{429, "", backend.ErrThrottled, backend.ErrThrottled},
		{499, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{500, "InternalError", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{500, "OperationTimedOut", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{501, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{502, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{503, "ServerBusy", backend.ErrThrottled, backend.ErrThrottled},
		{503, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{504, "", backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	} {
		for _, k := range kinds {
			if c.status == 200 && k == list {
				continue // An empty body is no listing; what it says is not in the status.
			}
			what := fmt.Sprintf("%v: %d %s", k, c.status, c.code)
			p.Inject(k.is, refusal(c.status, c.code))
			var err error
			n := requests(p, func() { err = call(t.Context(), b, k, v) })
			want := c.write
			if k == read || k == list {
				want = c.read
			}
			assertOnly(t, want, err, what)
			assert.Equal(t, 1, n, "requests of a %s", what)
			assert.Zero(t, p.Pending())
		}
	}
}

// TestLostAnswers: a write that may have landed is never reported as one that has
// not, and is sent once.
func TestLostAnswers(t *testing.T) {
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			testLostAnswers(t, store.start)
		})
	}
}

func testLostAnswers(t *testing.T, start startFunc) {
	b, p := disturbed(t, start)
	unavailable := faultproxy.Fault{Status: 503, Landed: true}
	for _, c := range []struct {
		name   string
		fault  faultproxy.Fault
		landed bool
		want   error
	}{
		{"answer lost", faultproxy.Fault{ResetAfter: true}, true, backend.ErrOutcomeUnknown},
		{"request lost", faultproxy.Fault{ResetBefore: true}, false, backend.ErrOutcomeUnknown},
		{"landed, but unavailable", unavailable, true, backend.ErrOutcomeUnknown},
		{"landed twice", faultproxy.Fault{Duplicate: true}, true, backend.ErrPrecondition},
	} {
		v := object(t, b, "object")
		p.Inject(write.is, c.fault)
		n := requests(p, func() {
			_, err := b.Put(t.Context(), "object", []byte("new"), backend.IfVersion(v))
			assertOnly(t, c.want, err, "put: "+c.name)
		})
		assert.Equal(t, 1, n, "uploads")
		o, err := b.Get(t.Context(), "object", "")
		require.NoError(t, err)
		assert.Equal(t, c.landed, string(o.Data) == "new", "put: %s: landed", c.name)

		p.Inject(remove.is, c.fault)
		n = requests(p, func() {
			err := b.Delete(t.Context(), "object", o.Version)
			assertOnly(t, c.want, err, "delete: "+c.name)
		})
		assert.Equal(t, 1, n, "deletes")
		_, err = b.Get(t.Context(), "object", "")
		assert.Equal(t, c.landed, errors.Is(err, backend.ErrNotFound), "delete: %s: landed", c.name)
		if err == nil {
			require.NoError(t, b.Delete(t.Context(), "object", o.Version))
		}

		p.Inject(write.is, c.fault)
		_, err = b.Put(t.Context(), "object", []byte("new"), backend.IfAbsent())
		assertOnly(t, c.want, err, "create: "+c.name)
		if o, err = b.Get(t.Context(), "object", ""); err == nil {
			require.NoError(t, b.Delete(t.Context(), "object", o.Version))
		}
		assert.Equal(t, c.landed, err == nil, "create: %s: landed", c.name)
	}
}

// TestDamagedBodies: a Get returns the object's bytes, or ErrUnavailable.
func TestDamagedBodies(t *testing.T) {
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			b, p := disturbed(t, store.start)
			v := object(t, b, "object")
			for name, fault := range map[string]faultproxy.Fault{
				"a changed byte": {Corrupt: true}, "a body cut off": {Truncate: true},
			} {
				p.Inject(read.is, fault)
				n := requests(p, func() {
					assertOnly(t, backend.ErrUnavailable, call(t.Context(), b, read, ""), name)
				})
				assert.Equal(t, 1, n, "requests for %s", name)
				o, err := b.Get(t.Context(), "object", "")
				require.NoError(t, err)
				assert.Equal(t, strings.Repeat("data", 10), string(o.Data))
				assert.Equal(t, v, o.Version)
			}
			p.Inject(list.is, faultproxy.Fault{Truncate: true})
			err := call(t.Context(), b, list, "")
			assertOnly(t, backend.ErrUnavailable, err, "a listing cut off")

			// The store refuses data that do not match their checksum.
			p.Inject(write.is, faultproxy.Fault{CorruptRequest: true})
			err = call(t.Context(), b, write, v)
			assertOnly(t, backend.ErrUnavailable, err, "a damaged upload")
			_, err = b.Get(t.Context(), "object", v)
			assertOnly(t, backend.ErrNotModified, err, "get after a damaged upload")
		})
	}
}

// TestCancel: calls end when their context does, whatever the store is up to, and
// a write that lands later was reported as unknown.
func TestCancel(t *testing.T) {
	t.Parallel()
	b, p := disturbed(t, stores[0].start)
	v := object(t, b, "object")
	for _, k := range kinds {
		ctx, cancel := context.WithCancel(t.Context())
		p.Inject(k.is, faultproxy.Fault{Received: cancel, Delay: 50 * time.Millisecond})
		err := call(ctx, b, k, v)
		want := backend.ErrOutcomeUnknown
		if k == read || k == list {
			want = backend.ErrUnavailable
		}
		assertOnly(t, want, err, fmt.Sprint(k, " with a context that ends"))
		assert.ErrorIs(t, err, context.Canceled)
		if k == write {
			v = landed(t, b, v)
		}
	}
}

// landed waits for a write that was still under way.
func landed(t *testing.T, b *azure.Backend, v backend.Version) backend.Version {
	t.Helper()
	for {
		o, err := b.Get(t.Context(), "object", v)
		if err == nil {
			assert.Equal(t, "new", string(o.Data))
			return o.Version
		}
		require.ErrorIs(t, err, backend.ErrNotModified)
	}
}
