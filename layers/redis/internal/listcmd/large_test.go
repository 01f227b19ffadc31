package listcmd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/listcmd"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

// fill pushes n elements, so many at once: 0, 1, 2 and so on.
func fill(t testing.TB, c *redistest.Client, key string, n, step int) {
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
		"LTRIM l 0 700", "OK", "LPUSH l y", "702", "LINDEX l 1", "'x'", "LINDEX l -1", "'699'",
		"OBJECT ENCODING l", "'quicklist'",
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

// TestLargeIsAValue is of what becomes of a large list as a whole.
func TestLargeIsAValue(t *testing.T) {
	listcmd.Small(t, 16<<10, 2)
	s := redistest.Open(t, redis.Options{})
	c, other := s.Dial(t), s.Dial(t)
	fill(t, c, "l", 5, 1)
	c.Expect("EXPIREAT l 9000000000", "1", "RPUSH l 5", "6", "EXPIRETIME l", "9000000000",
		"COPY l k", "1", "LPOP l", "'0'", "LRANGE k 0 1", "['0' '1']", "EXPIRETIME k", "9000000000",
		"RENAME k j", "OK", "RPOP j", "'5'", "LLEN j", "5", "EXISTS k", "0", "DEL j", "1",
		"RPUSH j a", "1", "LRANGE j 0 -1", "['a']", "TYPE l", "list",
		"OBJECT ENCODING l", "'quicklist'", "WATCH l", "OK", "MULTI", "OK", "LLEN l", "QUEUED")
	other.Expect("LSET l 0 x", "OK")
	c.Expect("EXEC", "nil", "LTRIM l 0 0", "OK", "EXPIRETIME l", "9000000000", "SET l x", "OK",
		"LLEN l", "-WRONGTYPE Operation against a key holding the wrong kind of value")
}

// TestManyBecomeLarge is of lists that grow in step, within transactions.
func TestManyBecomeLarge(t *testing.T) {
	c := redistest.Open(t, redis.Options{}).Dial(t)
	for range 135 {
		c.Send("MULTI")
		for key := range 12 {
			c.Send(fmt.Sprintf("RPUSH l%d x", key))
		}
		c.Send("EXEC")
		for range 13 {
			c.Receive()
		}
		assert.NotContains(t, c.Receive(), "ERR")
	}
	for key := range 12 {
		c.Expect(fmt.Sprintf("LLEN l%d", key), "135",
			fmt.Sprintf("OBJECT ENCODING l%d", key), "'quicklist'")
	}
}

// TestMoveToAFullList is of a list that is small only as it has got too many elements at once, and
// is as long as such a one may be: what can't be added to it is not taken off the other.
func TestMoveToAFullList(t *testing.T) {
	c := redistest.Open(t, redis.Options{}).Dial(t)
	fill(t, c, "l", 200, 100)
	long := strings.Repeat("x", 40_000)
	c.SendArgs("RPUSH", "l", long)
	assert.Equal(t, "201", c.Receive())
	args := []string{"RPUSH", "full"}
	for range (keys.StringMax-20_000)/(len(long)+3) - 1 {
		args = append(args, long)
	}
	c.SendArgs(args...)
	n := fmt.Sprint(len(args) - 2)
	assert.Equal(t, n, c.Receive())
	for range 2 {
		got := c.Do("RPOPLPUSH l full")
		if got[0] == '-' {
			assert.Equal(t, "-ERR string exceeds maximum allowed size (proto-max-bulk-len)", got)
			break
		}
		c.SendArgs("RPUSH", "l", long)
		c.Receive()
	}
	assert.Len(t, c.Do("LINDEX l -1"), len(long)+2)
}
