package redis_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

func TestFirst(t *testing.T) {
	s := redistest.Open(t, redis.Options{})
	c, other := s.Dial(t), s.Dial(t)
	c.Expect(
		"PING", "PONG", "ECHO x", "'x'", "SET a 1", "OK", "INCR a", "2", "GET a", "'2'",
		"GET b", "nil", "DEL a b", "1", "SELECT 1", "OK", "SET a 1", "OK", "SELECT 0", "OK",
		"GET a", "nil", "WATCH n", "OK", "MULTI", "OK", "INCR n", "QUEUED", "EXEC", "[1]",
		"WATCH n", "OK", "MULTI", "OK", "INCR n", "QUEUED",
	)
	other.Expect("SET n 5", "OK")
	c.Expect("EXEC", "nil", "GET n", "'5'")
	other.Expect("CLIENT SETNAME b", "OK", "CLIENT KILL ID 0",
		"-ERR client-id should be greater than 0", "CLIENT KILL 1.2.3.4:5", "-ERR No such client",
		"CLIENT KILL TYPE pubsub", "0", "CLIENT KILL FOO 1", "-ERR syntax error")
	c.Expect("MULTI", "OK", "SET n 6", "QUEUED", "EXEC x", "-EXECABORT Transaction discarded "+
		"because of: wrong number of arguments for 'exec' command", "EXEC",
		"-ERR EXEC without MULTI", "GET n", "'5'")
	killed := s.Dial(t)
	id := killed.Do("CLIENT ID")
	killed.Expect("CLIENT KILL ID "+id, "0", "CLIENT KILL SKIPME no ID "+id, "1")
	c.Send("SET x a", "INCR x", "GET x", "SET y 1", "GET y")
	for _, want := range []string{
		"OK", "-ERR value is not an integer or out of range", "'a'", "OK", "'1'",
	} {
		assert.Equal(t, want, c.Receive())
	}
}

// TestListedAsTheyCome lists clients while others connect: each has its session by then.
func TestListedAsTheyCome(t *testing.T) {
	s := redistest.Open(t, redis.Options{})
	c := s.Dial(t)
	for range 50 {
		c.Send("CLIENT LIST")
		other := s.Dial(t)
		assert.Contains(t, c.Receive(), "id=1 ")
		other.Expect("PING", "PONG")
	}
}

// TestLongReplies wants replies of all lengths, in parts that are copied, referred to, and longer
// than what is written at once, as they were set.
func TestLongReplies(t *testing.T) {
	s := redistest.Open(t, redis.Options{})
	c := s.Dial(t)
	sizes := []int{0, 1, 15_000, 16 << 10, 40_000, 1<<20 - 7, 1 << 20, 1<<20 + 1, 5 << 20}
	text := func(i, size int) string { return strings.Repeat(string(rune('a'+i)), size) }
	var gets []string
	for i, size := range sizes {
		key := string(rune('a' + i))
		c.Expect("SET "+key+" \""+text(i, 0)+"\"", "OK")
		for part := text(i, min(size, 60_000)); size > 0; size -= len(part) {
			part = part[:min(len(part), size)]
			c.Do("APPEND " + key + " " + part)
		}
		gets = append(gets, "GET "+key)
	}
	for range 2 {
		c.Send(gets...)
		for i, size := range sizes {
			assert.Equal(t, "'"+text(i, size)+"'", c.Receive(), size)
		}
	}
	for i, size := range sizes {
		assert.Equal(t, "'"+text(i, size)+"'", c.Do(gets[i]), size)
	}
}
