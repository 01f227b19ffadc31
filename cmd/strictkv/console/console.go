// Package console is a page on which people look at a database with a browser: docs/console.md.
// Whatever somebody has written into the database, the page shows as text: scripts fetch keys and
// values as data, and make text nodes of them.
package console

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/activity"
	"github.com/strictkv/strictkv/internal/keytext"
)

const (
	answerMax = 30 * time.Second // how long what a request asks for may take, but for work
	bodyMax   = 2 << 20          // bytes of what is sent
	policy    = "default-src 'none'; script-src 'self'; style-src 'self'; " +
		"img-src 'self' blob: data:; connect-src 'self'; frame-ancestors 'none'; " +
		"base-uri 'none'; form-action 'self'"
)

var (
	//go:embed page
	embedded embed.FS

	errRequest = errors.New("not understood")
	errBusy    = errors.New("another check or sweep is under way: wait for its end, or cancel it")
)

// Options say whom a console serves, and what it may do.
type Options struct {
	// Name is what the page calls the database.
	Name string
	// Token is what lets a browser in. Without one, nobody is.
	Token string
	// Write has the console put and delete keys. The handle must allow it too.
	Write bool
	// Monitor is what the handle is observed by, for the charts; nil: there are none.
	Monitor *activity.Monitor
}

// Token makes a random one, of 130 bits.
func Token() string { return rand.Text() }

// URL is the one that lets a browser in that opens it.
func URL(address, token string) string {
	return "http://" + address + "/?" + url.Values{"token": {token}}.Encode()
}

type console struct {
	db      *strictkv.DB
	options Options
	mux     *http.ServeMux
	origins *http.CrossOriginProtection
	work    sync.Mutex // held while a check or a sweep is under way
}

// New returns what serves the console of a database. It asks each request for the token, in a
// cookie which it gives to who opens URL; it takes none that was sent to a name other than
// localhost, as by DNS rebinding, and no change that the page of another origin asks for.
func New(db *strictkv.DB, o Options) http.Handler {
	c := &console{
		db: db, options: o, mux: http.NewServeMux(), origins: http.NewCrossOriginProtection(),
	}
	files, err := fs.Sub(embedded, "page")
	if err != nil {
		panic(err) // the folder is in the binary
	}
	c.mux.Handle("GET /", http.FileServerFS(files))
	c.mux.Handle("GET /api/list", answer(c.list))
	c.mux.Handle("GET /api/key", answer(c.key))
	c.mux.Handle("GET /api/activity", answer(c.activity))
	c.mux.HandleFunc("GET /api/value", c.value)
	c.mux.Handle("POST /api/change", answer(c.change))
	c.mux.HandleFunc("POST /api/work", c.run)
	return c
}

// ServeHTTP answers those who may ask.
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		w.Header().Set(name, value)
	}
	r.Body = http.MaxBytesReader(w, r.Body, bodyMax)
	host := url.URL{Host: r.Host}
	_, err := netip.ParseAddr(host.Hostname())
	// Cookies know no ports: each console of a machine has one of another name.
	cookie := "strictkv-console-" + host.Port()
	switch {
	case err != nil && host.Hostname() != "localhost":
		http.Error(w, "The console is at an address, not a name.", http.StatusMisdirectedRequest)
	case c.origins.Check(r) != nil:
		http.Error(w, "This was asked for by another page.", http.StatusForbidden)
	case r.URL.Path == "/" && c.lets(r.URL.Query().Get("token")):
		http.SetCookie(w, &http.Cookie{
			Name: cookie, Value: c.options.Token, Path: "/", HttpOnly: true,
			SameSite: http.SameSiteStrictMode,
		})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	default:
		if got, err := r.Cookie(cookie); err != nil || !c.lets(got.Value) {
			http.Error(w, "Open the URL that the command has printed.", http.StatusUnauthorized)
			return
		}
		c.mux.ServeHTTP(w, r)
	}
}

// lets reports whether the token is the right one.
func (c *console) lets(token string) bool {
	want := c.options.Token
	return want != "" && subtle.ConstantTimeCompare([]byte(token), []byte(want)) == 1
}

// answer answers with what a function returns, as JSON.
func answer(f func(context.Context, *http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerMax)
		defer cancel()
		v, err := f(ctx, r)
		var text []byte
		if err == nil {
			text, err = keytext.JSON(v)
		}
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // who has gone gets nothing
	})
}

// codes are those of errors that are not the console's fault.
var codes = []struct {
	error
	code int
}{
	{errRequest, http.StatusBadRequest}, {keytext.ErrSyntax, http.StatusBadRequest},
	{strictkv.ErrInvalid, http.StatusBadRequest}, {strictkv.ErrInvalidKey, http.StatusBadRequest},
	{strictkv.ErrReadOnly, http.StatusForbidden}, {strictkv.ErrNotFound, http.StatusNotFound},
	{strictkv.ErrExists, http.StatusConflict}, {strictkv.ErrVersion, http.StatusConflict},
	{errBusy, http.StatusConflict}, {strictkv.ErrUnavailable, http.StatusServiceUnavailable},
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	for _, x := range codes {
		if errors.Is(err, x.error) {
			code = x.code
			break
		}
	}
	text, _ := keytext.JSON(map[string]string{"error": err.Error()})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

// activity tells what charts show.
func (c *console) activity(context.Context, *http.Request) (any, error) {
	out := map[string]any{
		"database": c.options.Name, "write": c.options.Write, "stats": keytext.Fields(c.db.Stats()),
	}
	if m := c.options.Monitor; m != nil {
		out["seconds"], out["keys"] = m.Charts(time.Now())
	}
	return out, nil
}

// asked is what a request has sent, if it asks for more than to see something.
type asked struct {
	Collection, Key, Version, Task string
	Value                          []byte // nil deletes the key
}

func read(r *http.Request) (q asked, err error) {
	if err = json.NewDecoder(r.Body).Decode(&q); err != nil {
		err = fmt.Errorf("%w: %w", errRequest, err)
	}
	return q, err
}
