package azure

import (
	"context"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// once lets the SDK send the requests of a call once. Its retries would turn a
// write that has landed, and whose answer was lost, into one whose precondition
// failed.
func once(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
}

// sendings is how often a conditional write has been sent, as far as net/http
// tells: a policy or a transport of the user's may repeat it.
type sendings struct{ n atomic.Int32 }

// count lets s count the requests with this context. The request of a token has
// it as well, but no condition.
func (s *sendings) count(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaderField: func(key string, _ []string) {
			if strings.EqualFold(key, "If-Match") || strings.EqualFold(key, "If-None-Match") {
				s.n.Add(1)
			}
		},
	})
}

// begun tells whether any part of the write has been sent.
func (s *sendings) begun() bool { return s.n.Load() > 0 }

// repeated tells whether an answer may speak of the second copy of the write.
func (s *sendings) repeated() bool { return s.n.Load() > 1 }
