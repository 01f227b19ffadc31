// Package redistest runs a server for tests, and talks to it as a client would.
package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/redis"
)

// Server is a server of a database in memory.
type Server struct {
	*redis.Server
	DB   *strictkv.DB
	Addr string
}

// Open runs a server until the test ends.
func Open(t testing.TB, o redis.Options) *Server {
	t.Helper()
	db, err := strictkv.Open(t.Context(), "test", memory.New())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close(context.WithoutCancel(t.Context()))) })
	return Serve(t, db, o)
}

// Serve runs a server of a database until the test ends.
func Serve(t testing.TB, db *strictkv.DB, o redis.Options) *Server {
	t.Helper()
	s, err := redis.NewServer(db, o)
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		assert.NoError(t, s.Shutdown(ctx))
		assert.ErrorIs(t, <-served, redis.ErrServerClosed)
	})
	return &Server{s, db, ln.Addr().String()}
}

// Client is one connection.
type Client struct {
	t       testing.TB
	nc      net.Conn
	r       *Replies
	version int // of the protocol, if it was chosen
}

// Dial connects to the server.
func (s *Server) Dial(t testing.TB) *Client {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = nc.Close() })
	return &Client{t: t, nc: nc, r: NewReplies(nc)}
}

// Send sends commands, each a line of words, without waiting for replies.
func (c *Client) Send(lines ...string) {
	c.t.Helper()
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	_, err := c.nc.Write([]byte(b.String()))
	require.NoError(c.t, err)
}

// SendArgs sends one command.
func (c *Client) SendArgs(args ...string) {
	c.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	_, err := c.nc.Write([]byte(b.String()))
	require.NoError(c.t, err)
}

// Receive returns the next reply as one line: 'text' of a bulk string, text of a status, -text of
// an error, digits, nil, [a b] of an array, {a:b} of a map, <a b> of a set.
func (c *Client) Receive() string {
	c.t.Helper()
	require.NoError(c.t, c.nc.SetReadDeadline(time.Now().Add(time.Minute)))
	s, err := c.r.Next()
	require.NoError(c.t, err)
	return s
}

// Do sends a command as a line of words, and returns its reply as Receive does; sorted if it is one
// without an order.
func (c *Client) Do(line string) string {
	c.t.Helper()
	c.Send(line)
	return ordered(line, c.Receive())
}

// Expect runs commands one by one, and compares what each replies: pairs of a line and its reply.
func (c *Client) Expect(pairs ...string) {
	c.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		assert.Equal(c.t, pairs[i+1], c.Do(pairs[i]), "%s", pairs[i])
	}
}
