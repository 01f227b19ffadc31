package azure_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/azure"
	"github.com/strictkv/strictkv/backend/azure/azuretest"
)

// TestSendsOnce: only on the way to Microsoft itself nobody can send a write again, unless
// the user knows better.
func TestSendsOnce(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://account.blob.core.windows.net/c":                   true,
		"https://account.blob.core.windows.net/c?sv=1&sig=x":        true,
		"https://ACCOUNT.z01.blob.storage.azure.net/c":              true,
		"https://account.blob.core.chinacloudapi.cn/c":              true,
		"https://account.blob.core.usgovcloudapi.net/c":             true,
		"http://account.blob.core.windows.net/c":                    false,
		"https://blob.core.windows.net/c":                           false,
		"https://account.blob.core.windows.net.example/c":           false,
		"https://proxy.example/account.blob.core.windows.net/c":     false,
		"http://127.0.0.1:10000/devstoreaccount1/c":                 false,
		"https://proxy.example/c?x=.blob.core.windows.net":          false,
		"https://proxy.example/c#https://a.blob.core.windows.net/c": false,
	} {
		c, err := container.NewClientWithNoCredential(url, nil)
		require.NoError(t, err)
		assert.Equal(t, want, azure.New(c).Capabilities().SendsOnce, url)
		assert.True(t, azure.New(c, azure.SendsOnce(true)).Capabilities().SendsOnce)
		assert.False(t, azure.New(c, azure.SendsOnce(false)).Capabilities().SendsOnce)
	}
}

// TestSecondary: a copy that lags behind is refused without a request.
func TestSecondary(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://account-secondary.blob.core.windows.net/c":        true,
		"http://account-secondary.blob.core.windows.net/c?sig=x":   true,
		"http://127.0.0.1:1/account-secondary/c":                   true,
		"http://127.0.0.1:1/account/c-secondary":                   false,
		"http://127.0.0.1:1/c-secondary":                           false,
		"https://files-secondary.example/c":                        false,
		"https://account.blob.core.windows.net/backups-secondary/": false,
	} {
		o := &container.ClientOptions{}
		sent := 0
		o.Transport = &http.Client{Transport: transport(
			func(*http.Request) (*http.Response, error) {
				sent++
				return nil, io.ErrUnexpectedEOF
			})}
		c, err := container.NewClientWithNoCredential(url, o)
		require.NoError(t, err)
		for _, k := range kinds {
			err := call(t.Context(), azure.New(c), k, "1")
			require.Error(t, err)
			if want {
				assertOnly(t, backend.ErrInvalid, err, url)
				assert.ErrorContains(t, err, "secondary endpoint")
			}
		}
		assert.Equal(t, want, sent == 0, url)
	}
}

// TestClosedAfterSending: a connection that has served a request ends after the next has
// been sent whole. Nobody sends that again.
func TestClosedAfterSending(t *testing.T) {
	t.Parallel()
	var writes atomic.Int64
	b := served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `<EnumerationResults></EnumerationResults>`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		writes.Add(1)
		conn, _, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			_ = conn.Close()
		}
	})
	for _, k := range []kind{write, remove} {
		writes.Store(0)
		require.NoError(t, call(t.Context(), b, list, ""))
		assertOnly(t, backend.ErrOutcomeUnknown, call(t.Context(), b, k, "1"), k.String())
		assert.EqualValues(t, 1, writes.Load(), "copies of a %v", k)
	}
}

// TestTime: it is the store's clock as it answered, not that of the blob.
func TestTime(t *testing.T) {
	t.Parallel()
	date := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, header := range []string{date.Format(http.TimeFormat), ""} {
		b := served(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Last-Modified", date.Add(-time.Hour).Format(http.TimeFormat))
			w.Header()["Date"] = nil
			if header != "" {
				w.Header().Set("Date", header)
			}
			if r.Method == http.MethodPut {
				w.WriteHeader(http.StatusCreated)
			}
		})
		want := time.Time{}
		if header != "" {
			want = date
		}
		at, err := b.Put(t.Context(), "object", nil, backend.IfAbsent())
		require.NoError(t, err)
		assert.Equal(t, want, at.Time)
		o, err := b.Get(t.Context(), "object", "")
		require.NoError(t, err)
		assert.Equal(t, want, o.Time)
	}
}

// TestTooLarge: what claims to be larger than any object of ours takes no memory.
func TestTooLarge(t *testing.T) {
	for _, size := range []int64{5 << 30, backend.ObjectMax + 1} {
		b := served(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Length", fmt.Sprint(size))
			_ = http.NewResponseController(w).Flush()
		})
		taken := allocated(func() {
			_, err := b.Get(t.Context(), "huge", "")
			assertOnly(t, backend.ErrCorrupt, err, "get")
			assert.ErrorContains(t, err, `"huge"`)
		})
		assert.Less(t, taken, uint64(8<<20), "bytes allocated")
	}
	huge := make([]byte, backend.ObjectMax+1)
	_, err := unasked(t).Put(t.Context(), "huge", huge, backend.IfAbsent())
	assertOnly(t, backend.ErrInvalid, err, "put")
}

// TestBucketNamed: who has mistyped the container sees it.
func TestBucketNamed(t *testing.T) {
	t.Parallel()
	b := azure.New(azuretest.Client(t, azuretest.New(t).URL(), "mistyped", nil))
	for _, k := range kinds {
		err := call(t.Context(), b, k, "1")
		assertOnly(t, backend.ErrBucketNotFound, err, k.String())
		assert.ErrorContains(t, err, `bucket not found: "mistyped"`)
	}
}

// TestRefusedByHTTP2: a copy is not counted where there is none, by either protocol.
func TestRefusedByHTTP2(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, 2, r.ProtoMajor)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("X-Ms-Error-Code", "ConditionNotMet")
		w.WriteHeader(http.StatusPreconditionFailed)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	b := over(t, s.URL, s.Client().Transport)
	for _, k := range []kind{write, remove} {
		assertOnly(t, backend.ErrPrecondition, call(t.Context(), b, k, "1"), "write")
	}
}
