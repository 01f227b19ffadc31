package azure

import (
	"context"
	"errors"
	"net/url"
	"path"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/strictkv/strictkv/backend/internal/wire"
)

// once lets the SDK send the requests of a call once. Its retries would turn a
// write that has landed, and whose answer was lost, into one whose precondition
// failed.
func once(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
}

// counted is once for a conditional write, whose copies are counted.
func counted(ctx context.Context, sent *wire.Sendings) context.Context {
	return sent.Count(once(ctx), wire.Conditional)
}

// clouds are the domains of Microsoft's own endpoints.
var clouds = []string{
	".blob.core.windows.net", ".blob.storage.azure.net", ".blob.core.chinacloudapi.cn",
	".blob.core.usgovcloudapi.net", ".blob.core.cloudapi.de",
}

// secondary ends the account's name in the URL of a copy that lags behind.
const secondary = "-secondary"

var (
	errURL       = errors.New("the container's URL is malformed")
	errSecondary = errors.New("the secondary endpoint of an account lags behind the primary")
)

// place is what the URL of a container tells.
type place struct {
	name string // the container's
	own  bool   // the endpoint is Microsoft's, by TLS
	err  error  // why no database can be there
}

// locate reads the URL of a container.
func locate(container string) place {
	u, err := url.Parse(container)
	if err != nil { // The error would cite a signature.
		return place{err: errURL}
	}
	p := place{name: path.Base(u.Path)}
	host := strings.ToLower(u.Hostname())
	// Emulators have the account in the path.
	account, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	for _, cloud := range clouds {
		if strings.HasSuffix(host, cloud) {
			account, _, _ = strings.Cut(host, ".")
			p.own = u.Scheme == "https"
		}
	}
	if account != p.name && strings.HasSuffix(account, secondary) {
		p.err = errSecondary
	}
	return p
}
