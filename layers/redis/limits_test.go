package redis_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

// closed wants the server to have closed a connection, after what it has replied.
func closed(t *testing.T, c net.Conn, want string) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	got, err := io.ReadAll(c)
	if err != nil {
		assert.ErrorContains(t, err, "reset")
	}
	assert.Equal(t, want, string(got))
}

func dial(t *testing.T, s *redistest.Server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestUsers(t *testing.T) {
	s := redistest.Open(t, redis.Options{
		Users: map[string]string{"default": "secret", "ann": "other"},
	})
	c := s.Dial(t)
	const (
		noAuth = "-NOAUTH Authentication required."
		wrong  = "-WRONGPASS invalid username-password pair or user is disabled."
	)
	c.Expect(
		"PING", noAuth, "GET a", noAuth, "MULTI", noAuth, "AUTH", "-ERR wrong number of arguments "+
			"for 'auth' command",
		"AUTH other", wrong, "AUTH ann secret", wrong, "AUTH none secret", wrong, "AUTH a b c",
		"-ERR syntax error", "GET a", noAuth, "AUTH secret", "OK", "GET a", "nil",
		"RESET", "RESET", "GET a", noAuth, "AUTH ann other", "OK", "GET a", "nil",
	)
	c = s.Dial(t)
	assert.Contains(t, c.Do("HELLO 3"), "-NOAUTH HELLO must be called")
	assert.Contains(t, c.Do("HELLO 3 AUTH ann wrong"), "-WRONGPASS")
	assert.Contains(t, c.Do("HELLO 3 AUTH ann other SETNAME me"), "'proto':3")
	c.Expect("CLIENT GETNAME", "'me'")
	assert.Equal(t, int64(4), s.Stats().Denied)

	// Who has not been let in can't make the server take memory, not even behind a password.
	closed(t, send(t, dial(t, s), "*11\r\n"),
		"-ERR Protocol error: unauthenticated multibulk length\r\n")
	closed(t, send(t, dial(t, s), "*2\r\n$4\r\nAUTH\r\n$16385\r\n"),
		"-ERR Protocol error: invalid bulk length\r\n")
	both := dial(t, s)
	send(t, both, "AUTH secret\r\n*1\r\n$16385\r\n"+strings.Repeat("x", 16385)+"\r\nQUIT\r\n")
	r := bufio.NewReader(both)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "+OK\r\n", line)
	line, err = r.ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, "-ERR unknown command")
}

func send(t *testing.T, c net.Conn, text string) net.Conn {
	t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
	return c
}

func TestMalformed(t *testing.T) {
	s := redistest.Open(t, redis.Options{})
	for text, want := range map[string]string{
		"*1\r\n:1\r\n":           "-ERR Protocol error: expected '$', got ':'\r\n",
		"PING\r\n*x\r\n":         "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n",
		"SET a \"\r\n":           "-ERR Protocol error: unbalanced quotes in request\r\n",
		"*1\r\n$99999999999\r\n": "-ERR Protocol error: invalid bulk length\r\n",
		"QUIT\r\nPING\r\n":       "+OK\r\n",
		"MULTI\r\nSET a 1\r\n*1\r\n$x\r\n": "+OK\r\n+QUEUED\r\n" +
			"-ERR Protocol error: invalid bulk length\r\n",
	} {
		closed(t, send(t, dial(t, s), text), want)
	}
	s.Dial(t).Expect("GET a", "nil")
}

func TestClientsMax(t *testing.T) {
	s := redistest.Open(t, redis.Options{ClientsMax: 2})
	a, b := s.Dial(t), s.Dial(t)
	a.Expect("PING", "PONG")
	b.Expect("PING", "PONG")
	closed(t, dial(t, s), "-ERR max number of clients reached\r\n")
	a.Send("QUIT")
	assert.Equal(t, "OK", a.Receive())
	require.Eventually(t, func() bool { return s.Stats().Clients == 1 },
		time.Minute, time.Millisecond)
	s.Dial(t).Expect("PING", "PONG")
	assert.Equal(t, int64(1), s.Stats().Refused)
}

// TestMemoryMax refuses arguments that there is no room for, and gives back what they took.
func TestMemoryMax(t *testing.T) {
	s := redistest.Open(t, redis.Options{MemoryMax: 1 << 20})
	c := s.Dial(t)
	large := strings.Repeat("x", 900_000)
	for range 3 {
		c.SendArgs("SET", "a", large)
		assert.Equal(t, "OK", c.Receive())
	}
	closed(t, send(t, dial(t, s), "*2\r\n$4\r\nECHO\r\n$1100000\r\n"),
		"-OOM not done: too much is in flight at the server\r\n")
	c.Expect("STRLEN a", "900000")

	// Who does not read holds memory, and others get no long replies meanwhile.
	lazy := dial(t, s)
	send(t, lazy, strings.Repeat("GET a\r\n", 40))
	inFlight := func(want func(int64) bool) {
		t.Helper()
		require.Eventually(t, func() bool { return want(s.Stats().MemoryInFlight) },
			time.Minute, time.Millisecond)
	}
	inFlight(func(n int64) bool { return n > 1<<20 })
	c.Expect("GET a", "-OOM not done: too much is in flight at the server", "STRLEN a", "900000")
	require.NoError(t, lazy.Close())
	inFlight(func(n int64) bool { return n == 0 })
	c.Send("GET a")
	assert.Len(t, c.Receive(), 900_002)
	inFlight(func(n int64) bool { return n == 0 })

	// Many small arguments take memory, too, and so does what waits for EXEC.
	small := dial(t, s)
	send(t, small, "*100000\r\n"+strings.Repeat("$1\r\nx\r\n", 50_000))
	closed(t, small, "-OOM not done: too much is in flight at the server\r\n")
	c.Expect("MULTI", "OK")
	c.SendArgs("SET", "b", large[:400_000])
	assert.Equal(t, "QUEUED", c.Receive())
	inFlight(func(n int64) bool { return n > 400_000 && n < 410_000 })
	c.SendArgs("APPEND", "b", large[:400_000])
	assert.Equal(t, "-OOM not done: too much is in flight at the server", c.Receive())
	assert.Contains(t, c.Do("EXEC"), "-EXECABORT")
	inFlight(func(n int64) bool { return n == 0 })
}

// TestReadsBounded is of values which come to more than there is room for, when one command, one
// transaction or one pipeline wants them: no more are asked for than a wave of reads may bring, and
// nothing stays reserved.
func TestReadsBounded(t *testing.T) {
	const size, count, wave = 1 << 20, 60, 16 << 20
	db, err := strictkv.Open(t.Context(), "test", memory.New(), strictkv.WithInlineMax(1000),
		strictkv.WithCacheSize(0))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close(context.WithoutCancel(t.Context()))) })
	s := redistest.Serve(t, db, redis.Options{MemoryMax: wave + 4*size})
	c := s.Dial(t)
	names, gets, long := "", []string{"MULTI"}, strings.Repeat("x", size)
	for i := range count {
		name := " k" + strconv.Itoa(i)
		c.SendArgs("SET", name[1:], long)
		assert.Equal(t, "OK", c.Receive())
		names += name
		gets = append(gets, "GET"+name)
	}
	const oom = "-OOM not done: too much is in flight at the server"
	before := db.Stats()
	c.Expect("MGET"+names, oom)
	c.Send(append(gets, "EXEC")...)
	for range gets {
		c.Receive()
	}
	assert.Equal(t, oom, c.Receive())
	read := db.Stats().Sub(before).BytesRead
	assert.LessOrEqual(t, read, int64(2*(2*wave+count*1000)), "two waves each")

	c.Send(gets[1:]...) // goes on when the first replies are sent
	for range count {
		assert.Len(t, c.Receive(), size+2)
	}
	for i := range 30 {
		c.SendArgs("HSET", "h", strconv.Itoa(i), long)
		assert.Equal(t, "1", c.Receive())
	}
	c.Expect("HGETALL h", oom, "HVALS h", oom, "HLEN h", "30", "PING", "PONG")
	require.Eventually(t, func() bool { return s.Stats().MemoryInFlight == 0 },
		time.Minute, time.Millisecond)
}

// TestLongAfterDamaged has commands that share a transaction run one by one, for one of them is to
// blame, and replies to all, though the replies get long.
func TestLongAfterDamaged(t *testing.T) {
	s := redistest.Open(t, redis.Options{})
	c := s.Dial(t)
	root := s.DB.Collection([]byte(redis.DefaultRoot))
	require.NoError(t, root.Collection([]byte("0")).Write(t.Context(), []byte("bad"), []byte("xx")))
	c.SendArgs("SET", "long", strings.Repeat("x", 9<<20))
	assert.Equal(t, "OK", c.Receive())
	c.Send("GET bad", "GET long", "GET long", "SET a 1", "INCR a")
	assert.Contains(t, c.Receive(), "-DAMAGED")
	assert.Len(t, c.Receive(), 9<<20+2)
	assert.Len(t, c.Receive(), 9<<20+2)
	assert.Equal(t, "OK", c.Receive())
	assert.Equal(t, "2", c.Receive())
}

// TestErrorsChangeNothing is of commands whose later arguments are wrong.
func TestErrorsChangeNothing(t *testing.T) {
	s := redistest.Open(t, redis.Options{})
	c := s.Dial(t)
	long := strings.Repeat("x", 64<<10+1)
	c.Expect("SET a 1", "OK", "RPUSH l x", "1")
	c.SendArgs("DEL", "a", "l", long)
	assert.Equal(t, "-ERR key or field is longer than 65536 bytes", c.Receive())
	c.Expect("GET a", "'1'", "LLEN l", "1")

	// Neither do they leave the elements of a value behind that has not come to be.
	var members []string
	for i := range 600 {
		members = append(members, strconv.Itoa(i))
	}
	c.Expect("SADD s "+strings.Join(members, " "), "600", "SADD short a", "1")
	c.SendArgs("SADD", "short", long)
	assert.Equal(t, "1", c.Receive())
	before := larges(t, s)
	c.SendArgs("SUNIONSTORE", long, "s")
	assert.Equal(t, "-ERR key or field is longer than 65536 bytes", c.Receive())
	c.Expect("ZUNIONSTORE z 1 short", "-ERR key or field is longer than 65536 bytes",
		"EXISTS z", "0")
	assert.Equal(t, before, larges(t, s))
}

// larges is how many large values have elements.
func larges(t *testing.T, s *redistest.Server) (n int) {
	t.Helper()
	large := s.DB.Collection([]byte(redis.DefaultRoot)).Collection([]byte("large"))
	for _, err := range large.Collections(t.Context()) {
		require.NoError(t, err)
		n++
	}
	return n
}

// TestManyTimes is of long values that a client wants many times at once.
func TestManyTimes(t *testing.T) {
	s := redistest.Open(t, redis.Options{})
	c := s.Dial(t)
	c.Expect("HSET h f "+strings.Repeat("x", 10_000), "1")
	c.SendArgs(append([]string{"HMGET", "h"}, slices.Repeat([]string{"f"}, 110_000)...)...)
	assert.Contains(t, c.Receive(), "-ERR copies of values of more than 1 GiB: ")

	// A pipeline goes on in another transaction.
	c.SendArgs("SETRANGE", "long", strconv.Itoa(9<<20-1), "x")
	assert.Equal(t, strconv.Itoa(9<<20), c.Receive())
	before := s.Stats().Transactions
	c.Send(slices.Repeat([]string{"SETBIT long 1 1"}, 5)...)
	for _, want := range []string{"0", "1", "1", "1", "1"} {
		assert.Equal(t, want, c.Receive())
	}
	assert.GreaterOrEqual(t, s.Stats().Transactions, before+3)
}

func TestOptions(t *testing.T) {
	db, err := strictkv.Open(t.Context(), "test", memory.New())
	require.NoError(t, err)
	for _, o := range []redis.Options{
		{ClientsMax: -1}, {IdleTimeout: -1}, {MemoryMax: -1}, {Users: map[string]string{"a": ""}},
		{Users: map[string]string{"": "a"}},
		{Users: map[string]string{"a": strings.Repeat("x", redis.PasswordMax+1)}},
	} {
		_, err := redis.NewServer(db, o)
		assert.ErrorIs(t, err, redis.ErrInvalid, "%+v", o)
	}
	_, err = redis.NewServer(nil, redis.Options{})
	assert.ErrorIs(t, err, redis.ErrInvalid)
	s, err := redis.NewServer(db, redis.Options{})
	require.NoError(t, err)
	_, err = s.Listen(t.Context(), "0.0.0.0:0")
	assert.ErrorIs(t, err, redis.ErrNoPassword)
	require.NoError(t, s.Shutdown(t.Context()))
	require.NoError(t, s.Shutdown(t.Context()))
	ln, err := s.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	assert.ErrorIs(t, s.Serve(ln), redis.ErrServerClosed)
	require.NoError(t, db.Close(t.Context()))
}

func TestTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	s := redistest.Open(t, redis.Options{TLS: web.TLS})
	client := web.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	client.ServerName = "example.com"
	c, err := tls.Dial("tcp", s.Addr, client)
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "PING\r\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "+PONG\r\n", line)

	plain := dial(t, s)
	send(t, plain, "PING\r\n")
	reply, err := io.ReadAll(plain)
	if err == nil {
		assert.NotContains(t, string(reply), "PONG")
	}
}
