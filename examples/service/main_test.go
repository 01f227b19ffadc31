package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serviceEnv makes the test's process a process of the service; its value are the arguments.
const serviceEnv = "STRICTKV_SERVICE"

const password = "correct horse"

func TestMain(m *testing.M) {
	if args := os.Getenv(serviceEnv); args != "" {
		os.Args = append(os.Args[:1], strings.Split(args, "\n")...)
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type form struct{ Mail, Password string }

// process is one of the service.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
}

func start(t *testing.T, args ...string) *process {
	cmd := exec.Command(os.Args[0])
	args = append(args, "-listen", "localhost:0")
	cmd.Env, cmd.Stderr = append(os.Environ(), serviceEnv+"="+strings.Join(args, "\n")), os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, url, _ := strings.Cut(strings.TrimSpace(line), "listening on ")
	return &process{t, cmd, url}
}

func (p *process) stop() {
	require.NoError(p.t, p.cmd.Process.Signal(os.Interrupt))
	require.NoError(p.t, p.cmd.Wait())
}

func (p *process) kill() {
	require.NoError(p.t, p.cmd.Process.Kill())
	require.Error(p.t, p.cmd.Wait())
}

// do sends a request, and returns the status; what is answered goes into v.
func (p *process) do(method, path, token string, body, v any) int {
	b, err := json.Marshal(body)
	require.NoError(p.t, err)
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path,
		strings.NewReader(string(b)))
	require.NoError(p.t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if !assert.NoError(p.t, err) {
		return 0
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	assert.NoError(p.t, err)
	if resp.StatusCode == http.StatusOK && v != nil {
		assert.NoError(p.t, json.Unmarshal(text, v), "%s", text)
	}
	return resp.StatusCode
}

func (p *process) logIn(mail, password string) (token string, status int) {
	status = p.do("POST", "/sessions", "", form{mail, password}, &token)
	return token, status
}

// TestService drives two processes over HTTP: what one has been told, the other knows.
func TestService(t *testing.T) {
	dir := t.TempDir()
	one, two := start(t, "-dir", dir), start(t, "-dir", dir)
	var id string
	alice := form{"Alice@example.com", password}
	require.Equal(t, 200, one.do("POST", "/accounts", "", alice, &id))
	assert.Equal(t, 409, two.do("POST", "/accounts", "", alice, nil))
	assert.Equal(t, 400, two.do("POST", "/accounts", "", form{"bob", password}, nil))
	assert.Equal(t, 400, two.do("POST", "/accounts", "", form{"bob@example.com", "short"}, nil))
	assert.Equal(t, 400, two.do("POST", "/accounts", "", "nonsense", nil))
	long := form{strings.Repeat("x", 600) + "@example.com", password}
	assert.Equal(t, 400, two.do("POST", "/accounts", "", long, nil))

	_, status := two.logIn("alice@example.com", "wrong word")
	assert.Equal(t, 401, status)
	_, status = two.logIn("nobody@example.com", password)
	assert.Equal(t, 401, status)
	token, status := two.logIn("alice@example.com", password)
	require.Equal(t, 200, status)
	me := welcomed(t, one, token)
	assert.Equal(t, profile{id, "alice@example.com", []string{"Welcome, alice@example.com"}}, me)
	assert.Equal(t, 401, one.do("GET", "/me", "", nil, nil))
	assert.Equal(t, 401, one.do("GET", "/me", "guessed", nil, nil))

	require.Equal(t, 200, two.do("DELETE", "/sessions", token, nil, nil))
	assert.Equal(t, 401, one.do("GET", "/me", token, nil, nil))
	one.stop()
	two.stop()
}

// welcomed waits until an account has a message, which a job leaves.
func welcomed(t *testing.T, p *process, token string) (me profile) {
	require.Eventually(t, func() bool {
		return p.do("GET", "/me", token, nil, &me) == 200 && len(me.Messages) > 0
	}, time.Minute, 20*time.Millisecond, "the job is done")
	return me
}

// TestSessionsExpire whichever process is asked.
func TestSessionsExpire(t *testing.T) {
	dir := t.TempDir()
	one, two := start(t, "-dir", dir, "-session", "1s"), start(t, "-dir", dir)
	require.Equal(t, 200, one.do("POST", "/accounts", "", form{"a@b", password}, nil))
	began := time.Now()
	token, status := one.logIn("a@b", password)
	require.Equal(t, 200, status)
	require.Eventually(t, func() bool { return two.do("GET", "/me", token, nil, nil) == 401 },
		time.Minute, 10*time.Millisecond)
	assert.GreaterOrEqual(t, time.Since(began), time.Second)
	one.stop()
	two.stop()
}

// TestOneAddress: of many who want it at once, in both processes, one gets it. A process that is
// killed takes nothing along: the other answers, and does its jobs.
func TestOneAddress(t *testing.T) {
	dir := t.TempDir()
	one, two := start(t, "-dir", dir), start(t, "-dir", dir)
	var mu sync.Mutex // guards statuses
	statuses := map[int]int{}
	var clients sync.WaitGroup
	for i := range 10 {
		p := []*process{one, two}[i%2]
		clients.Go(func() {
			status := p.do("POST", "/accounts", "", form{"a@b", fmt.Sprint(password, i)}, nil)
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	clients.Wait()
	assert.Equal(t, map[int]int{200: 1, 409: 9}, statuses)
	one.kill()
	require.Equal(t, 200, two.do("POST", "/accounts", "", form{"c@d", password}, nil))
	token, status := two.logIn("c@d", password)
	require.Equal(t, 200, status)
	welcomed(t, two, token)
	two.stop()
}
