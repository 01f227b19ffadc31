package azuretest

import (
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestStrict: the stand-in refuses what Azure would refuse, and what it does not
// know.
func TestStrict(t *testing.T) {
	t.Parallel()
	s := New(t)
	place := "/" + account + "/" + path.Base(s.Container(t).URL())
	sum := md5.Sum([]byte("data"))
	md := base64.StdEncoding.EncodeToString(sum[:])
	upload := map[string]string{
		"x-ms-blob-type": "BlockBlob", "Content-MD5": md, "x-ms-blob-content-md5": md,
	}
	with := func(name, value string) map[string]string {
		m := map[string]string{name: value}
		for k, v := range upload {
			if k != name {
				m[k] = v
			}
		}
		m["If-None-Match"] = "*"
		m[name] = value
		return m
	}
	for _, c := range []struct {
		method, path string
		header       map[string]string
		want         int
	}{
		{"PUT", "/new", with("If-None-Match", "*"), 201},
		{"PUT", "/new", with("If-None-Match", "*"), 409},
		{"PUT", "/other", upload, 501},
		{"PUT", "/other", with("If-Match", `"0x1"`), 501},
		{"PUT", "/other", with("If-None-Match", `"0x1"`), 501},
		{"PUT", "/other", with("x-ms-lease-id", "1"), 501},
		{"PUT", "/other", with("x-ms-blob-type", "PageBlob"), 501},
		{"PUT", "/other", with("Content-MD5", "AAAA"), 400},
		{"PUT", "/other", with("x-ms-blob-content-md5", ""), 501},
		{"PUT", "/other?comp=block&blockid=1", with("If-None-Match", "*"), 501},
		{"PUT", "/other", with("Authorization", "Bearer x"), 403},
		{"PUT", "/other", with("x-ms-version", ""), 501},
		{"GET", "/new", map[string]string{"Range": "bytes=0-1"}, 501},
		{"GET", "/new", nil, 200},
		{"GET", "/other", nil, 404},
		{"HEAD", "/new", nil, 501},
		{"DELETE", "/new", nil, 501},
		{"DELETE", "/new", map[string]string{"If-Match": "*"}, 501},
		{"DELETE", "/new", map[string]string{"If-Match": `"0x1"`}, 412},
		{"DELETE", "/other", map[string]string{"If-Match": `"0x1"`}, 404},
		{"GET", "?restype=container&comp=list&include=metadata", nil, 501},
		{"GET", "?restype=container&comp=list&maxresults=0", nil, 400},
		{"GET", "?restype=container&comp=list&marker=!", nil, 400},
		{"GET", "?restype=container", nil, 501},
		{"GET", "/../missing/other", nil, 404},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, s.URL()+place+c.path,
			strings.NewReader("data"))
		require.NoError(t, err)
		r.Header.Set("Authorization", "SharedKey "+account+":signature")
		r.Header.Set("x-ms-version", "2026-12-06")
		for name, value := range c.header {
			r.Header.Set(name, value)
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		assert.Equal(t, c.want, answer.StatusCode, "%s %s %v", c.method, c.path, c.header)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestPages: a marker goes on where the last page has ended.
func TestPages(t *testing.T) {
	t.Parallel()
	var all []entry
	for _, name := range []string{"a", "b/1", "b/2", "b/3", "c", "d/1", "e"} {
		all = append(all, entry{name: name, modified: time.Now()})
	}
	for most := 1; most <= len(all); most++ {
		var names []string
		query, after := url.Values{"delimiter": {"/"}, "startFrom": {"b/2"}}, ""
		for more := true; more; {
			p := fill(all, query, after, most)
			assert.LessOrEqual(t, len(p.Blobs.Items)+len(p.Blobs.Prefixes), most)
			for _, b := range p.Blobs.Items {
				names = append(names, b.Name)
			}
			for _, b := range p.Blobs.Prefixes {
				names = append(names, b.Name)
			}
			marker, err := base64.StdEncoding.DecodeString(p.NextMarker)
			require.NoError(t, err)
			after, more = string(marker), p.NextMarker != ""
		}
		assert.ElementsMatch(t, []string{"b/", "c", "d/", "e"}, names, "pages of %d", most)
	}
}

// TestRunning: an emulator of the user's is taken, an account of the user's never.
func TestRunning(t *testing.T) {
	t.Parallel()
	for connection, want := range map[string]string{
		"":                                     "",
		"UseDevelopmentStorage=true":           "http://127.0.0.1:10000",
		ConnectionString("http://127.0.0.1:1"): "http://127.0.0.1:1",
		"DefaultEndpointsProtocol=https;AccountName=mine;AccountKey=AAAA;" +
			"EndpointSuffix=core.windows.net": "",
		"AccountName=mine;AccountKey=AAAA;BlobEndpoint=https://example.com/" + account: "",
		"AccountName=" + account + ";BlobEndpoint=https://mine.blob.core.windows.net":  "",
	} {
		assert.Equal(t, want, running(connection), connection)
	}
}

// TestAzurite: the proxy before Azurite keeps names apart that Azurite takes for
// one, and passes its answers on.
func TestAzurite(t *testing.T) {
	t.Parallel()
	s := Start(t)
	c := s.Container(t)
	for _, name := range []string{`a\b`, "a/b", "a%5Cb"} {
		body := streaming.NopCloser(strings.NewReader(name))
		_, err := c.NewBlockBlobClient(name).Upload(t.Context(), body, nil)
		require.NoError(t, err)
	}
	for _, name := range []string{`a\b`, "a/b", "a%5Cb"} {
		r, err := c.NewBlobClient(name).DownloadStream(t.Context(), nil)
		require.NoError(t, err)
		data, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		assert.Equal(t, name, string(data))
	}
	page, err := c.NewListBlobsFlatPager(nil).NextPage(t.Context())
	require.NoError(t, err)
	names := []string{}
	for _, b := range page.Segment.BlobItems {
		names = append(names, *b.Name)
	}
	assert.Equal(t, []string{"a%5Cb", "a/b", `a\b`}, names)
	missing := Client(t, s.DirectURL(), fmt.Sprint("missing-", time.Now().Unix()), nil)
	_, err = missing.NewListBlobsFlatPager(nil).NextPage(t.Context())
	assert.True(t, bloberror.HasCode(err, bloberror.ContainerNotFound), "%v", err)
}
