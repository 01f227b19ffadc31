package s3_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/s3"
	"github.com/strictkv/strictkv/backend/s3/s3test"
)

// answer is a store that gives one answer to all. The headers are of the form
// "name: value".
func answer(t *testing.T, body string, headers ...string) *s3.Backend {
	t.Helper()
	return s3.New(s3test.Client(t, nowhere(), through(
		func(r *http.Request) (*http.Response, error) {
			resp := &http.Response{
				StatusCode: http.StatusOK, Header: make(http.Header),
				Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1, Request: r,
			}
			for _, h := range headers {
				name, value, _ := strings.Cut(h, ": ")
				resp.Header.Set(name, value)
			}
			return resp, nil
		})), "bucket")
}

// TestBodies: what arrives is whole, as far as the store lets one know.
func TestBodies(t *testing.T) {
	t.Parallel()
	const tag, length = `ETag: "v"`, "Content-Length: 4"
	for _, c := range []struct {
		name, body string
		headers    []string
		want       error
	}{
		{"no checksum", "data", []string{tag, length}, nil},
		{"ETag without quotes", "data", []string{"ETag: v", length}, nil},
		{"right checksum", "data", []string{tag, length, "x-amz-checksum-crc32c: rth90Q=="}, nil},
		{"checksum of parts", "data",
			[]string{tag, length, "x-amz-checksum-crc32c: rth90Q==-2"}, nil},
		{"wrong checksum", "date", []string{tag, length, "x-amz-checksum-crc32c: rth90Q=="},
			backend.ErrUnavailable},
		{"wrong checksum of another kind", "date", []string{tag, length,
			"x-amz-checksum-sha256: Om6weQ9V06fpI1iC+vWZAaFBZRxtqkVBqeQ6QNvPjxQ="},
			backend.ErrUnavailable},
		{"short", "dat", []string{tag, length}, backend.ErrUnavailable},
		{"absent", "", []string{tag, length}, backend.ErrUnavailable},
		{"long", "data.", []string{tag, length}, backend.ErrUnavailable},
		{"no length", "data", []string{tag}, backend.ErrUnavailable},
		{"absurd length", "data", []string{tag, "Content-Length: 9223372036854775807"},
			backend.ErrCorrupt},
		{"5 GiB", "data", []string{tag, "Content-Length: 5368709120"}, backend.ErrCorrupt},
		{"too large", "data", []string{tag, "Content-Length: 134217729"}, backend.ErrCorrupt},
		{"no ETag", "data", []string{length}, backend.ErrUnavailable},
		{"weak ETag", "data", []string{`ETag: W/"v"`, length}, backend.ErrUnavailable},
	} {
		o, err := answer(t, c.body, c.headers...).Get(t.Context(), "object", "")
		if c.want != nil {
			assertOnly(t, c.want, err, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		assert.Equal(t, backend.Object{Data: []byte("data"), Version: "v"}, o, c.name)
	}
}

// TestIgnoredCondition: of a state that is known, not even a store that sends it
// again makes a modified one.
func TestIgnoredCondition(t *testing.T) {
	t.Parallel()
	b := answer(t, "data", `ETag: "v"`, "Content-Length: 4")
	_, err := b.Get(t.Context(), "object", "v")
	assertOnly(t, backend.ErrNotModified, err, "get")
}

// TestNoVersion: an upload without a version has an unknown outcome.
func TestNoVersion(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"X-Other: v", `ETag: ""`, `ETag: W/"v"`} {
		_, err := answer(t, "", header).Put(t.Context(), "object", nil, backend.IfAbsent())
		assertOnly(t, backend.ErrOutcomeUnknown, err, "put answered with "+header)
	}
}

// TestOddListings: stores that cannot be listed in order are found out.
func TestOddListings(t *testing.T) {
	t.Parallel()
	object := func(name string) string {
		return "<Contents><Key>" + name + "</Key><ETag>&quot;v&quot;</ETag></Contents>"
	}
	prefix := func(name string) string {
		return "<CommonPrefixes><Prefix>" + name + "</Prefix></CommonPrefixes>"
	}
	for _, c := range []struct {
		name, entries string
		want          error
	}{
		{"in order", object("b") + object("c"), nil},
		{"not in order", object("c") + object("b"), backend.ErrInvalid},
		{"twice", object("b") + object("b"), backend.ErrInvalid},
		{"from the beginning", object("a") + object("b"), backend.ErrInvalid},
		{"prefixes not in order", prefix("d/") + prefix("c/"), backend.ErrInvalid},
		{"no version", "<Contents><Key>b</Key></Contents>", backend.ErrUnavailable},
		{"no token", "<IsTruncated>true</IsTruncated>" + object("b"), backend.ErrUnavailable},
		{"not XML", "&", backend.ErrUnavailable},
	} {
		b := answer(t, "<ListBucketResult>"+c.entries+"</ListBucketResult>")
		page, err := b.List(t.Context(), backend.ListOptions{After: "a"})
		if c.want != nil {
			assertOnly(t, c.want, err, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		assert.Len(t, page.Objects, 2, c.name)
	}
}

// TestShortPages: a page may hold nothing but what is not beyond After, or nothing.
func TestShortPages(t *testing.T) {
	t.Parallel()
	page := func(token, entries string) string {
		return "<ListBucketResult><IsTruncated>" + strconv.FormatBool(token != "") +
			"</IsTruncated><NextContinuationToken>" + token + "</NextContinuationToken>" +
			entries + "</ListBucketResult>"
	}
	pages := map[string]string{
		"":  page("1", "<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes>"),
		"1": page("2", ""),
		"2": page("3", "<CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes>"),
	}
	b := s3.New(s3test.Client(t, nowhere(), through(
		func(r *http.Request) (*http.Response, error) {
			body := pages[r.URL.Query().Get("continuation-token")]
			return &http.Response{
				StatusCode: http.StatusOK, Header: make(http.Header),
				Body: io.NopCloser(strings.NewReader(body)), Request: r,
			}, nil
		})), "bucket")
	got, err := b.List(t.Context(), backend.ListOptions{After: "a/x", Delimiter: "/"})
	require.NoError(t, err)
	assert.Equal(t, backend.Page{Prefixes: []string{"b/"}, More: true}, got)
}

// TestRequests looks at what is sent: one request for each call, with what makes
// it safe or cheap.
func TestRequests(t *testing.T) {
	t.Parallel()
	server := s3test.GoFakes3(t)
	var sent []*http.Request
	client := server.Client(t, func(o *awss3.Options) {
		next := o.HTTPClient
		o.HTTPClient = do(func(r *http.Request) (*http.Response, error) {
			sent = append(sent, r)
			return next.Do(r)
		})
	})
	last := func() *http.Request {
		t.Helper()
		require.Len(t, sent, 1, "requests for one call")
		r := sent[0]
		sent = nil
		return r
	}
	b := s3.New(client, s3test.Bucket(t, client),
		s3.WithStorageClass("STANDARD_IA"), s3.WithKMSKey("a-key"))
	sent = nil

	v, err := b.Put(t.Context(), "object", []byte("data"), backend.IfAbsent())
	require.NoError(t, err)
	r := last()
	assert.Equal(t, "*", r.Header.Get("If-None-Match"))
	assert.Equal(t, "rth90Q==", r.Header.Get("X-Amz-Checksum-Crc32c"))
	assert.Empty(t, r.Header.Get("X-Amz-Trailer"))
	assert.Empty(t, r.Header.Get("Content-Encoding"))
	assert.EqualValues(t, 4, r.ContentLength)
	assert.Equal(t, "aws:kms", r.Header.Get("X-Amz-Server-Side-Encryption"))
	assert.Equal(t, "a-key", r.Header.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"))
	assert.Equal(t, "true", r.Header.Get("X-Amz-Server-Side-Encryption-Bucket-Key-Enabled"))
	assert.Equal(t, "STANDARD_IA", r.Header.Get("X-Amz-Storage-Class"))
	assert.Equal(t, "application/octet-stream", r.Header.Get("Content-Type"))
	assert.Equal(t, "no-store", r.Header.Get("Cache-Control"))
	body, err := r.GetBody()
	require.NoError(t, err)
	data, err := io.ReadAll(body)
	require.NoError(t, err)
	assert.Equal(t, "data", string(data), "for a connection that ends before the request")

	v, err = b.Put(t.Context(), "object", []byte("more"), backend.IfVersion(v.Version))
	require.NoError(t, err)
	assert.NotEmpty(t, last().Header.Get("If-Match"))

	_, err = b.Get(t.Context(), "object", v.Version)
	assertOnly(t, backend.ErrNotModified, err, "get of a known state")
	r = last()
	assert.Equal(t, `"`+string(v.Version)+`"`, r.Header.Get("If-None-Match"))
	assert.Equal(t, "ENABLED", r.Header.Get("X-Amz-Checksum-Mode"))

	_, err = b.List(t.Context(), backend.ListOptions{Limit: 5, After: "a", Delimiter: "/"})
	require.NoError(t, err)
	q := last().URL.Query()
	assert.Equal(t, "6", q.Get("max-keys"), "the limit, and one entry for After itself")
	assert.Equal(t, "a", q.Get("start-after"))

	assert.True(t, b.Capabilities().ConditionalDelete)
	require.NoError(t, b.Delete(t.Context(), "object", v.Version))
	assert.Equal(t, `"`+string(v.Version)+`"`, last().Header.Get("If-Match"))
}

// TestLook: without conditional deletes, what a store could refuse is not sent,
// nor is a delete if it is not certain that the object is at the version.
func TestLook(t *testing.T) {
	t.Parallel()
	b, p := faulty(t, s3.WithoutConditionalDelete())
	assert.False(t, b.Capabilities().ConditionalDelete)
	v := object(t, b)
	for want, f := range map[error]int{
		backend.ErrUnavailable: 500, backend.ErrThrottled: 429, backend.ErrDenied: 403,
	} {
		before := p.Counts()["requests"]
		p.Inject(get.matches, refusal(f, ""))
		assertOnly(t, want, b.Delete(t.Context(), "object", v), "delete")
		assert.Equal(t, 1, p.Counts()["requests"]-before, "requests of a delete that only looked")
	}
	assertOnly(t, backend.ErrPrecondition, b.Delete(t.Context(), "object", "stale"), "delete")
	p.Inject(func(r *http.Request) bool {
		return del.matches(r) && assert.Empty(t, r.Header.Get("If-Match"))
	}, refusal(500, ""))
	assertOnly(t, backend.ErrOutcomeUnknown, b.Delete(t.Context(), "object", v), "delete")
	require.NoError(t, b.Delete(t.Context(), "object", v))
	assertOnly(t, backend.ErrPrecondition, b.Delete(t.Context(), "object", v), "delete again")
}

// TestMemory: a large value takes its size, and little more, to download, and
// little at all to upload.
func TestMemory(t *testing.T) {
	const size, little = 64 << 20, 2 << 20
	data := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	var received int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v"`)
		if r.Method == http.MethodPut {
			received, _ = io.Copy(io.Discard, r.Body)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(size))
		_, _ = w.Write(data)
	}))
	defer s.Close()
	b := s3.New(s3test.Client(t, s.URL), "bucket")
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}

	upload := allocated(func() {
		_, err := b.Put(t.Context(), "object", data, backend.IfAbsent())
		require.NoError(t, err)
	})
	require.EqualValues(t, size, received)
	assert.Less(t, upload, uint64(little), "bytes allocated by an upload")
	var o backend.Object
	download := allocated(func() {
		var err error
		o, err = b.Get(t.Context(), "object", "")
		require.NoError(t, err)
	})
	assert.True(t, bytes.Equal(data, o.Data))
	assert.Less(t, download, uint64(size+little), "bytes allocated by a download")
	t.Logf("64 MiB: upload %d KiB, download %d KiB", upload>>10, download>>10)
}
