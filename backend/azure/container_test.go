package azure_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/azure"
	"github.com/strictkv/strictkv/backend/azure/azuretest"
)

// TestRequests looks at what is sent: one request for each call, with what makes
// it safe or cheap.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := azuretest.New(t)
	inner := &http.Transport{}
	t.Cleanup(inner.CloseIdleConnections)
	var sent []*http.Request
	o := eager()
	o.Transport = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r)
		return inner.RoundTrip(r)
	})}
	name := s.Container(t).URL()
	name = name[strings.LastIndex(name, "/")+1:]
	b := azure.New(azuretest.Client(t, s.URL(), name, o), azure.WithStorageClass("Hot"),
		azure.WithEncryptionScope("scope"))
	last := func() *http.Request {
		t.Helper()
		require.Len(t, sent, 1, "requests for one call")
		r := sent[0]
		sent = nil
		return r
	}

	v, err := b.Put(t.Context(), "a/b", []byte("data"), backend.IfAbsent())
	require.NoError(t, err)
	r := last()
	sum := md5.Sum([]byte("data"))
	md := base64.StdEncoding.EncodeToString(sum[:])
	for header, want := range map[string]string{
		"If-None-Match": "*", "If-Match": "", "Content-MD5": md, "x-ms-blob-content-md5": md,
		"x-ms-encryption-scope": "scope", "x-ms-blob-type": "BlockBlob", "x-ms-access-tier": "Hot",
		"x-ms-blob-content-type":  "application/octet-stream",
		"x-ms-blob-cache-control": "no-store",
	} {
		// The SDK sets some of them in lower case.
		assert.Equal(t, want, strings.Join(values(r, header), ","), header)
	}
	assert.Empty(t, r.URL.RawQuery, "no block is staged")

	_, err = b.Get(t.Context(), "a/b", v.Version)
	assertOnly(t, backend.ErrNotModified, err, "get of a known state")
	assert.Equal(t, `"`+string(v.Version)+`"`, last().Header.Get("If-None-Match"))

	_, err = b.List(t.Context(), backend.ListOptions{Limit: 5, After: "a", Delimiter: "/"})
	require.NoError(t, err)
	q := last().URL.Query()
	assert.Equal(t, "6", q.Get("maxresults"), "the limit, and one entry for After itself")
	assert.Equal(t, "a", q.Get("startFrom"))

	w, err := b.Put(t.Context(), "a/b", []byte("data"), backend.IfVersion(v.Version))
	require.NoError(t, err)
	assert.Equal(t, `"`+string(v.Version)+`"`, last().Header.Get("If-Match"))
	require.NoError(t, b.Delete(t.Context(), "a/b", w.Version))
	assert.Equal(t, `"`+string(w.Version)+`"`, last().Header.Get("If-Match"))
}

// values returns a header's values, whatever the case of its name.
func values(r *http.Request, name string) []string {
	for key, values := range r.Header {
		if strings.EqualFold(key, name) {
			return values
		}
	}
	return nil
}

// TestListingStart: where a listing starts with a delimiter. It must not begin
// behind the first entry, nor, for Azure's sake, name more than one level.
func TestListingStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prefix, delimiter, after string
		want                     string
		asked                    bool
	}{
		{"", "", "", "", true},
		{"", "", "a/b", "a/b", true},
		{"a/", "", "a", "", true},
		{"a/", "", "a/", "", true},
		{"a/", "", "a/b/c", "a/b/c", true},
		{"a/", "", "b", "", false},
		{"b", "", "a", "", true},
		{"", "/", "a", "a", true},
		{"", "/", "a/", "a0", true},
		{"", "/", "a/zzz", "a0", true},
		{"a", "/", "a/b", "a0", true},
		{"a/", "/", "a/b", "a/b", true},
		{"a/", "/", "a/b/c", "a/b0", true},
		{"", "b/", "ab/c", "ab0", true},
		{"", "~", "a~b", "a~", true},
		{"", "é", "aéb", "aé", true},
	} {
		asked, from := false, ""
		b := served(t, func(w http.ResponseWriter, r *http.Request) {
			asked, from = true, r.URL.Query().Get("startFrom")
			_, _ = io.WriteString(w, `<EnumerationResults></EnumerationResults>`)
		})
		o := backend.ListOptions{Prefix: c.prefix, Delimiter: c.delimiter, After: c.after}
		page, err := b.List(t.Context(), o)
		require.NoError(t, err)
		assert.Equal(t, backend.Page{}, page)
		assert.Equal(t, c.asked, asked, "request for %+v", o)
		assert.Equal(t, c.want, from, "start of %+v", o)
	}
}

// TestListingPages: the store may send empty pages, and pages of what has been
// listed before, if it is too old to know where to start.
func TestListingPages(t *testing.T) {
	t.Parallel()
	blob := func(name string) string {
		return fmt.Sprintf(`<Blob><Name>%s</Name><Properties><Etag>0x1</Etag>`+
			`<Last-Modified>Sat, 21 Nov 2026 06:00:00 GMT</Last-Modified>`+
			`<Content-Length>1</Content-Length></Properties></Blob>`, name)
	}
	rolled := func(prefix string) string {
		return `<BlobPrefix><Name>` + prefix + `</Name></BlobPrefix>`
	}
	answers := map[string]string{ // by marker
		"":   `<Blobs/><NextMarker>m1</NextMarker>`,
		"m1": `<NextMarker>m2</NextMarker>`,
		"m2": `<Blobs>` + blob("a") + blob("b") + rolled("a/") + `</Blobs><NextMarker>m3</NextMarker>`,
		"m3": `<Blobs>` + blob("c") + blob("d") + rolled("b") + `</Blobs><NextMarker>m4</NextMarker>`,
	}
	b := served(t, func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Query().Get("marker")]
		assert.True(t, ok, "marker %s", r.URL.Query().Get("marker"))
		_, _ = io.WriteString(w, `<EnumerationResults>`+answer+`</EnumerationResults>`)
	})
	for _, delimiter := range []string{"", "/"} {
		o := backend.ListOptions{After: "b", Delimiter: delimiter}
		page, err := b.List(t.Context(), o)
		require.NoError(t, err)
		require.Len(t, page.Objects, 2)
		assert.Equal(t, "c", page.Objects[0].Name)
		assert.Empty(t, page.Prefixes)
		assert.True(t, page.More)
		o.Limit = 1
		page, err = b.List(t.Context(), o)
		require.NoError(t, err)
		assert.Len(t, page.Objects, 1)
	}
	for _, broken := range []string{
		`<Blobs><Blob><Name>a</Name></Blob></Blobs>`, `<Blobs><Blob></Blob></Blobs>`,
		strings.ReplaceAll(`<Blobs>`+blob("a")+`</Blobs>`, "0x1", ""),
		`<Blobs><BlobPrefix></BlobPrefix></Blobs>`, `</x>`,
	} {
		answers[""] = broken
		_, err := b.List(t.Context(), backend.ListOptions{Delimiter: "/"})
		assertOnly(t, backend.ErrUnavailable, err, "listing of "+broken)
	}
}

// TestLargeObject: a value is held once on its way to the store, and once on its
// way back.
func TestLargeObject(t *testing.T) {
	const size = 64 << 20
	data := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	sum := md5.Sum(data)
	var up atomic.Int64
	b := served(t, func(w http.ResponseWriter, r *http.Request) {
		// Neither keeps the bytes, which would count as well.
		w.Header().Set("ETag", `"1"`)
		if r.Method == http.MethodPut {
			n, err := io.Copy(io.Discard, r.Body)
			assert.NoError(t, err)
			up.Store(n)
			w.WriteHeader(http.StatusCreated)
			return
		}
		w.Header().Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
		w.Header().Set("Content-Length", fmt.Sprint(size))
		for part := range slices.Chunk(data, 32<<10) {
			_, _ = w.Write(part)
		}
	})
	upload := allocated(func() {
		_, err := b.Put(t.Context(), "object", data, backend.IfAbsent())
		require.NoError(t, err)
	})
	assert.EqualValues(t, size, up.Load(), "bytes uploaded")
	assert.Less(t, upload, uint64(1<<20), "bytes allocated by an upload of 64 MiB")
	download := allocated(func() {
		o, err := b.Get(t.Context(), "object", "")
		require.NoError(t, err)
		assert.True(t, bytes.Equal(data, o.Data))
	})
	assert.Less(t, download, uint64(size+1<<20), "bytes allocated by a download of 64 MiB")
	t.Logf("64 MiB: %d KiB allocated up, %d KiB down", upload>>10, download>>10)
}

// allocated returns the bytes that f allocates, the test's server included.
func allocated(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLargeObjectOnServers sends one there and back, whole and unchanged.
func TestLargeObjectOnServers(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 64<<20/16)
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			b := azure.New(store.start(t).Container(t))
			v, err := b.Put(t.Context(), "object", data, backend.IfAbsent())
			require.NoError(t, err)
			o, err := b.Get(t.Context(), "object", "")
			require.NoError(t, err)
			assert.True(t, bytes.Equal(data, o.Data))
			assert.Equal(t, v.Version, o.Version)
		})
	}
}
