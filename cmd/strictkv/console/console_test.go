package console

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/activity"
	"github.com/strictkv/strictkv/internal/keytext"
	"github.com/strictkv/strictkv/internal/loopback"
)

const token = "TOKEN"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostile are keys and values that would do something if they were taken for what they look like.
var hostile = []string{
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</pre><svg/onload=alert(1)>",
	"<b class=planted>bold</b>", "{{constructor.constructor('alert(1)')()}}", "javascript:alert(1)",
	"\x00\x01\x1b[31mred\x07", "\xff\xfe<i class=planted>", "\u202eevil\u2066\u200f", "a&amp;b='`",
	"#view=upkeep&key=x", "..", "/", "a/b", "%2e%2e%2f", "\r\nSet-Cookie: a=b",
}

// open makes a database with its console.
func open(t *testing.T, o Options) (*strictkv.DB, *httptest.Server) {
	t.Helper()
	o.Name, o.Token, o.Monitor = "shop", token, &activity.Monitor{}
	db, err := strictkv.Open(t.Context(), "db", memory.New(),
		strictkv.WithObserver(o.Monitor.Observer()))
	require.NoError(t, err)
	s := httptest.NewServer(New(db, o))
	t.Cleanup(func() {
		s.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		assert.NoError(t, db.Close(context.WithoutCancel(t.Context())))
	})
	return db, s
}

// visitor has opened the URL with the token.
func visitor(t *testing.T, s *httptest.Server) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	code, body, _ := send(t, client, "GET", loopback.URL(s.Listener.Addr().String(), token), "")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "<title>StrictKV console</title>")
	return client
}

func send(
	t *testing.T, client *http.Client, method, url, body string,
) (code int, text string, header http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(all), response.Header
}

// query is that of a URL, of names and values in turn.
func query(s *httptest.Server, path string, pairs ...string) string {
	r, _ := http.NewRequest(http.MethodGet, s.URL+"/api/"+path, nil)
	q := r.URL.Query()
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	r.URL.RawQuery = q.Encode()
	return r.URL.String()
}

// see asks for JSON.
func see[T any](t *testing.T, client *http.Client, url string) (v T) {
	t.Helper()
	code, text, header := send(t, client, "GET", url, "")
	require.Equal(t, http.StatusOK, code, text)
	require.Equal(t, "application/json", header.Get("Content-Type"))
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

// TestGuarded: a stranger sees nothing of a console.
func TestGuarded(t *testing.T) {
	_, s := open(t, Options{Write: true})
	for _, path := range []string{"", "console.js", "api/list", "api/activity", "api/change"} {
		code, _, _ := send(t, &http.Client{}, "GET", s.URL+"/"+path, "")
		assert.Equal(t, http.StatusUnauthorized, code, path)
	}
	for _, path := range []string{"change", "work"} {
		code, _, _ := send(t, &http.Client{}, "POST", s.URL+"/api/"+path, "{}")
		assert.Equal(t, http.StatusUnauthorized, code, path)
	}
}

// TestPages: all keys are seen once, page by page, by prefix and without.
func TestPages(t *testing.T) {
	db, s := open(t, Options{})
	guest := visitor(t, s)
	c := db.Collection([]byte("users")).Collection([]byte("a/b"))
	for i := range 120 {
		require.NoError(t, c.Write(t.Context(), fmt.Appendf(nil, "key%03d", i), nil))
	}
	top := see[listing](t, guest, query(s, "list"))
	assert.Equal(t, []link{{"users", "users"}}, top.Collections)
	assert.Empty(t, top.Keys)
	inner := see[listing](t, guest, query(s, "list", "collection", "users"))
	assert.Equal(t, []link{{`"a/b"`, `users/"a/b"`}}, inner.Collections)
	for prefix, want := range map[string][]int{
		"": {50, 50, 20}, "key0": {50, 50}, "key11": {10}, "x": {0},
	} {
		var sizes []int
		seen, after := map[string]bool{}, ""
		for more := true; more; {
			page := see[listing](t, guest, query(s, "list", "collection", inner.Collections[0].Path,
				"prefix", prefix, "after", after))
			sizes, more = append(sizes, len(page.Keys)), page.Next
			for _, key := range page.Keys {
				assert.False(t, seen[key])
				seen[key], after = true, key
			}
			assert.Equal(t, []link{{"users", "users"}, {`"a/b"`, `users/"a/b"`}}, page.Crumbs)
		}
		assert.Equal(t, want, sizes, "prefix %q", prefix)
	}
	for _, bad := range []string{
		query(s, "list", "collection", "a//b"),
		query(s, "list", "collection", "users", "prefix", "0xz"),
		query(s, "key", "collection", "users", "key", `"open`), query(s, "key", "key", "k"),
		query(s, "list", "collection", strings.Repeat("x", 600)),
	} {
		code, text, _ := send(t, guest, "GET", bad, "")
		assert.Equal(t, http.StatusBadRequest, code, bad)
		assert.Contains(t, text, `{"error":"`)
	}
}

// answered is what there is to see of a key.
type answered struct {
	Key   string
	Value *shown
	Cell  map[string]any
}

// TestHostile: whatever keys and values are, they come as data, and the same.
func TestHostile(t *testing.T) {
	db, s := open(t, Options{})
	guest := visitor(t, s)
	for _, text := range hostile {
		c := db.Collection([]byte(text))
		require.NoError(t, c.Write(t.Context(), []byte(text), []byte(text)))
		path := keytext.ShowPath([][]byte{[]byte(text)})
		keys := see[listing](t, guest, query(s, "list", "collection", path)).Keys
		require.Len(t, keys, 1)
		got := see[answered](t, guest, query(s, "key", "collection", path, "key", keys[0]))
		assert.Equal(t, text, string(got.Value.Data))
		assert.Equal(t, keytext.Show([]byte(text)), got.Key)
		assert.NotEmpty(t, got.Cell["object"])
		for _, as := range []string{"", "image"} {
			code, body, header := send(t, guest, "GET",
				query(s, "value", "collection", path, "key", keys[0], "as", as), "")
			assert.Equal(t, http.StatusOK, code)
			assert.Equal(t, text, body)
			assert.Equal(t, "application/octet-stream", header.Get("Content-Type"))
			assert.Equal(t, `attachment; filename="value"`, header.Get("Content-Disposition"))
		}
	}
	assert.Len(t, see[listing](t, guest, query(s, "list")).Collections, len(hostile))
}

// TestValues: what is shown of values that are large, expire, are deleted, or are images.
func TestValues(t *testing.T) {
	db, s := open(t, Options{})
	guest := visitor(t, s)
	c := db.Collection([]byte("c"))
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	for key, value := range map[string]string{
		"large": strings.Repeat("x", shownMax) + "y", "external": strings.Repeat("x", 2<<20),
		"png": "\x89PNG\r\n\x1a\n<script>", "gif": "GIF89a<script>", "svg": "<svg onload=alert(1)>",
		"html": "<!doctype html><script>alert(1)</script>", "pdf": "%PDF-1.7", "gone": "x",
	} {
		require.NoError(t,
			c.Write(t.Context(), []byte(key), []byte(value), strictkv.ExpireAt(until)))
	}
	require.NoError(t, c.Delete(t.Context(), []byte("gone")))
	at := func(key string) answered {
		return see[answered](t, guest, query(s, "key", "collection", "c", "key", key))
	}
	assert.Equal(t, shownMax+1, at("large").Value.Size)
	assert.Len(t, at("large").Value.Data, shownMax)
	assert.True(t, until.Equal(*at("large").Value.Expires))
	assert.Len(t, at("external").Value.Data, shownMax)
	assert.Nil(t, at("gone").Value)
	assert.Equal(t, false, at("gone").Cell["value"].(map[string]any)["present"])
	for key, want := range map[string]string{
		"png": "image/png", "gif": "image/gif", "svg": "", "html": "", "pdf": "", "large": "",
	} {
		assert.Equal(t, want, at(key).Value.Image, key)
		_, _, header := send(t, guest, "GET",
			query(s, "value", "collection", "c", "key", key, "as", "image"), "")
		if want == "" {
			want = "application/octet-stream"
			assert.NotEmpty(t, header.Get("Content-Disposition"))
		}
		assert.Equal(t, want, header.Get("Content-Type"), key)
	}
	_, body, _ := send(t, guest, "GET", query(s, "value", "collection", "c", "key", "external"), "")
	assert.Len(t, body, 2<<20)
	for _, path := range []string{"key", "value"} {
		code, _, _ := send(t, guest, "GET", query(s, path, "collection", "c", "key", "none"), "")
		assert.Equal(t, http.StatusNotFound, code)
	}
}

func change(key, version string, value any) string {
	text, err := json.Marshal(map[string]any{
		"collection": "c", "key": key, "version": version, "value": value,
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestChanges: keys change only where that is allowed, and as the page has shown them.
func TestChanges(t *testing.T) {
	db, s := open(t, Options{Write: true})
	guest := visitor(t, s)
	c := db.Collection([]byte("c"))
	text := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	post := func(want int, body string) {
		t.Helper()
		code, answer, _ := send(t, guest, "POST", s.URL+"/api/change", body)
		assert.Equal(t, want, code, answer)
	}
	version := func() string {
		return see[answered](t, guest, query(s, "key", "collection", "c", "key", "k")).Value.Version
	}
	post(http.StatusOK, change("k", "", text("one")))
	post(http.StatusConflict, change("k", "", text("two")))
	first := version()
	post(http.StatusOK, change("k", first, text("two")))
	post(http.StatusConflict, change("k", first, text("three")))
	post(http.StatusConflict, change("k", first, nil))
	post(http.StatusConflict, change("k", "", nil))
	value, err := c.Read(t.Context(), []byte("k"))
	require.NoError(t, err)
	assert.Equal(t, "two", string(value))

	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	require.NoError(t, c.Write(t.Context(), []byte("k"), nil, strictkv.ExpireAt(until)))
	post(http.StatusOK, change("k", version(), ""))
	item, err := c.ReadItem(t.Context(), []byte("k"))
	require.NoError(t, err)
	assert.True(t, until.Equal(item.Expires), "a value expires as the one before")
	assert.Empty(t, item.Value)
	post(http.StatusOK, change("k", version(), nil))
	_, err = c.Read(t.Context(), []byte("k"))
	require.ErrorIs(t, err, strictkv.ErrNotFound)
	post(http.StatusBadRequest, "{")
	post(http.StatusBadRequest, change("k", "version", text("x")))
	post(http.StatusBadRequest, change("k", "", strings.Repeat("A", bodyMax)))

	_, s = open(t, Options{})
	guest = visitor(t, s)
	post(http.StatusForbidden, change("k", "", text("one")))
}

// TestWork: a check and a sweep tell of their progress, and change nothing.
func TestWork(t *testing.T) {
	db, s := open(t, Options{})
	guest := visitor(t, s)
	c := db.Collection([]byte("c"))
	for i := range 10 {
		require.NoError(t, c.Write(t.Context(), fmt.Append(nil, i), nil))
	}
	before := db.Stats()
	for _, task := range []string{"check", "sweep"} {
		code, text, _ := send(t, guest, "POST", s.URL+"/api/work", `{"task":"`+task+`"}`)
		require.Equal(t, http.StatusOK, code)
		lines := strings.Split(strings.TrimSpace(text), "\n")
		require.Greater(t, len(lines), 1, "there was progress")
		var last struct {
			Report map[string]any
			Error  string
		}
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
		assert.Empty(t, last.Error)
		assert.GreaterOrEqual(t, last.Report["objects"], 10.0)
	}
	after := db.Stats().Sub(before)
	assert.Zero(t, after.Puts+after.Deletes)
	for body, want := range map[string]int{
		`{"task":"drop"}`: 400, `{"task":"check","collection":"a//b"}`: 400, "x": 400,
	} {
		code, _, _ := send(t, guest, "POST", s.URL+"/api/work", body)
		assert.Equal(t, want, code, body)
	}
}
