package azure_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/azure"
	"github.com/strictkv/strictkv/backend/azure/azuretest"
	"github.com/strictkv/strictkv/backend/backendtest"
	"github.com/strictkv/strictkv/backend/backendtest/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			s := store.start(t)
			backendtest.Run(t, func(t *testing.T) backendtest.Harness {
				c := s.Container(t)
				return backendtest.Harness{
					Backend: azure.New(c), Clock: time.Now,
					SecondClient: func() backend.Backend {
						return azure.New(azuretest.Client(t, s.URL(), path.Base(c.URL()), nil))
					},
					NoBucket: azure.New(azuretest.Client(t, s.URL(), "missing", nil)),
				}
			})
		})
	}
}

// startFunc starts a store for a test.
type startFunc func(testing.TB) *azuretest.Server

var stores = []struct {
	name  string
	start startFunc
}{{"StandIn", azuretest.New}, {"Azurite", azuretest.Start}}

// kind is what a request asks for.
type kind int

const (
	read kind = iota
	list
	write
	remove
)

var kinds = []kind{read, list, write, remove}

func (k kind) String() string { return [...]string{"get", "list", "put", "delete"}[k] }

// is reports whether a request is of this kind.
func (k kind) is(r *http.Request) bool {
	lists := r.URL.Query().Get("comp") == "list"
	switch r.Method {
	case http.MethodGet:
		return (k == list) == lists && (k == list || k == read)
	case http.MethodPut:
		return k == write
	case http.MethodDelete:
		return k == remove
	}
	return false
}

// call makes the call that sends requests of a kind.
func call(ctx context.Context, b *azure.Backend, k kind, v backend.Version) error {
	var err error
	switch k {
	case read:
		_, err = b.Get(ctx, "object", "")
	case write:
		_, err = b.Put(ctx, "object", []byte("new"), backend.IfVersion(v))
	case remove:
		err = b.Delete(ctx, "object", v)
	case list:
		_, err = b.List(ctx, backend.ListOptions{})
	}
	return err
}

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

// eager are the options of a client that would retry whatever it may, at once.
func eager() *container.ClientOptions {
	o := &container.ClientOptions{}
	o.Retry.MaxRetries = 5
	o.Retry.RetryDelay = time.Millisecond
	return o
}

// disturbed returns a store behind a proxy for faults, by a client that would retry.
func disturbed(t *testing.T, start startFunc) (*azure.Backend, *faultproxy.Proxy) {
	t.Helper()
	s := start(t)
	target, err := url.Parse(s.URL())
	require.NoError(t, err)
	p := faultproxy.New(target, faultproxy.Options{})
	t.Cleanup(p.Close)
	name := path.Base(s.Container(t).URL())
	return azure.New(azuretest.Client(t, p.URL(), name, eager())), p
}

// requests counts the requests that f makes.
func requests(p *faultproxy.Proxy, f func()) int {
	before := p.Counts()["requests"]
	f()
	return p.Counts()["requests"] - before
}
