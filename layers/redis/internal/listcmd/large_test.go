package listcmd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

// fill pushes n elements, so many at once: 0, 1, 2 and so on.
func fill(t *testing.T, c *redistest.Client, key string, n, step int) {
	t.Helper()
	for from := 0; from < n; from += step {
		words := make([]string, 0, step)
		for i := from; i < min(from+step, n); i++ {
			words = append(words, fmt.Sprint(i))
		}
		c.Expect("RPUSH "+key+" "+strings.Join(words, " "), fmt.Sprint(from+len(words)))
	}
}

const tooMany = "-ERR more than 900 elements of a large value can't be changed at once"

func TestLargeLimits(t *testing.T) {
	c := redistest.Open(t, redis.Options{}).Dial(t)
	fill(t, c, "l", 2000, 100)
	c.Expect(
		"LINSERT l before 950 x", tooMany, "LREM l 1 950", tooMany, "LTRIM l 0 999", tooMany,
		"LPOP l 901", tooMany, "LLEN l", "2000", "LRANGE l 949 951", "['949' '950' '951']",
		"LINSERT l before 800 x", "2001", "LRANGE l 799 802", "['799' 'x' '800' '801']",
		"LINSERT l after 1990 x", "2002", "LRANGE l -11 -8", "['1990' 'x' '1991' '1992']",
		"LREM l -1 x", "1", "LREM l 0 x", "1", "LINDEX l 1990", "'1990'",
		"LTRIM l 1900 1999", "OK", "LLEN l", "100", "LRANGE l 0 2", "['1900' '1901' '1902']",
		"LTRIM l 1 0", "OK", "EXISTS l", "0",
	)
	fill(t, c, "l", 1700, 100)
	c.Send("LPOP l 850", "LPOP l 850", "EXISTS l")
	c.Receive()
	assert.Contains(t, c.Receive(), "'1699']")
	assert.Equal(t, "0", c.Receive())
}

// TestManyAtOnce is of lists that one command makes larger than a transaction can write.
func TestManyAtOnce(t *testing.T) {
	c := redistest.Open(t, redis.Options{}).Dial(t)
	fill(t, c, "l", 3000, 1500)
	c.Expect(
		"LPUSH l x", "3001", "LINDEX l 1500", "'1499'", "LREM l 0 1499", "1",
		"LTRIM l 0 800", "OK", "LPUSH l y", "802", "LINDEX l 1", "'x'", "LINDEX l -1", "'799'",
	)
}

func TestWritesAreSmall(t *testing.T) {
	s := redistest.Open(t, redis.Options{})
	c := s.Dial(t)
	long := strings.Repeat("x", 200)
	for range 600 {
		c.Do("RPUSH l " + long)
	}
	before := s.DB.Stats()
	c.Expect("RPUSH l a", "601", "LSET l 300 b", "OK", "LPOP l", "'"+long+"'")
	d := s.DB.Stats().Sub(before)
	assert.Less(t, d.BytesWritten, int64(8<<10), "of a list of 120 kB")
	assert.Less(t, d.Puts+d.Deletes, int64(20))
	t.Logf("%d puts, %d deletes, %d bytes", d.Puts, d.Deletes, d.BytesWritten)
}
