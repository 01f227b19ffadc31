package s3test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	versitygwEnv = "STRICTKV_VERSITYGW"
	motoEnv      = "STRICTKV_MOTO"
	// serversEnv, if it is "required", makes a missing server a failure.
	serversEnv = "STRICTKV_SERVERS"

	startMax = 30 * time.Second
)

// VersityGW starts versitygw over a folder. STRICTKV_VERSITYGW is the path of the
// executable; without it, the test is skipped.
func VersityGW(t testing.TB) *Server {
	t.Helper()
	path := executable(t, versitygwEnv,
		"go install github.com/versity/versitygw/cmd/versitygw@v1.8.0")
	address := freeAddress(t)
	// With O_TMPFILE, listings may show the files of writes that are under way.
	return start(t, address, exec.Command(path, "--quiet", "--keep-alive", "--port", address,
		"--access", access, "--secret", secret, "--region", region,
		"posix", "--disableotmp", t.TempDir()))
}

// Moto starts moto. STRICTKV_MOTO is the path of the executable moto_server;
// without it, the test is skipped.
func Moto(t testing.TB) *Server {
	t.Helper()
	path := executable(t, motoEnv, "pip install 'moto[s3,server]==5.2.5'")
	address := freeAddress(t)
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return inTurn(t, start(t, address, exec.Command(path, "-H", host, "-p", port)))
}

// inTurn lets a server have one request at a time: moto compares the versions of a
// condition and writes in two steps.
func inTurn(t testing.TB, s *Server) *Server {
	t.Helper()
	target, err := url.Parse(s.url)
	require.NoError(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out = r.Out.WithContext(context.WithoutCancel(r.Out.Context()))
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler) // The client shall not take it for an answer.
		},
	}
	var turn sync.Mutex // held while moto has a request
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil { // The client has broken off: moto gets no whole request.
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		turn.Lock()
		defer turn.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return &Server{front.URL}
}

// executable is the path of a server's executable, which a variable tells.
func executable(t testing.TB, env, got string) string {
	t.Helper()
	path := os.Getenv(env)
	if path == "" && os.Getenv(serversEnv) == "required" {
		t.Fatalf("no server: set %s to the path of its executable, got by %s", env, got)
	}
	if path == "" {
		t.Skipf("no server: set %s to run it, got by %s", env, got)
	}
	return path
}

// freeAddress is one where nobody listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// output keeps what a server says, for the case that it does not start.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer // mu protects text
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs a server, and waits until it answers.
func start(t testing.TB, address string, cmd *exec.Cmd) *Server {
	t.Helper()
	said := new(output)
	cmd.Stdout, cmd.Stderr = said, said
	require.NoError(t, cmd.Start(), "start %s", cmd.Path)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // It is killed.
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	base := "http://" + address
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{Transport: transport, Timeout: time.Second}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		select {
		case <-ended:
			require.Fail(t, "the server has ended", "%s: %s", cmd.Path, said)
		default:
		}
		resp, err := client.Get(base)
		if err == nil {
			require.NoError(t, resp.Body.Close())
			return &Server{base}
		}
		require.Less(t, time.Since(began), startMax, "%s does not answer: %v: %s",
			cmd.Path, err, said)
	}
}
