package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestConsole: whoever opens the URL that is printed sees the database, and changes it only if the
// call says so; an interrupt ends the command as it should.
func TestConsole(t *testing.T) {
	at := []string{"--bucket", "mem://console", "--db", "db"}
	code, _, errs := call(t.Context(), nil, false,
		append(at, "put", "users", "alice", "42", "--create")...)
	require.Zero(t, code, errs)
	for flag, want := range map[string]int{
		"--write": http.StatusOK, "--write=false": http.StatusForbidden,
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		r, w := io.Pipe()
		a := &app{out: &output{bufio.NewWriter(w), false}, err: io.Discard}
		ended := make(chan int)
		go func() { ended <- a.run(ctx, append(at, "console", flag)) }()
		line, err := bufio.NewReader(r).ReadString('\n')
		require.NoError(t, err)
		url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
		require.True(t, ok, line)
		home, token, _ := strings.Cut(url, "/?")

		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		guest := &http.Client{Jar: jar}
		ask := func(method, path, body string) (int, string) {
			q, err := http.NewRequestWithContext(ctx, method,
				home+path, strings.NewReader(body))
			require.NoError(t, err)
			answer, err := guest.Do(q)
			require.NoError(t, err)
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			return answer.StatusCode, string(text)
		}
		_, page := ask("GET", "/?"+token, "")
		assert.Contains(t, page, "<title>StrictKV console</title>")
		_, listed := ask("GET", "/api/list?collection=users", "")
		assert.Contains(t, listed, `"keys":["alice"`)
		got, text := ask("POST", "/api/change",
			`{"collection":"users","key":"bob`+flag+`","value":""}`)
		assert.Equal(t, want, got, text)
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		interrupt()
		assert.Zero(t, <-ended)
	}
	for _, args := range [][]string{{"--listen", "0.0.0.0:0"}, {"--listen", ":0"}} {
		code, _, errs := call(t.Context(), nil, false, append(append(at, "console"), args...)...)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, errs, "use --remote if that is meant")
	}
}
