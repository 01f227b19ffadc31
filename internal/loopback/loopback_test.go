package loopback_test

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/internal/loopback"
)

// policy allows scripts, styles and data of the page's own origin, and nothing else but images.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; " +
	"img-src 'self' blob: data:; connect-src 'self'; frame-ancestors 'none'; " +
	"base-uri 'none'; form-action 'self'"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(t *testing.T, client *http.Client, url string) (int, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	return do(t, client, r)
}

func do(t *testing.T, client *http.Client, r *http.Request) (int, http.Header) {
	t.Helper()
	response, err := client.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, response.Header
}

// visit is a request, and the code that is the answer to it.
type visit struct {
	name, path, host string
	client           *http.Client
	header           [2]string
	method           string
	want             int
}

func visits(stranger, guest *http.Client, port string) []visit {
	return []visit{
		{name: "without a token", path: "/", client: stranger, want: 401},
		{name: "data without a token", path: "/api/list", client: stranger, want: 401},
		{name: "a script without a token", path: "/console.js", client: stranger, want: 401},
		{name: "no such path without a token", path: "/nothing", client: stranger, want: 401},
		{name: "a wrong token", path: "/?token=TOKEM", client: stranger, want: 401},
		{name: "an empty token", path: "/?token=", client: stranger, want: 401},
		{name: "the token elsewhere", path: "/api/list?token=TOKEN", client: stranger, want: 401},
		{name: "a wrong cookie", path: "/", client: stranger,
			header: [2]string{"Cookie", "strictkv-" + port + "=TOKEM"}, want: 401},
		{name: "the cookie of another port", path: "/", client: stranger,
			header: [2]string{"Cookie", "strictkv-1=TOKEN"}, want: 401},
		{name: "the cookie", path: "/", client: guest, want: 200},
		{name: "no such path", path: "/nothing", client: guest, want: 404},
		{name: "localhost", path: "/?token=TOKEN", host: "localhost:" + port, client: guest,
			want: 303},
		{name: "the other protocol", path: "/?token=TOKEN", host: "[::1]:" + port, client: guest,
			want: 303},
		{name: "rebinding", path: "/?token=TOKEN", host: "evil.example:" + port, client: guest,
			want: 421},
		{name: "a name like an address", path: "/", host: "127.0.0.1.evil.example", client: guest,
			want: 421},
		{name: "a name like localhost", path: "/", host: "localhost.evil.example", client: guest,
			want: 421},
		{name: "another origin changes", path: "/api/change", client: guest, method: "POST",
			header: [2]string{"Origin", "http://evil.example"}, want: 403},
		{name: "another port changes", path: "/api/change", client: guest, method: "POST",
			header: [2]string{"Origin", "http://127.0.0.1:1"}, want: 403},
		{name: "another site works", path: "/api/work", client: guest, method: "POST",
			header: [2]string{"Sec-Fetch-Site", "same-site"}, want: 403},
	}
}

// TestDoor: who may come in, and with what every answer is sent.
func TestDoor(t *testing.T) {
	s := httptest.NewServer(loopback.Guard("TOKEN", http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				w.WriteHeader(http.StatusNotFound)
			}
		})))
	defer s.Close()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	stranger, guest := &http.Client{}, &http.Client{Jar: jar}
	code, _ := get(t, guest, loopback.URL(s.Listener.Addr().String(), "TOKEN"))
	require.Equal(t, http.StatusOK, code)
	_, port, _ := strings.Cut(s.Listener.Addr().String(), ":")
	for _, x := range visits(stranger, guest, port) {
		t.Run(x.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), x.method, s.URL+x.path, nil)
			require.NoError(t, err)
			if x.host != "" {
				r.Host = x.host
			}
			if x.header[0] != "" {
				r.Header.Set(x.header[0], x.header[1])
			}
			client := *x.client
			client.CheckRedirect = func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			}
			code, header := do(t, &client, r)
			assert.Equal(t, x.want, code)
			assert.Equal(t, policy, header.Get("Content-Security-Policy"))
			assert.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
			if code != http.StatusNotFound {
				assert.Equal(t, "no-store", header.Get("Cache-Control"))
			}
			assert.Equal(t, "same-origin", header.Get("Cross-Origin-Resource-Policy"))
			if cookie := header.Get("Set-Cookie"); code == http.StatusSeeOther {
				want := "strictkv-" + port + "=TOKEN; Path=/; HttpOnly; SameSite=Strict"
				assert.Equal(t, want, cookie)
				assert.Equal(t, "/", header.Get("Location"))
			} else {
				assert.Empty(t, cookie)
			}
		})
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()

	nobody := httptest.NewServer(loopback.Guard("", nil))
	defer nobody.Close()
	code, _ = get(t, stranger, nobody.URL+"/?token=")
	assert.Equal(t, http.StatusUnauthorized, code, "without a token nobody is let in")
	assert.NotEqual(t, loopback.Token(), loopback.Token())
}

// TestListen: nobody else can connect, unless that is meant.
func TestListen(t *testing.T) {
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"} {
		_, err := loopback.Listen(t.Context(), address, false)
		assert.ErrorIs(t, err, loopback.ErrRemote, address)
	}
	l, err := loopback.Listen(t.Context(), "0.0.0.0:0", true)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	l, err = loopback.Listen(t.Context(), "localhost:0", false)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	go func() {
		served <- loopback.Serve(ctx, l, http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				stop() // what is under way is ended
				<-r.Context().Done()
				w.WriteHeader(http.StatusTeapot)
			}))
	}()
	code, _ := get(t, &http.Client{}, "http://"+l.Addr().String())
	assert.Equal(t, http.StatusTeapot, code)
	require.NoError(t, <-served)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
