package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/option"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/gcs"
)

// fronted returns the server's bucket by way of the front, and without it.
func fronted(t *testing.T) (b backend.Backend, handler http.Handler, bare *fakestorage.Server) {
	bare, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener: true, PublicHost: "127.0.0.1", StorageRoot: t.TempDir(),
	})
	require.NoError(t, err)
	t.Cleanup(bare.Stop)
	bare.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: fakeBucket})
	handler = newFront(bare.HTTPHandler())
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	client, err := storage.NewClient(t.Context(), option.WithoutAuthentication(),
		option.WithEndpoint(s.URL+"/storage/v1/"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return gcs.New(client.Bucket(fakeBucket)), handler, bare
}

func ask(t *testing.T, h http.Handler, method, url string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, url, http.NoBody))
	return answer
}

// TestFrontLists: after any changes, the front lists what the server does, which makes pages of
// objects only and a prefix of one byte of a delimiter.
func TestFrontLists(t *testing.T) {
	b, _, bare := fronted(t)
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "a-", "ä"}
	versions := make(map[string]backend.Version)
	for range 600 {
		name := parts[r.IntN(3)] + "/" + parts[r.IntN(3)] + "/" + parts[r.IntN(3)] + "x"
		switch v, ok := versions[name]; {
		case !ok:
			s, err := b.Put(t.Context(), name, []byte(name), backend.IfAbsent())
			require.NoError(t, err)
			versions[name] = s.Version
		case r.IntN(2) == 0:
			s, err := b.Put(t.Context(), name, nil, backend.IfVersion(v))
			require.NoError(t, err)
			versions[name] = s.Version
		default:
			require.NoError(t, b.Delete(t.Context(), name, v))
			delete(versions, name)
		}
		if r.IntN(4) > 0 { // Names may come and go between lists.
			continue
		}
		o := backend.ListOptions{
			Prefix:    []string{"", "a", "a-/", "a/a/", "c", "ä/"}[r.IntN(6)],
			Delimiter: []string{"", "/", "x"}[r.IntN(3)],
			After:     []string{"", "a", "a/a", "a-/", "a/a-/ax", "ä/ä/äx", "z"}[r.IntN(7)],
			Limit:     r.IntN(4),
		}
		require.Equal(t, expected(t, bare, o), listed(t, b, o), "%+v", o)
	}
}

// listed returns all names and prefixes that pages have, with the objects' versions and sizes.
func listed(t *testing.T, b backend.Backend, o backend.ListOptions) []string {
	all := []string{}
	for {
		p, err := b.List(t.Context(), o)
		require.NoError(t, err)
		for _, info := range p.Objects {
			all = append(all, fmt.Sprintln(info.Name, info.Version, info.Size, info.Modified.UTC()))
			o.After = max(o.After, info.Name)
		}
		for _, prefix := range p.Prefixes {
			all = append(all, prefix)
			o.After = max(o.After, prefix)
		}
		if o.Limit > 0 {
			assert.LessOrEqual(t, len(p.Objects)+len(p.Prefixes), o.Limit)
		}
		if !p.More {
			slices.Sort(all)
			return all
		}
	}
}

// expected is the same by the server's own list.
func expected(t *testing.T, bare *fakestorage.Server, o backend.ListOptions) []string {
	all := []string{}
	found, err := bare.ListObjectsWithOptionsPaginated(fakeBucket, fakestorage.ListOptions{
		Prefix: o.Prefix, Delimiter: o.Delimiter,
	})
	require.NoError(t, err)
	for _, x := range found.Objects {
		if x.Name > o.After {
			all = append(all, fmt.Sprintln(x.Name, x.Generation, x.Size, x.Created.UTC()))
		}
	}
	for _, prefix := range found.Prefixes {
		if prefix > o.After {
			all = append(all, prefix)
		}
	}
	slices.Sort(all)
	return all
}

// TestFrontPages: tokens lead through all pages, and a prefix is on one of them.
func TestFrontPages(t *testing.T) {
	b, handler, _ := fronted(t)
	for _, name := range []string{"a", "b/1", "b/2", "b/3", "c", "d/1", "e"} {
		_, err := b.Put(t.Context(), name, nil, backend.IfAbsent())
		require.NoError(t, err)
	}
	for most := 1; most <= 6; most++ {
		var entries []string
		token, pages := "", 0
		for more := true; more; more = token != "" {
			answer := ask(t, handler, http.MethodGet, objectsURL+fmt.Sprintf(
				"?delimiter=/&startOffset=b/2&maxResults=%d&pageToken=%s", most, token))
			require.Equal(t, http.StatusOK, answer.Code)
			var p page
			require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &p))
			for _, o := range p.Items {
				entries = append(entries, o.Name)
			}
			entries = append(entries, p.Prefixes...)
			token = p.Next
			pages++
		}
		assert.ElementsMatch(t, []string{"b/", "c", "d/", "e"}, entries, "pages of %d", most)
		assert.Equal(t, (4+most-1)/most, pages)
	}
}

// TestFrontRefuses: what would make the index wrong does not get through.
func TestFrontRefuses(t *testing.T) {
	_, handler, _ := fronted(t)
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{http.MethodPatch, objectsURL + "/a", http.StatusNotImplemented},
		{http.MethodPost, objectsURL + "/a/compose", http.StatusNotImplemented},
		{http.MethodPost, "/batch/storage/v1", http.StatusNotImplemented},
		{http.MethodGet, objectsURL + "?endOffset=a", http.StatusNotImplemented},
		{http.MethodGet, objectsURL + "?versions=true", http.StatusNotImplemented},
		{http.MethodGet, objectsURL + "?versions=false", http.StatusOK},
		{http.MethodGet, objectsURL + "?pageToken=!", http.StatusBadRequest},
		{http.MethodGet, objectsURL + "/a", http.StatusNotFound},
		{http.MethodDelete, objectsURL + "/a", http.StatusNotFound},
	} {
		assert.Equal(t, c.want, ask(t, handler, c.method, c.path).Code, "%s %s", c.method, c.path)
	}
}
