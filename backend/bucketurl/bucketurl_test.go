package bucketurl_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/azure/azuretest"
	"github.com/strictkv/strictkv/backend/backendtest"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
	"github.com/strictkv/strictkv/backend/s3/s3test"
)

func TestMain(m *testing.M) {
	// A library of the SDK starts one goroutine for the life of the process.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func ExampleOpen() {
	ctx := context.Background()
	// Another program says gs://my-bucket/my-app here, or ./data.
	bucket, err := bucketurl.Open(ctx, "mem://my-bucket/my-app")
	if err != nil {
		log.Fatal(err)
	}
	defer bucket.Close()
	if _, err := bucket.Put(ctx, "greeting", []byte("hello"), backend.IfAbsent()); err != nil {
		log.Fatal(err)
	}
	o, err := bucket.Get(ctx, "greeting", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", o.Data)
	// Output: hello
}

func open(t *testing.T, url string) *bucketurl.Bucket {
	t.Helper()
	b, err := bucketurl.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// TestConformance: a bucket with a prefix is a store like any other, among others'
// objects.
func TestConformance(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backendtest.Harness {
		whole := open(t, "mem://"+strings.ReplaceAll(t.Name(), "/", "-"))
		for _, name := range []string{"a", "p", "p/q", "p/q.", "p/q0", "p/r/x", "z"} {
			_, err := whole.Put(t.Context(), name, []byte("another's"), backend.IfAbsent())
			require.NoError(t, err)
		}
		again := func() backend.Backend {
			return open(t, "mem://"+strings.ReplaceAll(t.Name(), "/", "-")+"/p/q")
		}
		return backendtest.Harness{
			Backend: again(), SecondClient: again, Clock: time.Now,
			HostileNames: []string{".", "..", "p/q/p/q/x"},
		}
	})
}

// stores start a stand-in for each kind of store, and return its bucket's URL with
// its parameters, and that of a bucket that is not there, if there is such a thing.
var stores = map[string]func(t *testing.T) (bucket, parameters, missing string){
	"gs": func(t *testing.T) (bucket, parameters, missing string) {
		s := gcstest.New(t)
		t.Setenv("STORAGE_EMULATOR_HOST", s.URL())
		return "gs://" + s.Bucket(t).BucketName(), "", "gs://missing"
	},
	"azblob": func(t *testing.T) (bucket, parameters, missing string) {
		s := azuretest.New(t)
		t.Setenv("AZURE_STORAGE_CONNECTION_STRING", s.ConnectionString())
		u, err := url.Parse(s.Container(t).URL())
		require.NoError(t, err)
		return "azblob://" + path.Base(u.Path), "", "azblob://missing"
	},
	"s3": func(t *testing.T) (bucket, parameters, missing string) {
		s := startS3(t)
		parameters = "?region=eu-west-1&path_style=true&endpoint=" + s.URL()
		return "s3://" + s3test.Bucket(t, s.Client(t)), parameters, "s3://missing" + parameters
	},
	"s3 by its environment": func(t *testing.T) (bucket, parameters, missing string) {
		s := startS3(t)
		t.Setenv("AWS_ENDPOINT_URL_S3", s.URL())
		return "s3://" + s3test.Bucket(t, s.Client(t)), "", "s3://missing"
	},
	"file": func(t *testing.T) (bucket, parameters, missing string) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
		return bucketurl.File(filepath.Join(dir, "100% a?b#c")), "?nosync=true",
			bucketurl.File(filepath.Join(dir, "file"))
	},
	"mem": func(*testing.T) (bucket, parameters, missing string) {
		return "mem://a-name", "", ""
	},
}

func startS3(t *testing.T) *s3test.Server {
	setAWS(t)
	return s3test.GoFakes3(t)
}

// setAWS makes the environment that of a user of one of S3's stand-ins.
func setAWS(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "strictkv")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "strictkv-secret")
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
}

func TestStores(t *testing.T) {
	for name, start := range stores {
		t.Run(name, func(t *testing.T) {
			bucket, parameters, missing := start(t)
			one, two := open(t, bucket+parameters), open(t, bucket+parameters)
			exercise(t, one, two)
			assert.True(t, one.Capabilities().ConditionalDelete)
			if name != "file" { // which has no prefixes
				parts := []string{
					bucket + "/a%20b/c" + parameters, bucket + "/a%20b/c/" + parameters,
				}
				exercise(t, open(t, parts[0]), open(t, parts[1]))
				put(t, open(t, parts[0]), "x")
				page, err := one.List(t.Context(), backend.ListOptions{})
				require.NoError(t, err)
				require.Len(t, page.Objects, 1)
				assert.Equal(t, "a b/c/x", page.Objects[0].Name)
			}
			if missing != "" {
				_, err := open(t, missing).Get(t.Context(), "x", "")
				assert.ErrorIs(t, err, backend.ErrBucketNotFound)
			}
		})
	}
}

func put(t *testing.T, b backend.Backend, name string) backend.Version {
	t.Helper()
	v, err := b.Put(t.Context(), name, []byte("data of "+name), backend.IfAbsent())
	require.NoError(t, err)
	return v.Version
}

// exercise looks whether two backends are one and the same empty bucket.
func exercise(t *testing.T, one, two backend.Backend) {
	t.Helper()
	v := put(t, one, "d/x")
	o, err := two.Get(t.Context(), "d/x", "")
	require.NoError(t, err)
	require.Equal(t, "data of d/x", string(o.Data))
	require.Equal(t, v, o.Version)
	_, err = two.Get(t.Context(), "d/x", v)
	require.ErrorIs(t, err, backend.ErrNotModified)
	page, err := two.List(t.Context(), backend.ListOptions{Delimiter: "/"})
	require.NoError(t, err)
	require.Equal(t, backend.Page{Prefixes: []string{"d/"}},
		backend.Page{Prefixes: page.Prefixes, More: page.More})
	require.NoError(t, two.Delete(t.Context(), "d/x", v))
	_, err = one.Get(t.Context(), "d/x", "")
	require.ErrorIs(t, err, backend.ErrNotFound)
}

// TestClose: a closed bucket of Azure has no connections.
func TestClose(t *testing.T) {
	var conns atomic.Int64
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			conns.Add(1)
		case http.StateClosed:
			conns.Add(-1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", azuretest.ConnectionString(server.URL))
	b, err := bucketurl.Open(t.Context(), "azblob://container")
	require.NoError(t, err)
	_, err = b.Get(t.Context(), "x", "")
	require.Error(t, err)
	require.Positive(t, conns.Load())
	require.NoError(t, b.Close())
	require.Eventually(t, func() bool { return conns.Load() == 0 },
		10*time.Second, time.Millisecond)
}

// TestPaths: there are several ways to name a folder.
func TestPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	require.NoError(t, err)
	for i, pair := range [][2]string{
		{"./a", filepath.Join(dir, "a")},
		{"file://./a", "./a"},
		{bucketurl.File("a"), "./b/../a"},
		{"file://../" + filepath.Base(dir) + "/a", "../" + filepath.Base(dir) + "/a"},
		{".", "file://."},
		{bucketurl.File(filepath.Join(dir, "a")) + "?nosync=false", "./a/"},
	} {
		exercise(t, open(t, pair[0]), open(t, pair[1]))
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.NotEmpty(t, entries, "%d: the folder is here", i)
	}
}

func TestWithoutConditionalDelete(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-west-1")
	assert.False(t, open(t, "s3://bucket?conditional_delete=false").Capabilities().ConditionalDelete)
	assert.False(t, open(t, "s3://bucket/prefix?conditional_delete=false").Capabilities().ConditionalDelete)
	assert.True(t, open(t, "s3://bucket/prefix").Capabilities().ConditionalDelete)
}

// TestParameters: what reaches the adapters' options.
func TestParameters(t *testing.T) {
	setAWS(t)
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=a;AccountKey=bm9uZQ==")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("STORAGE_EMULATOR_HOST", "127.0.0.1:1")
	for url, want := range map[string]bool{
		"gs://bucket":                                                false, // An emulator.
		"gs://bucket?sends_once=true":                                true,
		"azblob://c":                                                 true,
		"azblob://c?sends_once=false":                                false,
		"s3://bucket?region=eu-west-1":                               true,
		"s3://b/p?region=x&sends_once=0":                             false,
		"s3://bucket?endpoint=https://minio.example":                 false,
		"s3://bucket?endpoint=https://minio.example&sends_once=true": true,
	} {
		assert.Equal(t, want, open(t, url).Capabilities().SendsOnce, url)
	}
	_, err := open(t, "s3://bucket?endpoint=https://t3.storage.dev").Get(t.Context(), "x", "")
	require.ErrorIs(t, err, backend.ErrInvalid)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = open(t, "s3://bucket?endpoint=https://t3.storage.dev&consistent=true").Get(ctx, "x", "")
	require.ErrorIs(t, err, context.Canceled)
}

// TestKeys: requests name the keys that objects are to be encrypted by.
func TestKeys(t *testing.T) {
	setAWS(t)
	var header http.Header
	var query url.Values
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header, query = r.Header, r.URL.Query()
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(s.Close)
	t.Setenv("STORAGE_EMULATOR_HOST", s.URL)
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", azuretest.ConnectionString(s.URL))
	put := func(url string) {
		_, err := open(t, url).Put(t.Context(), "x", nil, backend.IfAbsent())
		require.ErrorIs(t, err, backend.ErrDenied)
	}
	put("gs://bucket?kms_key=projects/p/cryptoKeys/k")
	assert.Equal(t, "projects/p/cryptoKeys/k", query.Get("kmsKeyName"))
	put("azblob://c?encryption_scope=scope")
	assert.Equal(t, "scope", header.Get("X-Ms-Encryption-Scope"))
	put("s3://bucket?kms_key=arn:aws:kms:x&path_style=true&endpoint=" + s.URL)
	assert.Equal(t, "arn:aws:kms:x", header.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"))
}

func TestBadURLs(t *testing.T) {
	for _, name := range []string{
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL_S3",
		"AWS_ENDPOINT_URL", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	for url, want := range map[string]string{
		"":                  "want gs://bucket/prefix, azblob://container/prefix, s3://bucket/prefix",
		"bucket":            "or a path that begins with ./",
		"data/db":           "or a path that begins with ./",
		"http://bucket":     `scheme "http": want gs://`,
		"gs://":             "names no bucket: want gs://bucket/prefix",
		"gs:///prefix":      "names no bucket: want gs://bucket/prefix",
		"gs:bucket":         "want gs://bucket/prefix",
		"mem://":            "names no bucket: want mem://name",
		"azblob://?x=y":     "names no bucket: want azblob://container/prefix",
		"gs://bucket:80":    "no user, port or fragment",
		"gs://bucket:":      "no user, port or fragment",
		"gs://bucket/a#b":   "no user, port or fragment",
		"s3://key@bucket":   "no user, port or fragment",
		"gs://buc ket":      "invalid character",
		"gs://bucket/a//b":  "a part of a prefix",
		"gs://bucket//":     "a part of a prefix",
		"gs://bucket/../b":  "a part of a prefix",
		"gs://bucket/%2e/b": "a part of a prefix",
		"gs://bucket?x=y":   `parameter "x": gs has only kms_key, sends_once`,
		"mem://name?nosync": `parameter "nosync": mem has none`,
		"s3://bucket?regoin=x": `parameter "regoin": s3 has only region, endpoint, path_style, ` +
			`conditional_delete, kms_key, consistent, sends_once`,
		"azblob://c?sends_once=perhaps":    `parameter "sends_once": want true or false`,
		"gs://b?sends_once=":               `parameter "sends_once": want one value`,
		"s3://b?consistent=x":              `parameter "consistent": want true or false`,
		"s3://bucket?region=a&region=b":    `parameter "region": want one value`,
		"s3://bucket?region=":              `parameter "region": want one value`,
		"s3://bucket?a=%zz":                "parameters: invalid URL escape",
		"s3://bucket?path_style=maybe":     `parameter "path_style": want true or false`,
		"s3://bucket?conditional_delete=x": `parameter "conditional_delete": want true or false`,
		"s3://bucket?endpoint=127.0.0.1":   `parameter "endpoint": want https://host`,
		"s3://bucket":                      "no region: want s3://bucket?region=..., or AWS_REGION",
		"file://":                          "want file:///directory or file://./directory",
		"file://host/data":                 "want file:///directory or file://./directory",
		"file:///data?sync=no":             `parameter "sync": file has only nosync`,
		"file:///data?nosync=x":            `parameter "nosync": want true or false`,
		"./data?nosync=true":               "a plain path has no parameters: want file:///",
		"azblob://container":               "set AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT",
	} {
		_, err := bucketurl.Open(t.Context(), url)
		if assert.ErrorIs(t, err, backend.ErrInvalid, url) {
			assert.ErrorContains(t, err, want, url)
			if url, _, ok := strings.Cut(url, "?"); ok {
				assert.ErrorContains(t, err, fmt.Sprintf(`open bucket "%s?...": `, url))
			} else if !strings.ContainsAny(url, "@#") {
				assert.ErrorContains(t, err, fmt.Sprintf("open bucket %q: ", url))
			}
		}
	}
	_, err := bucketurl.Open(t.Context(), "s3://key:secret@bucket")
	require.ErrorIs(t, err, backend.ErrInvalid)
	assert.NotContains(t, err.Error(), "secret")
}

// TestCredentials: those that can't be read are told at once, and not what they are.
func TestCredentials(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "missing"))
	_, err := bucketurl.Open(t.Context(), "gs://bucket")
	require.ErrorIs(t, err, backend.ErrDenied)

	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_PROFILE", "missing")
	_, err = bucketurl.Open(t.Context(), "s3://bucket")
	require.ErrorIs(t, err, backend.ErrDenied)

	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "")
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
	t.Setenv("AZURE_STORAGE_KEY", "not-base64-secret")
	_, err = bucketurl.Open(t.Context(), "azblob://container")
	require.ErrorIs(t, err, backend.ErrDenied)
	assert.NotContains(t, err.Error(), "secret")

	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountKey=secret")
	_, err = bucketurl.Open(t.Context(), "azblob://container")
	require.ErrorIs(t, err, backend.ErrInvalid)
	assert.NotErrorIs(t, err, backend.ErrDenied)
	assert.NotContains(t, err.Error(), "secret")
}
