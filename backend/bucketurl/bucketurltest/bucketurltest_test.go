package bucketurltest_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/backendtest/faultproxy"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/bucketurl/bucketurltest"
)

func TestMain(m *testing.M) {
	// A library of the SDK starts one goroutine for the life of the process.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// open opens a bucket for the time of a test.
func open(t *testing.T, url string) *bucketurl.Bucket {
	b, err := bucketurl.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// TestBucket: each client of the URL sees the same new bucket, by way of the proxy.
func TestBucket(t *testing.T) {
	for _, s := range bucketurltest.Stores {
		t.Run(s.Name, func(t *testing.T) {
			var proxy *faultproxy.Proxy
			bucket := s.BucketBehind(t, func(u string) string {
				target, err := url.Parse(u)
				require.NoError(t, err)
				proxy = faultproxy.New(target, faultproxy.Options{})
				t.Cleanup(proxy.Close)
				return proxy.URL()
			})
			v, err := open(t, bucket).Put(t.Context(), "object", []byte("data"), backend.IfAbsent())
			require.NoError(t, err)
			o, err := open(t, bucket).Get(t.Context(), "object", "")
			require.NoError(t, err)
			assert.Equal(t, "data", string(o.Data))
			assert.Equal(t, v.Version, o.Version)
			assert.Equal(t, 2, proxy.Counts()["requests"])
		})
	}
}

// TestOwnBuckets: each call makes another bucket.
func TestOwnBuckets(t *testing.T) {
	s := bucketurltest.Stores[0]
	_, err := open(t, s.Bucket(t)).Put(t.Context(), "object", nil, backend.IfAbsent())
	require.NoError(t, err)
	_, err = open(t, s.Bucket(t)).Get(t.Context(), "object", "")
	require.ErrorIs(t, err, backend.ErrNotFound)
}
