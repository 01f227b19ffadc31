// Package azuretest runs stand-ins for Azure Blob Storage in tests: one within the
// process, which speaks what an adapter needs and refuses all else, and Azurite,
// Microsoft's emulator, for those who have it, behind a proxy that corrects what it
// gets wrong: the order of names, delimiters, and backslashes.
//
// Both know one account, devstoreaccount1, with the key that all emulators share.
// See Server.ConnectionString.
package azuretest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/stretchr/testify/require"
)

const (
	account = "devstoreaccount1"
	// key is no secret: it is the same in all emulators, and documented.
	key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq" +
		"/K1SZFPTOtr/KBHBeksoGMGw=="
)

var containers atomic.Int64 // made by this process

// Server is a running store.
type Server struct{ url, direct string }

// New starts the stand-in within this process. It stops when the test ends.
func New(t testing.TB) *Server {
	t.Helper()
	front := httptest.NewServer(newStore())
	t.Cleanup(front.Close)
	return &Server{front.URL, front.URL}
}

// Over starts the proxy alone, in front of an Azurite that runs elsewhere at a URL
// such as "http://127.0.0.1:10000".
func Over(t testing.TB, direct string) *Server {
	t.Helper()
	front := httptest.NewServer(newFront(t, direct))
	t.Cleanup(front.Close)
	return &Server{front.URL, direct}
}

// URL is the server's address, without the account, for a proxy before it.
func (s *Server) URL() string { return s.url }

// DirectURL is that of Azurite itself: faster, and with all its faults. It lists
// names beyond ASCII in another order and knows delimiters of one byte only. The
// stand-in has no other than URL.
func (s *Server) DirectURL() string { return s.direct }

// ConnectionString is what a client of the server is made of, the same as users
// set AZURE_STORAGE_CONNECTION_STRING to.
func (s *Server) ConnectionString() string { return ConnectionString(s.url) }

// ConnectionString is that of a server at a URL such as "http://127.0.0.1:10000".
func ConnectionString(url string) string {
	return fmt.Sprintf("DefaultEndpointsProtocol=http;AccountName=%s;AccountKey=%s;"+
		"BlobEndpoint=%s/%s;", account, key, url, account)
}

// Container makes a container of its own for a test, and returns it by a new
// client.
func (s *Server) Container(t testing.TB) *container.Client {
	t.Helper()
	return Container(t, s.url)
}

// Container makes a container of its own for a test, at the URL of a server or of
// a proxy before it.
func Container(t testing.TB, url string) *container.Client {
	t.Helper()
	name := fmt.Sprintf("container-%d-%d", time.Now().UnixNano(), containers.Add(1))
	c := Client(t, url, name, nil)
	_, err := c.Create(t.Context(), nil)
	require.NoError(t, err, "create container")
	return c
}

// Client returns a client of a container, which need not exist, at the URL of a
// server or of a proxy before it. The options may be nil. Without a transport of
// theirs, it has connections of its own, which end with the test.
func Client(t testing.TB, url, name string, o *container.ClientOptions) *container.Client {
	t.Helper()
	if o == nil {
		o = &container.ClientOptions{}
	}
	if o.Transport == nil {
		transport := &http.Transport{MaxIdleConnsPerHost: 64}
		t.Cleanup(transport.CloseIdleConnections)
		own := *o
		own.Transport = &http.Client{Transport: transport}
		o = &own
	}
	c, err := container.NewClientFromConnectionString(ConnectionString(url), name, o)
	require.NoError(t, err, "client of container %s", name)
	return c
}
