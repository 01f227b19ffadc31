package gcs_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/iterator"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
)

// requests counts all requests from now on.
func requests(s *gcstest.Server) *atomic.Int64 {
	count := new(atomic.Int64)
	s.Inject(func(*http.Request) gcstest.Fault {
		count.Add(1)
		return gcstest.Fault{}
	})
	return count
}

// TestAbsentCost: an absent object costs a second request only if the answer may be a
// gateway's, or if no answer has told a missing bucket from a missing object.
func TestAbsentCost(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	clear := gcstest.Client(t, s.URL(), storage.WithJSONReads())
	vague := gcstest.Client(t, s.URL()) // Of an XML answer, the SDK drops the body.
	name := gcstest.Bucket(t, clear).BucketName()

	put := func(b *gcs.Backend) error {
		_, err := b.Put(t.Context(), "object", nil, backend.IfAbsent())
		return err
	}
	list := func(b *gcs.Backend) error {
		_, err := b.List(t.Context(), backend.ListOptions{})
		return err
	}
	get := getAbsent(t)
	for _, c := range []struct {
		name   string
		bucket *storage.BucketHandle
		first  func(*gcs.Backend) error
		want   error
		cost   []int64 // requests of the first call, and with the Get after it
	}{
		{"clear answer", clear.Bucket(name), get, backend.ErrNotFound, []int64{1, 2}},
		{"vague answer", vague.Bucket(name), get, backend.ErrNotFound, []int64{2, 4}},
		{"after a put", vague.Bucket(name), put, nil, []int64{1, 3}},
		{"after a refused put", vague.Bucket(name), put, backend.ErrPrecondition, []int64{1, 3}},
		{"after a list", vague.Bucket(name), list, nil, []int64{1, 3}},
		{"no bucket", vague.Bucket("missing"), get, backend.ErrBucketNotFound, nil},
		{"no bucket", clear.Bucket("missing"), get, backend.ErrBucketNotFound, nil},
	} {
		count := requests(s)
		b := gcs.New(c.bucket)
		if err := c.first(b); c.want == nil {
			require.NoError(t, err, c.name)
		} else {
			assertOnly(t, c.want, err, c.name)
		}
		if c.cost == nil {
			continue
		}
		assert.Equal(t, c.cost[0], count.Load(), "%s: requests of the first call", c.name)
		assertOnly(t, backend.ErrNotFound, get(b), c.name)
		assert.Equal(t, c.cost[1], count.Load(), "%s: requests with another absent object", c.name)
	}
}

func getAbsent(t *testing.T) func(*gcs.Backend) error {
	return func(b *gcs.Backend) error {
		_, err := b.Get(t.Context(), "absent", "")
		return err
	}
}

// vague is the store's word that it has not found something.
var vague = gcstest.Fault{Status: http.StatusNotFound, Reason: "notFound"}

// TestBucketUnknown: if it cannot be found out whether there is a bucket, the call
// has failed, and a mistyped bucket does not read as an empty one.
func TestBucketUnknown(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	bucket := s.Bucket(t)
	for status, want := range map[int]error{
		403: backend.ErrDenied, 429: backend.ErrThrottled, 503: backend.ErrUnavailable,
		404: backend.ErrUnavailable, // Without a reason: a gateway's.
	} {
		s.Inject(func(r *http.Request) gcstest.Fault {
			if gcstest.KindOf(r) == gcstest.List {
				return gcstest.Fault{Status: status}
			}
			return vague
		})
		assertOnly(t, want, getAbsent(t)(gcs.New(bucket)), "get of an absent object")
		err := gcs.New(bucket).Delete(t.Context(), "absent", "1")
		assertOnly(t, want, err, "delete of an absent object")
		s.Inject(nil)
		assertOnly(t, backend.ErrNotFound, getAbsent(t)(gcs.New(bucket)), "when it can be told")
	}
}

// asks reports whether r is what an XML read's 404 leads to.
func asks(r *http.Request) bool {
	return gcstest.KindOf(r) == gcstest.Read && strings.HasPrefix(r.URL.Path, "/storage/v1/")
}

// TestVagueRead: of an XML read's 404, only the store's word in another answer says that
// there is no object.
func TestVagueRead(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	bucket := gcstest.Bucket(t, gcstest.Client(t, s.URL()))
	b := gcs.New(bucket)
	assertOnly(t, backend.ErrNotFound, getAbsent(t)(b), "get of an absent object")
	for status, want := range map[int]error{
		403: backend.ErrDenied, 429: backend.ErrThrottled, 503: backend.ErrUnavailable,
		404: backend.ErrUnavailable,
	} {
		s.Inject(func(r *http.Request) gcstest.Fault {
			if asks(r) {
				return gcstest.Fault{Status: status}
			}
			return gcstest.Fault{}
		})
		assertOnly(t, want, getAbsent(t)(b), "get of an absent object")
	}
	s.Inject(nil)
	object(t, b, "object")
	inject(s, gcstest.Read, 1, gcstest.Fault{Status: http.StatusNotFound})
	assertOnly(t, backend.ErrUnavailable, call(t.Context(), b, gcstest.Read, ""), "a gateway's 404")
}

// TestCancelBucketCheck: a Get may end while it finds out what a 404 means.
func TestCancelBucketCheck(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	b := gcs.New(gcstest.Bucket(t, gcstest.Client(t, s.URL())))
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	s.Inject(func(r *http.Request) gcstest.Fault {
		if asks(r) {
			cancel()
			<-release
		}
		return gcstest.Fault{}
	})
	_, err := b.Get(ctx, "absent", "")
	assertOnly(t, backend.ErrUnavailable, err, "get with a context that ends")
	assert.ErrorIs(t, err, context.Canceled)
}

// TestRequests looks at what is sent: one request for each call, with what makes
// it safe or cheap.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	bucket := s.Bucket(t)
	b := gcs.New(bucket, gcs.WithStorageClass("NEARLINE"), gcs.WithKMSKey("a/key"))
	var sent []*http.Request
	s.Inject(func(r *http.Request) gcstest.Fault {
		sent = append(sent, r)
		return gcstest.Fault{}
	})
	last := func() *http.Request {
		t.Helper()
		require.Len(t, sent, 1, "requests for one call")
		r := sent[0]
		sent = nil
		return r
	}

	v, err := b.Put(t.Context(), "object", []byte("data"), backend.IfAbsent())
	require.NoError(t, err)
	q := last().URL.Query()
	assert.Equal(t, "multipart", q.Get("uploadType"))
	assert.Equal(t, "0", q.Get("ifGenerationMatch"))
	assert.Equal(t, "a/key", q.Get("kmsKeyName"))

	_, err = b.Get(t.Context(), "object", v.Version)
	assertOnly(t, backend.ErrNotModified, err, "get of a known state")
	q = last().URL.Query()
	assert.Equal(t, "media", q.Get("alt"))
	assert.Equal(t, string(v.Version), q.Get("ifGenerationNotMatch"))

	_, err = b.List(t.Context(), backend.ListOptions{Limit: 5, After: "a"})
	require.NoError(t, err)
	q = last().URL.Query()
	assert.Equal(t, "noAcl", q.Get("projection"))
	assert.Equal(t, "6", q.Get("maxResults"), "the limit, and one entry for After itself")
	for _, field := range []string{"name", "generation", "size", "timeCreated", "prefixes"} {
		assert.Contains(t, q.Get("fields"), field)
	}
	assert.NotContains(t, q.Get("fields"), "acl")

	attrs, err := bucket.Object("object").Attrs(t.Context())
	require.NoError(t, err)
	sent = nil
	assert.Equal(t, "no-store", attrs.CacheControl)
	assert.Equal(t, "application/octet-stream", attrs.ContentType)
	assert.Equal(t, "NEARLINE", attrs.StorageClass)

	require.NoError(t, b.Delete(t.Context(), "object", v.Version))
	q = last().URL.Query()
	assert.Equal(t, string(v.Version), q.Get("ifGenerationMatch"))
	assert.Equal(t, string(v.Version), q.Get("generation"))
}

// TestWithoutProxy: on a bare emulator, which obeys the conditions of uploads
// alone, nothing is overwritten or deleted that has changed, and a state that is
// known is not modified.
func TestWithoutProxy(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	bucket := s.DirectBucket(t)
	b := gcs.New(bucket)
	assertOnly(t, backend.ErrNotFound, getAbsent(t)(b), "get")
	first := object(t, b, "object")
	second, err := b.Put(t.Context(), "object", []byte("second"), backend.IfVersion(first))
	require.NoError(t, err)

	_, err = b.Put(t.Context(), "object", nil, backend.IfVersion(first))
	assertOnly(t, backend.ErrPrecondition, err, "put at a replaced state")
	err = b.Delete(t.Context(), "object", first)
	assertOnly(t, backend.ErrPrecondition, err, "delete at a replaced state")
	_, err = b.Get(t.Context(), "object", second.Version)
	assertOnly(t, backend.ErrNotModified, err, "get of a known state")
	require.NoError(t, b.Delete(t.Context(), "object", second.Version))

	missing := gcs.New(gcstest.Client(t, s.DirectURL()).Bucket("missing"))
	for _, kind := range kinds {
		err := call(t.Context(), missing, kind, first)
		assertOnly(t, backend.ErrBucketNotFound, err, "call on a missing bucket")
		assert.ErrorContains(t, err, `bucket not found: "missing"`)
	}
}

// TestNoncurrentVersions: in a bucket that keeps them, the live state is the only one
// that a Put or a Delete goes by, even if the store takes a delete's generation alone at
// its word; and nothing is left of what is deleted.
func TestNoncurrentVersions(t *testing.T) {
	t.Parallel()
	client := gcstest.Client(t, gcstest.New(t).DirectURL(), storage.WithJSONReads())
	bucket := client.Bucket("versioned")
	attrs := &storage.BucketAttrs{VersioningEnabled: true}
	require.NoError(t, bucket.Create(t.Context(), "test", attrs))
	b := gcs.New(bucket)
	first := object(t, b, "object")
	second, err := b.Put(t.Context(), "object", []byte("second"), backend.IfVersion(first))
	require.NoError(t, err)

	_, err = b.Put(t.Context(), "object", nil, backend.IfVersion(first))
	assertOnly(t, backend.ErrPrecondition, err, "put at a noncurrent version")
	_ = b.Delete(t.Context(), "object", first) // By the service a failure, here not.
	o, err := b.Get(t.Context(), "object", "")
	require.NoError(t, err)
	assert.Equal(t, second.Version, o.Version, "the live state after a delete of another")

	require.NoError(t, b.Delete(t.Context(), "object", second.Version))
	_, err = bucket.Objects(t.Context(), &storage.Query{Versions: true}).Next()
	assert.ErrorIs(t, err, iterator.Done, "a noncurrent version of what was deleted")
}

// TestListWithoutProxy: the bare emulator counts objects only, and returns all
// prefixes with each page.
func TestListWithoutProxy(t *testing.T) {
	t.Parallel()
	b := gcs.New(gcstest.New(t).DirectBucket(t))
	names := []string{"a", "b/1", "b/2", "b0", "c/1", "d", "e/1", "f/1", "g"}
	for _, name := range names {
		object(t, b, name)
	}
	for limit := range names {
		var entries []string
		o := backend.ListOptions{Delimiter: "/", Limit: limit}
		for more := true; more; {
			page, err := b.List(t.Context(), o)
			require.NoError(t, err)
			for _, object := range page.Objects {
				entries = append(entries, object.Name)
				o.After = max(o.After, object.Name)
			}
			for _, prefix := range page.Prefixes {
				entries = append(entries, prefix)
				o.After = max(o.After, prefix)
			}
			more = page.More
		}
		assert.ElementsMatch(t, strings.Fields("a b/ b0 c/ d e/ f/ g"), entries, "limit %d", limit)
	}
}
