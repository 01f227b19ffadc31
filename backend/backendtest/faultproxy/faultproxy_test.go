package faultproxy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend/backendtest/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seen is a request as the store saw it.
type seen struct {
	line, host, body string
	header           http.Header
}

// store numbers its answers, and notes what it sees.
type store struct {
	mu   sync.Mutex // guards seen
	seen []seen
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, seen{r.Method + " " + r.RequestURI, r.Host, string(body), r.Header})
	w.Header()["Content-Type"] = nil
	w.Header().Set("Etag", fmt.Sprintf("%q", fmt.Sprint(len(s.seen))))
	switch r.Header.Get("Want") {
	case "not modified":
		w.WriteHeader(http.StatusNotModified)
	case "nothing":
		w.WriteHeader(http.StatusNoContent)
	default:
		fmt.Fprintf(w, "answer %d", len(s.seen))
	}
}

func (s *store) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.seen...)
}

// client sends each request on a connection of its own: on one that was in use the
// transport would send some requests again.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func start(t *testing.T, o faultproxy.Options) (*faultproxy.Proxy, *store) {
	s := &store{}
	return startBefore(t, s, o), s
}

func startBefore(t *testing.T, h http.Handler, o faultproxy.Options) *faultproxy.Proxy {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	require.NoError(t, err)
	p := faultproxy.New(target, o)
	t.Cleanup(p.Close)
	return p
}

func request(t *testing.T, method, url, body string) *http.Request {
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	return r
}

// do sends a request, and returns the answer with what was read of its body.
func do(t *testing.T, method, url, body string) (*http.Response, string, error) {
	resp, err := client.Do(request(t, method, url, body))
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, string(data), err
}

func TestFaults(t *testing.T) {
	const sent = "request"
	damaged := func(s string) string {
		b := []byte(s)
		b[len(b)/2] ^= 1
		return string(b)
	}
	header := http.Header{"Content-Type": {"application/xml"}}
	for _, x := range []struct {
		name  string
		fault faultproxy.Fault
		// want is the answer, with its status; or else what the error is.
		status int
		want   string
		err    error
		// stored is what the store sees, once for each request.
		stored []string
	}{
		{"none", faultproxy.Fault{}, 200, "answer 1", nil, []string{sent}},
		{"delay", faultproxy.Fault{Delay: 1}, 200, "answer 1", nil, []string{sent}},
		{"reset before", faultproxy.Fault{ResetBefore: true}, 0, "", syscall.ECONNRESET, nil},
		{"reset after", faultproxy.Fault{ResetAfter: true}, 0, "", syscall.ECONNRESET,
			[]string{sent}},
		{"outage", faultproxy.Fault{Outage: 1}, 0, "", syscall.ECONNRESET, nil},
		{"status 409", faultproxy.Fault{Status: 409, Header: header, Body: "<Conflict/>"},
			409, "<Conflict/>", nil, nil},
		{"status 503", faultproxy.Fault{Status: 503, RetryAfter: time.Millisecond},
			503, "", nil, nil},
		{"landed status 500", faultproxy.Fault{Status: 500, Landed: true}, 500, "", nil,
			[]string{sent}},
		{"duplicate", faultproxy.Fault{Duplicate: true}, 200, "answer 2", nil,
			[]string{sent, sent}},
		{"duplicate", faultproxy.Fault{Duplicate: true, FirstAnswer: true}, 200, "answer 1", nil,
			[]string{sent, sent}},
		{"truncate", faultproxy.Fault{Truncate: true}, 200, "answ", io.ErrUnexpectedEOF,
			[]string{sent}},
		{"corrupt", faultproxy.Fault{Corrupt: true}, 200, damaged("answer 1"), nil, []string{sent}},
		{"corrupt request", faultproxy.Fault{CorruptRequest: true}, 200, "answer 1", nil,
			[]string{damaged(sent)}},
	} {
		t.Run(x.name, func(t *testing.T) {
			p, s := start(t, faultproxy.Options{})
			p.Inject(nil, x.fault)
			resp, body, err := do(t, http.MethodPut, p.URL()+"/object", sent)
			require.ErrorIs(t, err, x.err)
			assert.Equal(t, x.want, body)
			if x.status != 0 {
				require.NotNil(t, resp)
				assert.Equal(t, x.status, resp.StatusCode)
				assert.Equal(t, x.fault.Header["Content-Type"], resp.Header["Content-Type"])
			}
			if x.fault.RetryAfter > 0 {
				assert.Equal(t, "1", resp.Header.Get("Retry-After"), "rounded up")
			}
			var stored []string
			for _, r := range s.requests() {
				stored = append(stored, r.body)
			}
			assert.Equal(t, x.stored, stored)
			want := map[string]int{"requests": 1, x.name: 1}
			if x.name == "none" {
				delete(want, x.name)
			}
			assert.Equal(t, want, p.Counts())
		})
	}
}

// TestLate: a request lands long after its client has seen it fail.
func TestLate(t *testing.T) {
	p, s := start(t, faultproxy.Options{})
	p.Inject(nil, faultproxy.Fault{Late: 20 * time.Millisecond})
	_, _, err := do(t, http.MethodPut, p.URL()+"/object", "late")
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.Eventually(t, func() bool { return len(s.requests()) == 1 },
		10*time.Second, time.Millisecond)
	assert.Equal(t, "late", s.requests()[0].body)
}

// TestGone: a delayed request reaches the store although its client has gone.
func TestGone(t *testing.T) {
	p, s := start(t, faultproxy.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	p.Inject(nil, faultproxy.Fault{Received: cancel, Delay: 100 * time.Millisecond})
	_, err := client.Do(request(t, http.MethodPut, p.URL()+"/object", "gone").WithContext(ctx))
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool { return len(s.requests()) == 1 },
		10*time.Second, time.Millisecond)
}

func TestUnchanged(t *testing.T) {
	p, s := start(t, faultproxy.Options{})
	for _, target := range []string{
		"/", "/b/o", "/b//o/", "/b/a%2Fb%2fc", "/b/%41%7e", "/b/a+b%20c", "/b/%E2%82%AC/%FF",
		"/b/.%2E/x/%2e", "/b/o?", "/b/o?list-type=2&prefix=a%2Fb", "/b/o?x=%zz;y=1&&", "/b/a:b@c!$",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL(), "http://"))
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: bucket.example:9\r\n"+
			"Authorization: AWS4 x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody", target)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, conn)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		all := s.requests()
		require.NotEmpty(t, all, target)
		assert.Equal(t, seen{"PUT " + target, "bucket.example:9", "body", http.Header{
			"Authorization": {"AWS4 x"}, "Content-Length": {"4"},
		}}, all[len(all)-1], target)
	}
}

// TestNoBody: answers that have none keep their heads, also with faults.
func TestNoBody(t *testing.T) {
	p, _ := start(t, faultproxy.Options{})
	for _, f := range []faultproxy.Fault{{}, {Delay: 1}, {Corrupt: true}, {Truncate: true}} {
		for want, status := range map[string]int{"not modified": 304, "nothing": 204, "": 200} {
			p.Inject(nil, f)
			r := request(t, http.MethodGet, p.URL(), "")
			if want == "" {
				r.Method = http.MethodHead
			}
			r.Header.Set("Want", want)
			resp, err := client.Do(r)
			if f.Truncate {
				require.ErrorIs(t, err, syscall.ECONNRESET)
				continue
			}
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			assert.Equal(t, status, resp.StatusCode)
			assert.NotEmpty(t, resp.Header.Get("Etag"))
		}
	}
}

// TestStreams: a request and an answer that no fault befalls are passed on as they
// come, not as a whole.
func TestStreams(t *testing.T) {
	half := strings.Repeat("x", 1<<20)
	came := make(chan bool)
	p := startBefore(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, len(half))
		_, err := io.ReadFull(r.Body, b)
		came <- err == nil
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, half)
		came <- true
		_, _ = io.WriteString(w, half)
	}), faultproxy.Options{})
	in, out := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, p.URL(), in)
	require.NoError(t, err)
	go func() {
		_, _ = io.WriteString(out, half)
		if <-came { // The store has the first half of the request.
			_, _ = io.WriteString(out, half)
		}
		_ = out.Close()
	}()
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	first := make([]byte, len(half)/2)
	_, err = io.ReadFull(resp.Body, first)
	require.NoError(t, err)
	<-came // Only now the store goes on.
	rest, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Len(t, rest, 2*len(half)-len(first))
}

func TestInject(t *testing.T) {
	p, _ := start(t, faultproxy.Options{})
	puts := func(r *http.Request) bool { return r.Method == http.MethodPut }
	p.Inject(puts, faultproxy.Fault{Status: 501})
	p.Inject(puts, faultproxy.Fault{Status: 502})
	p.Inject(nil, faultproxy.Fault{Status: 503})
	for _, x := range []struct {
		method  string
		status  int
		pending int
	}{
		{http.MethodPut, 501, 2}, {http.MethodGet, 503, 1}, {http.MethodGet, 200, 1},
		{http.MethodPut, 502, 0}, {http.MethodPut, 200, 0},
	} {
		resp, _, err := do(t, x.method, p.URL(), "")
		require.NoError(t, err)
		assert.Equal(t, x.status, resp.StatusCode)
		assert.Equal(t, x.pending, p.Pending())
	}
}

func TestOutage(t *testing.T) {
	p, s := start(t, faultproxy.Options{})
	get := func() error {
		_, _, err := do(t, http.MethodGet, p.URL(), "")
		return err
	}
	p.Inject(nil, faultproxy.Fault{Outage: time.Hour})
	for range 3 {
		require.ErrorIs(t, get(), syscall.ECONNRESET)
	}
	assert.Empty(t, s.requests())
	assert.Equal(t, map[string]int{"requests": 3, "outage": 3}, p.Counts())
	p.Outage(0)
	require.NoError(t, get())
	p.Outage(30 * time.Millisecond)
	require.Eventually(t, func() bool { return get() == nil }, 10*time.Second, time.Millisecond)
}

// TestChances: a seed gives each request its fault, whatever else may befall others.
func TestChances(t *testing.T) {
	faults := func(seed uint64) (statuses []int, counts map[string]int) {
		deletes := func(r *http.Request) bool { return r.Method == http.MethodDelete }
		p, _ := start(t, faultproxy.Options{Seed: seed, Chances: []faultproxy.Chance{
			{Probability: 0.3, Fault: faultproxy.Fault{Status: 429}},
			{Probability: 0.7, Match: deletes, Fault: faultproxy.Fault{Status: 500}},
			{Probability: 0.2, Fault: faultproxy.Fault{Status: 503}},
		}})
		for range 200 {
			resp, _, err := do(t, http.MethodGet, p.URL(), "")
			require.NoError(t, err)
			statuses = append(statuses, resp.StatusCode)
		}
		resp, _, err := do(t, http.MethodDelete, p.URL(), "")
		require.NoError(t, err)
		assert.Contains(t, []int{429, 500}, resp.StatusCode)
		p.SetChances()
		resp, _, err = do(t, http.MethodDelete, p.URL(), "")
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode, "all is calm")
		return statuses, p.Counts()
	}
	first, counts := faults(1)
	assert.Equal(t, 202, counts["requests"])
	assert.InDelta(t, 60, counts["status 429"], 25)
	assert.InDelta(t, 40, counts["status 503"], 25)
	again, _ := faults(1)
	assert.Equal(t, first, again)
	other, _ := faults(2)
	assert.NotEqual(t, first, other)
}

// TestMix: all the requests of a mix have a fault, and each fault its turn.
func TestMix(t *testing.T) {
	p, _ := start(t, faultproxy.Options{Seed: 1, Chances: faultproxy.Mix(1)})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 10 {
				_, _, _ = do(t, http.MethodPut, p.URL(), "x")
			}
		})
	}
	wg.Wait()
	counts := p.Counts()
	total := 0
	for name, n := range maps.All(counts) {
		assert.Positive(t, n, name)
		if name != "requests" {
			total += n
		}
	}
	assert.Equal(t, counts["requests"], total)
	assert.Len(t, counts, 13, "%v", counts)
}

// TestClose ends requests that would take hours, and a client that sends no more.
func TestClose(t *testing.T) {
	in := make(chan bool)
	p := startBefore(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // Only then the server watches the connection.
		in <- true
		<-r.Context().Done()
	}), faultproxy.Options{})
	hour := faultproxy.Fault{Delay: time.Hour}
	failed := make(chan error, 4)
	for _, f := range []faultproxy.Fault{hour, {Late: time.Hour}, {}, hour} {
		p.Inject(nil, f)
	}
	send := func(body io.Reader) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, p.URL(), body)
		if err == nil {
			_, err = client.Do(r)
		}
		failed <- err
	}
	for range 3 {
		go send(bytes.NewReader([]byte("x")))
	}
	<-in
	require.Eventually(t, func() bool { return p.Pending() == 1 }, 10*time.Second, time.Millisecond)
	endless, out := io.Pipe()
	go send(endless)
	require.Eventually(t, func() bool { return p.Pending() == 0 }, 10*time.Second, time.Millisecond)
	p.Close()
	require.NoError(t, out.Close())
	for range 4 {
		require.Error(t, <-failed)
	}
	_, _, err := do(t, http.MethodGet, p.URL(), "")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestTargetPath(t *testing.T) {
	s := &store{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL + "/account%2F1")
	require.NoError(t, err)
	p := faultproxy.New(target, faultproxy.Options{})
	t.Cleanup(p.Close)
	_, _, err = do(t, http.MethodGet, p.URL()+"/container", "")
	require.NoError(t, err)
	assert.Equal(t, "GET /account%2F1/container", s.requests()[0].line)
}

// TestNoStore: a store that is out of reach is no answer.
func TestNoStore(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	p := faultproxy.New(&url.URL{Scheme: "http", Host: listener.Addr().String()},
		faultproxy.Options{})
	t.Cleanup(p.Close)
	for _, f := range []faultproxy.Fault{{}, {Delay: 1}, {Duplicate: true, FirstAnswer: true}} {
		p.Inject(nil, f)
		_, _, err := do(t, http.MethodPut, p.URL(), "x")
		require.ErrorIs(t, err, syscall.ECONNRESET)
	}
}
