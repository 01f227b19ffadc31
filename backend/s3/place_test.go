package s3_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/s3"
	"github.com/strictkv/strictkv/backend/s3/s3test"
)

// TestSendsOnce: only on the way to Amazon itself nobody can send a write again, unless
// the user knows better.
func TestSendsOnce(t *testing.T) {
	t.Parallel()
	at := func(endpoint string) func(*awss3.Options) {
		return func(o *awss3.Options) { o.BaseEndpoint = &endpoint }
	}
	in := func(region string) func(*awss3.Options) {
		return func(o *awss3.Options) { o.Region = region }
	}
	for name, c := range map[string]struct {
		want   bool
		option func(*awss3.Options)
	}{
		"the default":   {true, in("eu-west-1")},
		"legacy global": {true, in("us-east-1")},
		"China":         {true, in("cn-north-1")},
		"path style":    {true, func(o *awss3.Options) { o.UsePathStyle = true }},
		"named":         {true, at("https://s3.eu-west-1.amazonaws.com")},
		"an interface":  {true, at("https://vpce-1a2b-5e6f.s3.us-east-1.vpce.amazonaws.com")},
		"accelerated":   {false, func(o *awss3.Options) { o.UseAccelerate = true }},
		"plain":         {false, at("http://s3.eu-west-1.amazonaws.com")},
		"without TLS": {false, func(o *awss3.Options) {
			o.EndpointOptions.DisableHTTPS = true
		}},
		"a clone":          {false, at("https://s3.example.com")},
		"a clone, plain":   {false, at("http://127.0.0.1:9000")},
		"a clone on EC2":   {false, at("https://ec2-1-2-3-4.compute-1.amazonaws.com")},
		"a load balancer":  {false, at("https://s3-clone-1.us-east-1.elb.amazonaws.com")},
		"a look-alike":     {false, at("https://s3.amazonaws.com.example")},
		"without a region": {false, in("")},
		"an old resolver": {false, func(o *awss3.Options) {
			//nolint:staticcheck // some still set one
			o.EndpointResolver = awss3.EndpointResolverFromURL("https://s3.amazonaws.com")
		}},
	} {
		client := awss3.New(awss3.Options{Region: "eu-west-1"}, c.option)
		assert.Equal(t, c.want, s3.New(client, "bucket").Capabilities().SendsOnce, name)
		assert.True(t, s3.New(client, "bucket", s3.SendsOnce(true)).Capabilities().SendsOnce)
		assert.False(t, s3.New(client, "bucket", s3.SendsOnce(false)).Capabilities().SendsOnce)
	}
	client := awss3.New(awss3.Options{Region: "eu-west-1"})
	for _, bucket := range []string{
		"a.b", "arn:aws:s3:eu-west-1:123456789012:accesspoint/name", "name-x-s3alias",
	} {
		assert.True(t, s3.New(client, bucket).Capabilities().SendsOnce, bucket)
	}
}

// TestUnfit: what no database can be in is refused without a request.
func TestUnfit(t *testing.T) {
	t.Parallel()
	client := func(endpoint string) *awss3.Client {
		return s3test.Client(t, nowhere(), func(o *awss3.Options) {
			o.BaseEndpoint, o.UsePathStyle = nil, false
			if endpoint != "" {
				o.BaseEndpoint = &endpoint
			}
		}, through(func(r *http.Request) (*http.Response, error) {
			assert.Fail(t, "a request", "%s %s", r.Method, r.URL)
			return nil, io.ErrUnexpectedEOF
		}))
	}
	for _, c := range []struct{ endpoint, bucket, why string }{
		{"", "", "empty"},
		{"", "name--usw2-az1--x-s3", "does not list in order"},
		{"", "name--usw2-az1--xa-s3", "does not list in order"},
		{"", "arn:aws:s3express:us-west-2:1:accesspoint/name--usw2-az1--xa-s3", "in order"},
		{"", "arn:aws:s3::123456789012:accesspoint/mfzwi23gnjvgw.mrap", "lag behind"},
		{"", "arn:aws:s3-object-lambda:us-west-2:1:accesspoint/name", "Object Lambda"},
		{"", "name-123--ol-s3", "Object Lambda"},
		{"", "name--table-s3", "table bucket"},
		{"", "arn:aws", "malformed"},
		{"https://mfzwi23gnjvgw.mrap.accesspoint.s3-global.amazonaws.com", "bucket", "lag behind"},
		{"https://name-1.s3-object-lambda.us-west-2.amazonaws.com", "bucket", "Object Lambda"},
		{"https://fly.storage.tigris.dev", "bucket", "StronglyConsistent"},
		{"https://t3.storage.dev", "bucket", "StronglyConsistent"},
	} {
		b := s3.New(client(c.endpoint), c.bucket)
		for _, k := range kinds {
			err := call(t.Context(), b, k, "v")
			assertOnly(t, backend.ErrInvalid, err, c.bucket)
			assert.ErrorContains(t, err, c.why)
		}
		assert.False(t, b.Capabilities().SendsOnce, c.bucket)
	}
	b := s3.New(s3test.Client(t, "https://t3.storage.dev", failing(io.ErrUnexpectedEOF)), "bucket",
		s3.StronglyConsistent())
	assertOnly(t, backend.ErrUnavailable, call(t.Context(), b, get, ""), "of one region")
}

// TestSentTwice: a client of HTTP repeats a write. What it is told about the second copy
// is not the outcome of the write.
func TestSentTwice(t *testing.T) {
	t.Parallel()
	server := s3test.GoFakes3(t)
	client := server.Client(t)
	bucket := s3test.Bucket(t, client)
	v := object(t, s3.New(client, bucket))
	b := s3.New(server.Client(t, func(o *awss3.Options) {
		next := o.HTTPClient
		o.HTTPClient = do(func(r *http.Request) (*http.Response, error) {
			resp, err := next.Do(r)
			if err != nil || r.Method == http.MethodGet {
				return resp, err
			}
			_ = resp.Body.Close()
			if r.GetBody != nil {
				if r.Body, err = r.GetBody(); err != nil {
					return nil, err
				}
			}
			return next.Do(r)
		})
	}), bucket)
	assertOnly(t, backend.ErrOutcomeUnknown, call(t.Context(), b, put, v), "put")
	o, err := b.Get(t.Context(), "object", "")
	require.NoError(t, err)
	require.Equal(t, "new", string(o.Data), "the first copy has landed")
	assertOnly(t, backend.ErrOutcomeUnknown, call(t.Context(), b, del, o.Version), "delete")
}

// served is a store of one's own.
func served(t *testing.T, f http.HandlerFunc) *s3.Backend {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s3.New(s3test.Client(t, s.URL, func(o *awss3.Options) {
		o.Retryer, o.RetryMaxAttempts = eager{}, 5
	}), "bucket")
}

// TestClosedAfterSending: a connection that has served a request ends after the next has
// been sent whole. Nobody sends that again.
func TestClosedAfterSending(t *testing.T) {
	t.Parallel()
	var writes atomic.Int64
	b := served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, "<ListBucketResult></ListBucketResult>")
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		writes.Add(1)
		conn, _, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			_ = conn.Close()
		}
	})
	for _, k := range []kind{put, del} {
		writes.Store(0)
		require.NoError(t, call(t.Context(), b, list, ""))
		assertOnly(t, backend.ErrOutcomeUnknown, call(t.Context(), b, k, "1"), k.String())
		assert.EqualValues(t, 1, writes.Load(), "copies of a %v", k)
	}
}

// TestTime: it is the store's clock as it answered, not that of the object.
func TestTime(t *testing.T) {
	t.Parallel()
	date := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Time{
		date.Format(http.TimeFormat): date, "yesterday": {}, "": {},
	} {
		b := served(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Last-Modified", date.Add(-time.Hour).Format(http.TimeFormat))
			w.Header()["Date"] = nil
			if header != "" {
				w.Header().Set("Date", header)
			}
		})
		at, err := b.Put(t.Context(), "object", nil, backend.IfAbsent())
		require.NoError(t, err)
		assert.Equal(t, want, at.Time)
		o, err := b.Get(t.Context(), "object", "")
		require.NoError(t, err)
		assert.Equal(t, want, o.Time)
	}
}

// TestBucketNamed: who has mistyped the bucket sees it.
func TestBucketNamed(t *testing.T) {
	t.Parallel()
	b := s3.New(s3test.GoFakes3(t).Client(t), "mistyped")
	for _, k := range kinds {
		err := call(t.Context(), b, k, "1")
		assertOnly(t, backend.ErrBucketNotFound, err, k.String())
		assert.ErrorContains(t, err, `bucket not found: "mistyped"`)
	}
}

// TestTooLargeToWrite: what could not be read is not written.
func TestTooLargeToWrite(t *testing.T) {
	t.Parallel()
	huge := make([]byte, backend.ObjectMax+1)
	_, err := untouched(t, "bucket").Put(t.Context(), "object", huge, backend.IfAbsent())
	assertOnly(t, backend.ErrInvalid, err, "put")
	assert.ErrorContains(t, err, "134217728 bytes")
}

// TestStrayNames: names that XML cannot carry are listed as they are.
func TestStrayNames(t *testing.T) {
	t.Parallel()
	names := []string{"a\x01b", "a\xff", "b +%/=~c", "d\r", "é", "\uffff"}
	b := served(t, func(w http.ResponseWriter, r *http.Request) {
		encoded := r.URL.Query().Get("encoding-type") == "url"
		body := "<ListBucketResult>"
		if encoded {
			body += "<EncodingType>url</EncodingType>"
		}
		for _, name := range names {
			if encoded {
				name = url.QueryEscape(name)
			} else {
				name = strings.ReplaceAll(name, "\x01", "&#x1;")
			}
			body += "<Contents><Key>" + name + "</Key><ETag>&quot;v&quot;</ETag></Contents>"
		}
		_, _ = io.WriteString(w, body+"<CommonPrefixes><Prefix>"+
			map[bool]string{true: "x%02%2F", false: "x&#x2;/"}[encoded]+
			"</Prefix></CommonPrefixes></ListBucketResult>")
	})
	page, err := b.List(t.Context(), backend.ListOptions{})
	require.NoError(t, err)
	var got []string
	for _, o := range page.Objects {
		got = append(got, o.Name)
	}
	assert.Equal(t, names, got)
	assert.Equal(t, []string{"x\x02/"}, page.Prefixes)
}

// TestStrayNamesOnServers: the same for the stores that take such names.
func TestStrayNamesOnServers(t *testing.T) {
	for name, start := range map[string]func(testing.TB) *s3test.Server{
		"GoFakes3": s3test.GoFakes3, "VersityGW": s3test.VersityGW, "Moto": s3test.Moto,
	} {
		t.Run(name, func(t *testing.T) {
			client := start(t).Client(t)
			bucket := s3test.Bucket(t, client)
			var want []string
			names := []string{"+users/=a", "a\x01b", "a b", "b%2Bc", "x\r"}
			if name == "Moto" { // It lists control characters raw, which XML can't carry.
				names = []string{"+users/=a", "a b", "b%2Bc"}
			}
			for _, name := range names {
				_, err := client.PutObject(t.Context(), &awss3.PutObjectInput{
					Bucket: &bucket, Key: aws.String(name), Body: strings.NewReader("data"),
				})
				if err != nil {
					t.Logf("%s does not take %q", t.Name(), name)
					continue
				}
				want = append(want, name)
			}
			if name == "VersityGW" { // Without EncodingType, that name can't be told.
				want = slices.DeleteFunc(want, func(s string) bool { return s == "a\x01b" })
			}
			for _, limit := range []int{0, 1, 2} {
				var got []string
				o := backend.ListOptions{Limit: limit}
				for more := true; more; {
					page, err := s3.New(client, bucket).List(t.Context(), o)
					require.NoError(t, err)
					for _, object := range page.Objects {
						got, o.After = append(got, object.Name), object.Name
					}
					more = page.More
				}
				assert.Equal(t, want, got, "pages of %d", limit)
			}
		})
	}
}

// TestRefusedByHTTP2: a copy is not counted where there is none, by either protocol.
func TestRefusedByHTTP2(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, 2, r.ProtoMajor)
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusPreconditionFailed)
		_, _ = io.WriteString(w, "<Error><Code>PreconditionFailed</Code></Error>")
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	b := s3.New(s3test.Client(t, s.URL, func(o *awss3.Options) { o.HTTPClient = s.Client() }), "b")
	for _, k := range []kind{put, del} {
		assertOnly(t, backend.ErrPrecondition, call(t.Context(), b, k, "1"), "write")
	}
}
