package azuretest

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/stretchr/testify/require"
)

// front corrects what Azurite gets wrong. It lists by UTF-16, not by bytes, takes
// the first byte of a delimiter for all of it, and takes a backslash for a slash.
type front struct {
	proxy *httputil.ReverseProxy
	open  func(name string) (*container.Client, error)
}

const (
	// Azurite keeps this character where a name has a backslash.
	mask       = "\uE05C"
	maskPath   = "%EE%81%9C"
	escapePath = "%5C"
)

// newFront makes a proxy before Azurite at a URL.
func newFront(t testing.TB, direct string) http.Handler {
	target, err := url.Parse(direct)
	require.NoError(t, err, "URL of Azurite")
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	o := &container.ClientOptions{}
	o.Transport = &http.Client{Transport: transport}
	f := &front{open: func(name string) (*container.Client, error) {
		return container.NewClientFromConnectionString(ConnectionString(direct), name, o)
	}}
	token := signature(t)
	f.proxy = &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			panic(http.ErrAbortHandler)
		},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, target.Host
			path := strings.ReplaceAll(r.In.URL.EscapedPath(), escapePath, maskPath)
			r.Out.URL.RawPath = path
			r.Out.URL.Path, _ = url.PathUnescape(path) // The server has parsed it before.
			// The client has signed another path.
			r.Out.Header.Del("Authorization")
			r.Out.URL.RawQuery = strings.TrimPrefix(r.In.URL.RawQuery+"&"+token, "&")
		},
	}
	return f
}

// signature returns a query that allows everything in the account.
func signature(t testing.TB) string {
	credential, err := container.NewSharedKeyCredential(account, key)
	require.NoError(t, err)
	values := sas.AccountSignatureValues{
		ExpiryTime:    time.Now().Add(24 * time.Hour),
		ResourceTypes: (&sas.AccountResourceTypes{Container: true, Object: true}).String(),
		Permissions: (&sas.AccountPermissions{
			Read: true, Write: true, Delete: true, Create: true, List: true,
		}).String(),
	}
	query, err := values.SignWithSharedKey(credential)
	require.NoError(t, err)
	return query.Encode()
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if r.Method != http.MethodGet || query.Get("comp") != "list" {
		f.proxy.ServeHTTP(w, r)
		return
	}
	refused := f.list(w, r, query)
	if refused != nil {
		refused.write(w)
	}
}

// list asks for all objects and makes the page of them.
func (f *front) list(w http.ResponseWriter, r *http.Request, query url.Values) *failure {
	at, refused := target(r)
	if refused != nil {
		return refused
	}
	c, err := f.open(at.container)
	if err != nil {
		return &failure{http.StatusBadGateway, fmt.Sprint(err)}
	}
	var all []entry
	for pager := c.NewListBlobsFlatPager(nil); pager.More(); {
		p, err := pager.NextPage(r.Context())
		if bloberror.HasCode(err, bloberror.ContainerNotFound) {
			return errNoContainer
		}
		if err != nil {
			return &failure{http.StatusBadGateway, fmt.Sprint(err)}
		}
		for _, b := range p.Segment.BlobItems {
			all = append(all, entry{
				strings.ReplaceAll(*b.Name, mask, `\`), strings.Trim(string(*b.Properties.ETag), `"`),
				*b.Properties.ContentLength, *b.Properties.LastModified,
			})
		}
	}
	return list(w, query, all)
}
