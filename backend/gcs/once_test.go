package gcs_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/option"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
)

// TestSendsOnce: only on the way to Google itself nobody can send a write again, unless
// the user knows better.
func TestSendsOnce(t *testing.T) {
	for _, c := range []struct {
		endpoint, emulator string
		want               bool
	}{
		{"", "", true},
		{"https://storage.europe-west3.rep.googleapis.com/storage/v1/", "", true},
		{"https://proxy.example/storage/v1/", "", false},
		{"https://googleapis.com.example/storage/v1/", "", false},
		{"http://127.0.0.1:1/storage/v1/", "", false},
		{"", "127.0.0.1:1", false},
	} {
		t.Setenv("STORAGE_EMULATOR_HOST", c.emulator)
		options := []option.ClientOption{option.WithHTTPClient(&http.Client{})}
		if c.endpoint != "" {
			options = append(options, option.WithEndpoint(c.endpoint))
		}
		client, err := storage.NewClient(t.Context(), options...)
		require.NoError(t, err)
		bucket := client.Bucket("bucket")
		assert.Equal(t, c.want, gcs.New(bucket).Capabilities().SendsOnce, "%+v", c)
		assert.True(t, gcs.New(bucket, gcs.SendsOnce(true)).Capabilities().SendsOnce)
		assert.False(t, gcs.New(bucket, gcs.SendsOnce(false)).Capabilities().SendsOnce)
	}
}

// twice sends all writes again, and returns the second answer.
type twice struct{ by http.RoundTripper }

func (tr twice) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return tr.by.RoundTrip(r)
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	first, err := tr.by.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	_ = first.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	return tr.by.RoundTrip(r)
}

// TestSentTwice: a transport of the user's repeats a write. What it is told about the
// second copy is not the outcome of the write.
func TestSentTwice(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	bucket := s.Bucket(t)
	v := object(t, gcs.New(bucket), "object")
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := gcstest.Client(t, s.URL(), storage.WithJSONReads(),
		option.WithHTTPClient(&http.Client{Transport: twice{transport}}))
	b := gcs.New(client.Bucket(bucket.BucketName()))
	err := call(t.Context(), b, gcstest.Write, v)
	assertOnly(t, backend.ErrOutcomeUnknown, err, "put, of which the first copy has landed")
	o, err := b.Get(t.Context(), "object", "")
	require.NoError(t, err)
	require.Equal(t, "new", string(o.Data))
	err = call(t.Context(), b, gcstest.Delete, o.Version)
	assertOnly(t, backend.ErrOutcomeUnknown, err, "delete, of which the first copy has landed")
}

// TestClosedAfterSending: a connection that has served a request ends after the next has
// been sent whole. Nobody sends that again.
func TestClosedAfterSending(t *testing.T) {
	t.Parallel()
	var writes atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, "{}")
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		writes.Add(1)
		conn, _, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			_ = conn.Close()
		}
	}))
	t.Cleanup(s.Close)
	client := gcstest.Client(t, s.URL)
	client.SetRetry(storage.WithPolicy(storage.RetryAlways))
	b := gcs.New(client.Bucket("bucket"))
	for _, kind := range []gcstest.Kind{gcstest.Write, gcstest.Delete} {
		writes.Store(0)
		require.NoError(t, call(t.Context(), b, gcstest.List, ""))
		assertOnly(t, backend.ErrOutcomeUnknown, call(t.Context(), b, kind, "1"), "write")
		assert.EqualValues(t, 1, writes.Load(), "copies")
	}
}

// TestRefusedByHTTP2: a copy is not counted where there is none, by either protocol.
func TestRefusedByHTTP2(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, 2, r.ProtoMajor)
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusPreconditionFailed)
		_, _ = io.WriteString(w, `{"error": {"errors": [{"reason": "conditionNotMet"}]}}`)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	b := gcs.New(gcstest.Client(t, s.URL, option.WithHTTPClient(s.Client())).Bucket("bucket"))
	for _, k := range []gcstest.Kind{gcstest.Write, gcstest.Delete} {
		assertOnly(t, backend.ErrPrecondition, call(t.Context(), b, k, "1"), "write")
	}
}
