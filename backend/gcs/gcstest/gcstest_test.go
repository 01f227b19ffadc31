package gcstest_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"

	"github.com/strictkv/strictkv/backend/gcs/gcstest"
)

func TestMain(m *testing.M) {
	gcstest.Main()
	// A library of the SDK starts one goroutine for the life of the process.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// write makes a new state of an object.
func write(t *testing.T, o *storage.ObjectHandle, data string) int64 {
	t.Helper()
	w := o.NewWriter(t.Context())
	w.ChunkSize = 0
	_, err := io.WriteString(w, data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return w.Attrs().Generation
}

// status is that of the answer that err is, or 200.
func status(t *testing.T, err error) int {
	t.Helper()
	var e *googleapi.Error
	if errors.As(err, &e) {
		return e.Code
	}
	require.NoError(t, err)
	return http.StatusOK
}

// TestConditions: reads and deletes obey theirs, as they do in the store.
func TestConditions(t *testing.T) {
	t.Parallel()
	bucket := gcstest.New(t).Bucket(t)
	o := bucket.Object("folder/object")
	stale := write(t, o, "first")
	current := write(t, o, "second")

	for _, c := range []struct {
		cond storage.Conditions
		want int
	}{
		{storage.Conditions{GenerationMatch: current}, 200},
		{storage.Conditions{GenerationMatch: stale}, 412},
		{storage.Conditions{GenerationNotMatch: current}, 304},
		{storage.Conditions{GenerationNotMatch: stale}, 200},
	} {
		r, err := o.If(c.cond).NewReader(t.Context())
		assert.Equal(t, c.want, status(t, err), "read %+v", c.cond)
		if err == nil {
			assert.Equal(t, current, r.Attrs.Generation)
			require.NoError(t, r.Close())
		}
		_, err = o.If(c.cond).Attrs(t.Context())
		assert.Equal(t, c.want, status(t, err), "attributes %+v", c.cond)
	}

	at := func(generation int64) *storage.ObjectHandle {
		return o.If(storage.Conditions{GenerationMatch: generation})
	}
	assert.Equal(t, 412, status(t, at(stale).Delete(t.Context())), "delete at a stale state")
	require.NoError(t, at(current).Delete(t.Context()))
	err := at(current).Delete(t.Context())
	assert.Equal(t, 404, status(t, err), "delete of an absent object")
	assert.ErrorContains(t, err, "No such object: ")
	_, err = o.NewReader(t.Context())
	assert.ErrorContains(t, err, "No such object: ")
}

// TestPages: objects and prefixes count alike, and come in one order.
func TestPages(t *testing.T) {
	t.Parallel()
	bucket := gcstest.New(t).Bucket(t)
	for _, name := range []string{"a", "b/1", "b/2", "c", "d/1", "e"} {
		write(t, bucket.Object(name), name)
	}
	var pages [][]string
	pager := iterator.NewPager(
		bucket.Objects(t.Context(), &storage.Query{Delimiter: "/", StartOffset: "a"}), 2, "")
	for more := true; more; {
		var entries []*storage.ObjectAttrs
		token, err := pager.NextPage(&entries)
		require.NoError(t, err)
		var page []string
		for _, e := range entries {
			page = append(page, e.Name+e.Prefix)
		}
		pages = append(pages, page)
		more = token != ""
	}
	assert.Equal(t, [][]string{{"a", "b/"}, {"c", "d/"}, {"e"}}, pages)
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]gcstest.Kind{
		"GET /storage/v1/b/bucket/o":                            gcstest.List,
		"GET /storage/v1/b/bucket/o?prefix=x":                   gcstest.List,
		"GET /storage/v1/b/bucket/o/a%2Fo?alt=media":            gcstest.Read,
		"GET /storage/v1/b/bucket/o/object":                     gcstest.Read,
		"GET /bucket/object":                                    gcstest.Read,
		"GET /bucket/a%2Fb%2Fo":                                 gcstest.Read,
		"DELETE /storage/v1/b/bucket/o/object":                  gcstest.Delete,
		"POST /upload/storage/v1/b/bucket/o?name=x":             gcstest.Write,
		"GET /storage/v1/b/bucket":                              gcstest.Other,
		"GET /storage/v1/b/other":                               gcstest.Other,
		"DELETE /storage/v1/b/other":                            gcstest.Other,
		"POST /storage/v1/b?project=test":                       gcstest.Other,
		"GET /storage/v1/b/bucket/o/o":                          gcstest.Read,
		"GET /storage/v1/b/bucket/o/":                           gcstest.List,
		"GET /storage/v1/b/bucket/acl":                          gcstest.Other,
		"POST /storage/v1/b/bucket/o/x/rewriteTo/b/bucket/o/y/": gcstest.Other,
	} {
		method, path, _ := strings.Cut(target, " ")
		assert.Equal(t, want, gcstest.KindOf(httptest.NewRequest(method, path, nil)), target)
	}
}

// TestProcess: the server is another process, and ends with the test.
func TestProcess(t *testing.T) {
	t.Parallel()
	s := gcstest.NewProcess(t)
	assert.NotEqual(t, s.URL(), s.DirectURL())
	o := s.DirectBucket(t).Object("object")
	write(t, o, "data")
	r, err := o.NewReader(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Close())
}
