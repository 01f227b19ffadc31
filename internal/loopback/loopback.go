// Package loopback serves pages to a browser on the same machine, of one person: who has the
// token that a URL brings. The pages run scripts of their own alone.
package loopback

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

const (
	closeMax = 5 * time.Second
	policy   = "default-src 'none'; script-src 'self'; style-src 'self'; " +
		"img-src 'self' blob: data:; connect-src 'self'; frame-ancestors 'none'; " +
		"base-uri 'none'; form-action 'self'"
)

// Token makes a random one, of 130 bits.
func Token() string { return rand.Text() }

// URL is the one that lets a browser in that opens it.
func URL(address, token string) string {
	return "http://" + address + "/?" + url.Values{"token": {token}}.Encode()
}

// Guard lets those through to h who have the token: in a cookie, which it gives to who opens URL.
// Without a token, nobody has it. It refuses what was sent to a name other than localhost, as by
// DNS rebinding, and a change that the page of another origin asks for.
func Guard(token string, h http.Handler) http.Handler {
	return &guard{token, h, http.NewCrossOriginProtection()}
}

type guard struct {
	token   string
	h       http.Handler
	origins *http.CrossOriginProtection
}

// ServeHTTP answers those who may ask.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		w.Header().Set(name, value)
	}
	host := url.URL{Host: r.Host}
	_, err := netip.ParseAddr(host.Hostname())
	// Cookies know no ports: each server of a machine has one of another name.
	cookie := "strictkv-" + host.Port()
	switch {
	case err != nil && host.Hostname() != "localhost":
		http.Error(w, "Use an address, or localhost.", http.StatusMisdirectedRequest)
	case g.origins.Check(r) != nil:
		http.Error(w, "Another page has asked for this.", http.StatusForbidden)
	case r.URL.Path == "/" && g.lets(r.URL.Query().Get("token")):
		http.SetCookie(w, &http.Cookie{
			Name: cookie, Value: g.token, Path: "/", HttpOnly: true,
			SameSite: http.SameSiteStrictMode,
		})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	default:
		if got, err := r.Cookie(cookie); err != nil || !g.lets(got.Value) {
			http.Error(w, "Open the URL that was printed.", http.StatusUnauthorized)
			return
		}
		g.h.ServeHTTP(w, r)
	}
}

// lets reports whether the token is the right one.
func (g *guard) lets(token string) bool {
	return g.token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) == 1
}

// ErrRemote is that others than this machine could connect.
var ErrRemote = errors.New("an address that others can reach")

// Listen listens for connections from this machine; for others only if they are allowed.
func Listen(ctx context.Context, address string, remote bool) (net.Listener, error) {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if !addr.IP.IsLoopback() && !remote {
		return nil, fmt.Errorf("%s: %w", address, ErrRemote)
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", addr.String())
}

// Serve serves until the context ends, and then for a moment, for what is under way.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler: h, BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: 5 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeMax)
		defer cancel()
		err := s.Shutdown(ctx)
		if err != nil {
			err = s.Close()
		}
		closed <- err
	})
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-closed
}
