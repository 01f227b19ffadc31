package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRedis: a client of Redis reads and writes the database, if it has the password; an interrupt
// ends the command as it should.
func TestRedis(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(users, []byte("# who may\n\nann:secret:with colon\n"), 0o600))
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	r, w := io.Pipe()
	a := &app{out: &output{bufio.NewWriter(w), false}, err: io.Discard}
	ended := make(chan int)
	go func() {
		ended <- a.run(ctx, []string{"--bucket", "mem://redis", "--db", "db", "redis", "--create",
			"--listen", "127.0.0.1:0", "--users", users})
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	require.True(t, ok, line)

	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	_, err = fmt.Fprint(c, "GET a\r\nAUTH ann \"secret:with colon\"\r\nINCR a\r\n")
	require.NoError(t, err)
	replies := bufio.NewReader(c)
	for _, want := range []string{"-NOAUTH Authentication required.", "+OK", ":1"} {
		line, err := replies.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, want+"\r\n", line)
	}
	interrupt()
	assert.Zero(t, <-ended)
	_, err = replies.ReadString('\n')
	assert.Equal(t, io.EOF, err)
}

// TestRedisRefused: what is wrong with the call is said before anybody can connect.
func TestRedisRefused(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(bad, []byte("ann\n"), 0o600))
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", "0.0.0.0:0"}, "nobody has a password"},
		{[]string{"--users", bad}, "line 1: want name:password"},
		{[]string{"--users", bad + "none"}, "no such file"},
		{[]string{"--tls-cert", bad}, "--tls-cert, --tls-key"},
		{[]string{"--clients", "-1"}, "ClientsMax is -1"},
	} {
		args := append([]string{"--bucket", "mem://redis", "--db", "db", "redis", "--create"},
			x.args...)
		code, out, errs := call(t.Context(), nil, false, args...)
		assert.Equal(t, exitUsage, code, "%v", x.args)
		assert.Contains(t, errs, x.want)
		assert.Empty(t, out)
	}
}

func TestGarbageMax(t *testing.T) {
	for _, c := range []struct {
		used uint64
		want int
	}{
		{0, 400},
		{12 << 20, 400},
		{24 << 20, 200},
		{48 << 20, 100},
		{96 << 20, 50},
		{1 << 50, 50},
	} {
		assert.Equal(t, c.want, garbageMax(c.used), "%d bytes in use", c.used)
	}
}

func TestGarbageIsCollectedRarely(t *testing.T) {
	const mine = 77
	defer debug.SetGCPercent(debug.SetGCPercent(mine))
	stop := collectRarely()
	current := func() int {
		percent := debug.SetGCPercent(garbagePercent)
		debug.SetGCPercent(percent)
		return percent
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		return current() > garbagePercent
	}, time.Minute, garbageEvery, "little is in use, so much may be garbage")
	stop()
	assert.Equal(t, mine, current(), "it is as it was before")
}
