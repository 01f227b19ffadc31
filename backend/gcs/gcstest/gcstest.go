// Package gcstest runs a stand-in for Google Cloud Storage in tests:
// fake-gcs-server, behind a proxy that corrects what it gets wrong and injects
// faults between a client and the store.
//
// The proxy makes reads and deletes obey their generation conditions, pages
// listings as the store does (1000 entries at most, objects and prefixes in one
// order, delimiters of any length), and words a 404 as the store does. It is not
// fast. The server behind it is: see DirectURL.
package gcstest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/option"
)

// project owns the buckets; the server knows no projects.
const project = "test"

var buckets atomic.Int64 // made by this process

// Server is a running store. It stops when the test that started it ends.
type Server struct {
	front  *httptest.Server
	direct string
	proxy  *proxy
}

// New starts a store within this process.
func New(t testing.TB) *Server {
	t.Helper()
	fake, err := fakestorage.NewServerWithOptions(options())
	require.NoError(t, err, "start fake-gcs-server")
	t.Cleanup(fake.Stop)
	return Over(t, fake.URL())
}

func options() fakestorage.Options {
	// Without a public host, XML reads find nothing.
	return fakestorage.Options{Scheme: "http", Host: "127.0.0.1", PublicHost: "127.0.0.1"}
}

// idleMax is how long a connection is kept without a request. The SDK may begin one in the
// background after its client was closed, whose connection nobody closes then.
const idleMax = 100 * time.Millisecond

// Over starts the proxy alone, in front of a fake-gcs-server that runs elsewhere
// at a URL such as "http://127.0.0.1:4443". The server must have been started with
// its host as -public-host.
func Over(t testing.TB, direct string) *Server {
	t.Helper()
	target, err := url.Parse(direct)
	require.NoError(t, err, "URL of fake-gcs-server")
	transport := &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: idleMax}
	p := &proxy{target: target, transport: transport}
	s := &Server{front: httptest.NewServer(p), direct: direct, proxy: p}
	t.Cleanup(func() {
		s.front.Close()
		transport.CloseIdleConnections()
	})
	return s
}

// URL is the store's address, by way of the proxy.
func (s *Server) URL() string { return s.front.URL }

// DirectURL is the address of fake-gcs-server itself: faster, and with all its
// faults. It obeys the conditions of uploads, but of deletes just the generation,
// and of reads none.
func (s *Server) DirectURL() string { return s.direct }

// Inject asks f what shall happen to each request from now on; nil means nothing.
// f is called when the whole request has come, by many goroutines at once. While
// it blocks, so does the request, which goes on even if its client has gone. If f
// reads the body, it must put another in its place.
func (s *Server) Inject(f func(*http.Request) Fault) { s.proxy.inject.Store(&f) }

// Bucket makes a bucket of its own for a test, and returns it by a new client
// that goes through the proxy and uses JSON for reads.
func (s *Server) Bucket(t testing.TB) *storage.BucketHandle {
	t.Helper()
	return Bucket(t, Client(t, s.URL(), storage.WithJSONReads()))
}

// DirectBucket is Bucket without the proxy.
func (s *Server) DirectBucket(t testing.TB) *storage.BucketHandle {
	t.Helper()
	return Bucket(t, Client(t, s.DirectURL(), storage.WithJSONReads()))
}

// Bucket makes a new bucket by a client.
func Bucket(t testing.TB, c *storage.Client) *storage.BucketHandle {
	t.Helper()
	b := c.Bucket(fmt.Sprintf("bucket-%d-%d", os.Getpid(), buckets.Add(1)))
	require.NoError(t, b.Create(t.Context(), project, nil), "create bucket")
	return b
}

// Client returns a client of the store at a server's URL, without credentials and
// with connections of its own, whatever the environment says. It is closed when
// the test ends. Without storage.WithJSONReads among the options, it reads by XML.
func Client(t testing.TB, url string, options ...option.ClientOption) *storage.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: idleMax}
	options = append([]option.ClientOption{
		option.WithEndpoint(url + "/storage/v1/"),
		option.WithoutAuthentication(),
		option.WithHTTPClient(&http.Client{Transport: transport}),
	}, options...)
	c, err := storage.NewClient(t.Context(), options...)
	require.NoError(t, err, "storage client")
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		transport.CloseIdleConnections()
	})
	return c
}
