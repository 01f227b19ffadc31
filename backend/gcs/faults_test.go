package gcs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/option"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
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

// inject lets a fault happen to the first requests of a kind, and counts all of
// that kind.
func inject(s *gcstest.Server, kind gcstest.Kind, first int64, f gcstest.Fault) *atomic.Int64 {
	count := new(atomic.Int64)
	s.Inject(func(r *http.Request) gcstest.Fault {
		if gcstest.KindOf(r) != kind || count.Add(1) > first {
			return gcstest.Fault{}
		}
		return f
	})
	return count
}

// object makes an object of ten times "data".
func object(t *testing.T, b *gcs.Backend, name string) backend.Version {
	t.Helper()
	v, err := b.Put(t.Context(), name, bytes.Repeat([]byte("data"), 10), backend.IfAbsent())
	require.NoError(t, err)
	return v.Version
}

// call makes the call that sends requests of a kind.
func call(ctx context.Context, b *gcs.Backend, kind gcstest.Kind, v backend.Version) error {
	var err error
	switch kind {
	case gcstest.Read:
		_, err = b.Get(ctx, "object", "")
	case gcstest.Write:
		_, err = b.Put(ctx, "object", []byte("new"), backend.IfVersion(v))
	case gcstest.Delete:
		err = b.Delete(ctx, "object", v)
	case gcstest.List:
		_, err = b.List(ctx, backend.ListOptions{})
	}
	return err
}

var kinds = []gcstest.Kind{gcstest.Read, gcstest.List, gcstest.Write, gcstest.Delete}

// TestAnswers: what each answer means, after a single request, for handles and
// clients that would retry.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	client := gcstest.Client(t, s.URL(), storage.WithJSONReads())
	client.SetRetry(storage.WithPolicy(storage.RetryAlways))
	bucket := gcstest.Bucket(t, client).Retryer(storage.WithPolicy(storage.RetryAlways))
	b := gcs.New(bucket)
	v := object(t, b, "object")

	const crc = `Provided CRC32C "AAAAAA==" doesn't match calculated CRC32C "BBBBBB==".`
	for _, c := range []struct {
		fault       gcstest.Fault
		read, write error
	}{
		{gcstest.Fault{Status: 400}, backend.ErrInvalid, backend.ErrInvalid},
		{gcstest.Fault{Status: 400, Message: crc}, backend.ErrUnavailable, backend.ErrUnavailable},
		{gcstest.Fault{Status: 401}, backend.ErrDenied, backend.ErrDenied},
		{gcstest.Fault{Status: 403, Reason: "forbidden"}, backend.ErrDenied, backend.ErrDenied},
		{
			gcstest.Fault{Status: 403, Reason: "rateLimitExceeded"},
			backend.ErrThrottled, backend.ErrThrottled,
		},
		{gcstest.Fault{Status: 405}, backend.ErrInvalid, backend.ErrInvalid},
		{gcstest.Fault{Status: 408}, backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{gcstest.Fault{Status: 409}, backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{gcstest.Fault{Status: 411}, backend.ErrInvalid, backend.ErrInvalid},
		{gcstest.Fault{Status: 404}, backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{
			gcstest.Fault{Status: 404, Message: "Not Found"},
			backend.ErrUnavailable, backend.ErrOutcomeUnknown,
		},
		{gcstest.Fault{Status: 412}, backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{
			gcstest.Fault{Status: 412, Reason: "somethingElse"},
			backend.ErrUnavailable, backend.ErrOutcomeUnknown,
		},
		{
			gcstest.Fault{Status: 412, Reason: "orgPolicyConstraintFailed"},
			backend.ErrDenied, backend.ErrDenied,
		},
		{
			gcstest.Fault{Status: 412, Reason: "conditionNotMet"},
			backend.ErrUnavailable, backend.ErrPrecondition,
		},
		{gcstest.Fault{Status: 304}, backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{gcstest.Fault{Status: 413}, backend.ErrInvalid, backend.ErrInvalid},
		{gcstest.Fault{Status: 429, RetryAfter: 1e9}, backend.ErrThrottled, backend.ErrThrottled},
		{gcstest.Fault{Status: 499}, backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{gcstest.Fault{Status: 500}, backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{gcstest.Fault{Status: 502}, backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{gcstest.Fault{Status: 503}, backend.ErrUnavailable, backend.ErrOutcomeUnknown},
		{gcstest.Fault{Status: 504}, backend.ErrUnavailable, backend.ErrOutcomeUnknown},
	} {
		for _, kind := range kinds {
			count := inject(s, kind, 1, c.fault)
			err := call(t.Context(), b, kind, v)
			want := c.write
			if kind == gcstest.Read || kind == gcstest.List {
				want = c.read
			}
			assertOnly(t, want, err, strings.TrimSpace(http.StatusText(c.fault.Status)))
			if kind == gcstest.Read && c.fault.Status == http.StatusNotFound {
				continue // See TestVagueRead.
			}
			assert.EqualValues(t, 1, count.Load(), "requests that ended with %d", c.fault.Status)
		}
	}
}

// TestLostAnswers: a write that may have landed is never reported as one that has
// not, and is sent once.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	b := gcs.New(s.Bucket(t))
	for _, c := range []struct {
		name   string
		fault  gcstest.Fault
		landed bool
		want   error
	}{
		{"answer lost", gcstest.Fault{ResetAfter: true}, true, backend.ErrOutcomeUnknown},
		{"answer cut off", gcstest.Fault{Truncate: true}, true, backend.ErrOutcomeUnknown},
		{"request lost", gcstest.Fault{ResetBefore: true}, false, backend.ErrOutcomeUnknown},
		{
			"landed, but unavailable",
			gcstest.Fault{Status: 503, Landed: true}, true, backend.ErrOutcomeUnknown,
		},
		{"landed twice", gcstest.Fault{Duplicate: true}, true, backend.ErrPrecondition},
	} {
		s.Inject(nil)
		v := object(t, b, "object")
		count := inject(s, gcstest.Write, 1, c.fault)
		_, err := b.Put(t.Context(), "object", []byte("new"), backend.IfVersion(v))
		assertOnly(t, c.want, err, "put: "+c.name)
		assert.EqualValues(t, 1, count.Load(), "uploads")
		o, err := b.Get(t.Context(), "object", "")
		require.NoError(t, err)
		assert.Equal(t, c.landed, string(o.Data) == "new", "put: %s: landed", c.name)

		if c.fault.Truncate {
			c.fault = gcstest.Fault{} // The answer to a delete has no body.
			c.want, c.landed = nil, true
		}
		count = inject(s, gcstest.Delete, 1, c.fault)
		err = b.Delete(t.Context(), "object", o.Version)
		if c.want == nil {
			assert.NoError(t, err)
		} else {
			assertOnly(t, c.want, err, "delete: "+c.name)
		}
		assert.EqualValues(t, 1, count.Load(), "deletes")
		s.Inject(nil)
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
	for _, api := range []struct {
		name    string
		options []option.ClientOption
	}{{"JSON", []option.ClientOption{storage.WithJSONReads()}}, {"XML", nil}} {
		t.Run(api.name, func(t *testing.T) {
			t.Parallel()
			s := gcstest.New(t)
			b := gcs.New(gcstest.Bucket(t, gcstest.Client(t, s.URL(), api.options...)))
			v := object(t, b, "object")

			inject(s, gcstest.Read, 1, gcstest.Fault{Corrupt: true})
			_, err := b.Get(t.Context(), "object", "")
			assertOnly(t, backend.ErrUnavailable, err, "a changed byte")

			inject(s, gcstest.Read, 1, gcstest.Fault{Truncate: true})
			o, err := b.Get(t.Context(), "object", "")
			require.NoError(t, err, "the rest of a body that was cut off")
			assert.Equal(t, strings.Repeat("data", 10), string(o.Data))
			assert.Equal(t, v, o.Version)

			var reads atomic.Int64
			s.Inject(func(r *http.Request) gcstest.Fault {
				switch {
				case gcstest.KindOf(r) != gcstest.Read:
					return gcstest.Fault{}
				case reads.Add(1) == 1:
					return gcstest.Fault{Truncate: true}
				}
				return gcstest.Fault{Status: http.StatusNotFound}
			})
			_, err = b.Get(t.Context(), "object", "")
			assertOnly(t, backend.ErrUnavailable, err, "a body cut off, of a state since replaced")
			assert.EqualValues(t, 2, reads.Load(), "requests for parts of the body")
		})
	}
}

// TestDamagedUpload: the store refuses data that do not match their checksum.
func TestDamagedUpload(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	b := gcs.New(s.Bucket(t))
	v := object(t, b, "object")
	s.Inject(func(r *http.Request) gcstest.Fault {
		if gcstest.KindOf(r) == gcstest.Write {
			body, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			body = bytes.Replace(body, []byte("whole"), []byte("who"), 1)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		return gcstest.Fault{}
	})
	_, err := b.Put(t.Context(), "object", []byte("whole"), backend.IfVersion(v))
	assertOnly(t, backend.ErrUnavailable, err, "an upload cut off, yet well formed")
	o, err := b.Get(t.Context(), "object", "")
	require.NoError(t, err)
	assert.Equal(t, v, o.Version)
}

// TestCancel: calls end when their context does, whatever the store is up to, and
// a write that lands later was reported as unknown.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	b := gcs.New(s.Bucket(t))
	v := object(t, b, "object")
	for _, kind := range kinds {
		var (
			ctx, cancel = context.WithCancel(t.Context())
			release     = make(chan struct{})
			first       atomic.Bool
		)
		s.Inject(func(r *http.Request) gcstest.Fault {
			if first.CompareAndSwap(false, true) {
				cancel()
				<-release
			}
			return gcstest.Fault{}
		})
		err := call(ctx, b, kind, v)
		want := backend.ErrOutcomeUnknown
		if kind == gcstest.Read || kind == gcstest.List {
			want = backend.ErrUnavailable
		}
		assertOnly(t, want, err, "call with a context that ends")
		assert.ErrorIs(t, err, context.Canceled)
		close(release)
		if kind == gcstest.Write {
			v = landed(t, b, v)
		}
	}
}

// landed waits for a write that was still under way.
func landed(t *testing.T, b *gcs.Backend, v backend.Version) backend.Version {
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
