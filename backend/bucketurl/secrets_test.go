package bucketurl_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/option"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/azure"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/s3"
)

// mark is in all credentials, and in no text that a user may show to others.
const mark = "MARKEDSECRET"

// keeps fails the test if anything that err says has a credential in it.
func keeps(t *testing.T, err error, what string) {
	t.Helper()
	if err == nil {
		return
	}
	for _, form := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		assert.NotContains(t, fmt.Sprintf(form, err), mark, "%s: %s of a %T", what, form, err)
	}
	var (
		u *url.Error
		n net.Error
	)
	if errors.As(err, &u) {
		assert.NotContains(t, u.Error()+u.URL, mark, what)
	}
	if errors.As(err, &n) {
		assert.NotContains(t, n.Error(), mark, what)
	}
	switch inner := err.(type) { //nolint:errorlint // each level is looked at
	case interface{ Unwrap() error }:
		keeps(t, inner.Unwrap(), what)
	case interface{ Unwrap() []error }:
		for _, err := range inner.Unwrap() {
			keeps(t, err, what)
		}
	}
}

// network answers requests, or fails to.
type network func(*http.Request) (*http.Response, error)

func (n network) RoundTrip(r *http.Request) (*http.Response, error) { return n(r) }

func (n network) Do(r *http.Request) (*http.Response, error) {
	return (&http.Client{Transport: n}).Do(r)
}

// says answers with a status, a body that repeats all that the request held, and a header.
func says(status int, form string, header ...string) network {
	return func(r *http.Request) (*http.Response, error) {
		var all strings.Builder
		_ = r.Header.Write(&all)
		h := http.Header{"Etag": {`"v"`}, "X-Goog-Generation": {"1"}}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		body := fmt.Sprintf(form, r.URL.String()+" "+all.String())
		return &http.Response{
			StatusCode: status, Status: fmt.Sprint(status, " from ", r.URL), Header: h, Request: r,
			Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		}, nil
	}
}

func fails(err error) network {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// weather is all that can happen to a request.
var weather = map[string]network{
	"no host": fails(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "host", IsNotFound: true}}),
	"lost":    fails(io.ErrUnexpectedEOF),
	"timeout": fails(context.DeadlineExceeded),
	"proxy": fails(fmt.Errorf("invalid proxy address %q: %w", "http://u:"+mark+" x@h",
		&url.Error{Op: "parse", URL: "http://u:" + mark + " x@h", Err: errors.New("bad")})),
	"key":        fails(&url.Error{Op: "Get", URL: "https://h/?alt=json&key=" + mark, Err: io.EOF}),
	"denied":     says(403, `{"error": {"message": %q}}`),
	"broken":     says(500, `<Error><Code>InternalError</Code><Message>%s</Message></Error>`),
	"plain":      says(404, `%s`),
	"page":       says(200, `<%s`),
	"json":       says(200, `{"access_token": "`+mark+`", "x": %s`),
	"teapot":     says(418, `AccountKey=`+mark+`;%s`),
	"redirected": says(307, `%s`, "Location", "https://else.where/?X-Amz-Signature="+mark),
	"moved":      says(302, `%s`, "Location", "https://u:"+mark+"@else.where/?sig="+mark),
	"nowhere":    says(301, `%s`, "Location", "http://u:"+mark+"@bad host/"),
}

// clouds are clients whose credentials are all marked.
func clouds(t *testing.T, n network) map[string]backend.Backend {
	t.Helper()
	sas, err := container.NewClientWithNoCredential("https://account.blob.core.windows.net/c?sig="+
		mark, azureBy(n))
	require.NoError(t, err)
	google, err := storage.NewClient(t.Context(), storage.WithJSONReads(),
		option.WithHTTPClient(&http.Client{Transport: n}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, google.Close()) })
	endpoint := "https://" + mark + ":" + mark + "@host"
	amazon := awss3.New(awss3.Options{
		Region: "eu-west-1", BaseEndpoint: &endpoint, UsePathStyle: true, HTTPClient: n,
		Credentials: credentials.NewStaticCredentialsProvider("key", mark, mark),
	})
	return map[string]backend.Backend{
		"azure": azure.New(sas), "gcs": gcs.New(google.Bucket("bucket")),
		"s3": s3.New(amazon, "bucket"),
	}
}

func azureBy(n network) *container.ClientOptions {
	o := &container.ClientOptions{}
	o.Transport = &http.Client{Transport: n}
	return o
}

// TestSecrets: whatever happens, no error holds a credential.
func TestSecrets(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	for name, n := range weather {
		for cloud, b := range clouds(t, n) {
			for call, err := range callAll(t.Context(), b) {
				keeps(t, err, cloud+" "+call+": "+name)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	for cloud, b := range clouds(t, func(r *http.Request) (*http.Response, error) {
		cancel()
		return nil, r.Context().Err()
	}) {
		for call, err := range callAll(ctx, b) {
			require.Error(t, err)
			keeps(t, err, cloud+" "+call+": canceled")
		}
	}
}

func callAll(ctx context.Context, b backend.Backend) map[string]error {
	errs := make(map[string]error)
	_, errs["get"] = b.Get(ctx, "name", "")
	_, errs["get known"] = b.Get(ctx, "name", "1")
	_, errs["put"] = b.Put(ctx, "name", []byte("data"), backend.IfAbsent())
	errs["delete"] = b.Delete(ctx, "name", "1")
	_, errs["list"] = b.List(ctx, backend.ListOptions{})
	return errs
}

// TestSecretsInLogs: nor do the library's log, its errors and its figures.
func TestSecretsInLogs(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	for _, name := range []string{"lost", "broken", "denied"} {
		for cloud, b := range clouds(t, weather[name]) {
			var log bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			_, err := strictkv.Open(ctx, "db", b, strictkv.WithLogger(
				slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
			cancel()
			require.Error(t, err)
			keeps(t, err, cloud)
			assert.NotContains(t, log.String(), mark, "log of %s: %s", cloud, name)
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[strictkv.Stats]()) {
		assert.Contains(t, []reflect.Kind{reflect.Int64, reflect.Bool}, f.Type.Kind(),
			"Stats.%s holds no text", f.Name)
	}
}

// TestSecretsInURLs: nor does what Open says of a URL or of the environment.
func TestSecretsInURLs(t *testing.T) {
	setAWS(t)
	for _, raw := range []string{
		"s3://" + mark + "@bucket", "s3://user:" + mark + "@bucket", "s3://bucket:" + mark,
		"s3://user:" + mark + "%zz@bucket", "s3://user:" + mark + " @bucket", "s3:key:" + mark + "@b",
		mark + ":x@bucket", "key:" + mark + "@bucket", "key:" + mark + " x@bucket",
		"s3://bucket?endpoint=" + mark, "s3://bucket?endpoint=http://u:" + mark + "@host:x",
		"s3://bucket?endpoint=http://u:" + mark + "@", "s3://bucket?secret=" + mark,
		"s3://bucket?" + mark, "s3://bucket?path_style=" + mark, "s3://bucket?a=%zz" + mark,
		"s3://bucket?region=" + mark + ";b", "azblob://c?sv=1&sig=" + mark, "gs://b?key=" + mark,
		"gs://b#" + mark, "./data?token=" + mark, "file:///data?nosync=" + mark,
		"http://u:" + mark + "@host", "s3://bucket/\x7f?x=" + mark,
	} {
		_, err := bucketurl.Open(t.Context(), raw)
		if assert.Error(t, err, raw) {
			keeps(t, err, raw)
			assert.ErrorIs(t, err, backend.ErrInvalid, raw)
		}
	}
	for _, env := range []map[string]string{
		{"AZURE_STORAGE_CONNECTION_STRING": "AccountKey=" + mark},
		{"AZURE_STORAGE_CONNECTION_STRING": "AccountName=a;AccountKey=" + mark + "!"},
		{"AZURE_STORAGE_CONNECTION_STRING": "BlobEndpoint=http://u:" + mark +
			" @h/;SharedAccessSignature=sig=" + mark},
		{"AZURE_STORAGE_ACCOUNT": "a", "AZURE_STORAGE_KEY": mark + "!"},
		{"AZURE_STORAGE_ACCOUNT": "a b", "AZURE_STORAGE_SAS_TOKEN": "sig=" + mark + "%zz"},
	} {
		t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "")
		for name, value := range env {
			t.Setenv(name, value)
		}
		b, err := bucketurl.Open(t.Context(), "azblob://c")
		keeps(t, err, fmt.Sprint(env))
		if err == nil {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = b.Get(ctx, "x", "")
			keeps(t, err, fmt.Sprint(env))
			require.NoError(t, b.Close())
		}
	}
	file := t.TempDir() + "/credentials"
	require.NoError(t, os.WriteFile(file, []byte(`{"type": "`+mark+`", "private_key": "`+mark), 0o600))
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	_, err := bucketurl.Open(t.Context(), "gs://bucket")
	require.Error(t, err)
	keeps(t, err, "credentials of Google")
}
