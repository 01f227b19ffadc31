package fields_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/fields"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

const tooMany = "-ERR more than 900 elements of a large value can't be changed at once"

// numbers are words for the numbers of a range.
func numbers(from, to int, word string) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(strings.ReplaceAll(word, "#", strconv.Itoa(i)))
	}
	return b.String()
}

// TestManyAtOnce is of values that one command makes larger than a transaction can write: what is
// too much waits, and is as good as all others.
func TestManyAtOnce(t *testing.T) {
	c := redistest.Open(t, redis.Options{}).Dial(t)
	c.SendArgs(append([]string{"HSET", "h"}, list(numbers(0, 2000, " # v#"))...)...)
	require.Equal(t, "2000", c.Receive())
	for i := range 35 {
		c.Expect(
			"HLEN h", "2000", "HMGET h 0 1999 x", "['v0' 'v1999' nil]",
			fmt.Sprintf("HSET h %d v%[1]d", 7*i), "0",
		)
		if i%5 > 0 {
			continue
		}
		found, cursor, pages := map[string]bool{}, "0", 0
		for ; pages == 0 || cursor != "0"; pages++ {
			page := list(c.Do("HSCAN h " + cursor + " COUNT 500"))
			cursor = page[0]
			for j := 1; j < len(page); j += 2 {
				require.Equal(t, "v"+page[j], page[j+1])
				require.False(t, found[page[j]], "none comes and goes")
				found[page[j]] = true
			}
		}
		require.Len(t, found, 2000)
		require.GreaterOrEqual(t, pages, 4)
	}
	c.SendArgs(append([]string{"SADD", "s"}, list(numbers(0, 600, " #"))...)...)
	require.Equal(t, "600", c.Receive())
	for _, to := range []int{1600, 2600} {
		c.SendArgs(append([]string{"SADD", "s"}, list(numbers(0, to, " #"))...)...)
		require.Equal(t, "1000", c.Receive())
	}
	c.Expect("SCARD s", "2600", "SISMEMBER s 2599", "1", "SISMEMBER s 2600", "0")
	assert.Len(t, list(c.Do("SMEMBERS s")), 2600)
}

// TestTooMany: what a transaction can't write is refused as a whole.
func TestTooMany(t *testing.T) {
	c := redistest.Open(t, redis.Options{}).Dial(t)
	for from := 0; from < 2000; from += 25 { // so that none waits
		c.Expect("SADD s"+numbers(from, from+25, " #"), "25")
		c.Expect("HSET h"+numbers(from, from+25, " # 0"), "25")
	}
	c.Expect(
		"SREM s"+numbers(0, 901, " #"), tooMany, "HDEL h"+numbers(0, 901, " #"), tooMany,
		"SPOP s 1500", tooMany, "HSET h"+numbers(0, 901, " # 1"), tooMany,
		"SCARD s", "2000", "HLEN h", "2000", "HGET h 0", "'0'",
		"SREM s"+numbers(0, 900, " #"), "900", "HSET h"+numbers(0, 900, " # 1"), "0",
		"HGET h 899", "'1'", "HGET h 900", "'0'", "SCARD s", "1100",
		"HDEL h"+numbers(0, 2000, " #"), "2000", "EXISTS h", "0",
	)
	assert.Len(t, list(c.Do("SPOP s 2000")), 1100)
	c.Expect("EXISTS s", "0")
	// More than a megabyte waits, and there can't be more.
	long := strings.Repeat("x", 700)
	for i, want := range []string{"1500", tooMany, tooMany} {
		pairs := list(numbers(1500*i, 1500*(i+1), " #"+long+" "+long))
		c.SendArgs(append([]string{"HSET", "h"}, pairs...)...)
		assert.Equal(t, want, c.Receive())
	}
	c.Expect("HLEN h", "1500")
}

// TestGrowTogether: values that become large in one transaction leave room for each other.
func TestGrowTogether(t *testing.T) {
	c := redistest.Open(t, redis.Options{}).Dial(t)
	const hashes = 18
	c.Expect("MULTI", "OK")
	for i := range hashes {
		c.Expect(fmt.Sprintf("HSET h%d", i)+numbers(0, 520, " # #"), "QUEUED")
	}
	c.Expect("EXEC", "["+strings.TrimSpace(strings.Repeat("520 ", hashes))+"]")
	for i := range hashes {
		c.Expect(fmt.Sprintf("HSET h%d 0 1", i), "0", fmt.Sprintf("HLEN h%d", i), "520")
	}
}

// TestRandomOfLarge: each is chosen at some time, whether all are listed or some.
func TestRandomOfLarge(t *testing.T) {
	const members = 700
	c := redistest.Open(t, redis.Options{}).Dial(t)
	for from := 0; from < members; from += 100 {
		c.Expect("SADD s"+numbers(from, from+100, " #"), "100")
	}
	const many = 20 * members
	for n, draws := range map[int]int{1: 100, -2: 100, 170: many, -170: many, 180: many} {
		seen := map[string]bool{}
		for drawn := 0; drawn < draws; {
			found := list(c.Do("SRANDMEMBER s " + strconv.Itoa(n)))
			require.Len(t, found, max(n, -n))
			once := map[string]bool{}
			for _, name := range found {
				seen[name], once[name] = true, true
			}
			if n > 0 {
				require.Len(t, once, n)
			}
			drawn += len(found)
		}
		if draws > members {
			assert.Len(t, seen, members, "%d at once: some never come", n)
		} else {
			assert.Greater(t, len(seen), draws/2, "%d at once: some come often", n)
		}
	}
	for left := members; left > 0; left -= 100 {
		require.Len(t, list(c.Do("SPOP s 100")), 100)
	}
	c.Expect("EXISTS s", "0")
}

// TestLongReplies: nobody gets the same long names and values again and again.
func TestLongReplies(t *testing.T) {
	const long = "-ERR the reply would be longer than 64 MiB"
	for _, elements := range []int{0, 512} {
		fields.Small(t, 16<<10, elements)
		c := redistest.Open(t, redis.Options{}).Dial(t)
		name := strings.Repeat("x", 1000)
		c.Expect(
			"SADD s "+name, "1", "HSET h "+name+" 1", "1", "HSET v a "+name, "1",
			"SRANDMEMBER s -70000", long, "HRANDFIELD h -70000", long,
			"HRANDFIELD v -70000 withvalues", long, "SRANDMEMBER s 70000", "['"+name+"']",
			"SRANDMEMBER s -1048577", "-ERR value is out of range, value must between "+
				"-1048576 and 9223372036854775807",
		)
	}
}

// TestAnyName: names of any bytes and lengths, in each form.
func TestAnyName(t *testing.T) {
	names := []string{
		"", "\x00", "\x01x", "\xff", strings.Repeat("a", 248), strings.Repeat("a", 249),
		strings.Repeat("a", 257), strings.Repeat("a", 70_000), strings.Repeat("b", 1<<20),
	}
	shown := strings.NewReplacer("\x00", `\x00`, "\x01", `\x01`, "\xff", `\xff`)
	for _, elements := range []int{0, 512} {
		fields.Small(t, 32<<20, elements)
		c := redistest.Open(t, redis.Options{}).Dial(t)
		ask := func(want string, args ...string) {
			t.Helper()
			c.SendArgs(args...)
			got := c.Receive()
			if want != got { // which may be long
				t.Errorf("%.20q: %.60q, not %.60q", args, got, want)
			}
		}
		for i, name := range names {
			n, quoted := strconv.Itoa(i+1), "'"+shown.Replace(name)+"'"
			ask("1", "HSET", "h", name, name)
			ask("1", "SADD", "s", name)
			ask("0", "SADD", "s", name)
			ask(quoted, "HGET", "h", name)
			ask("1", "SISMEMBER", "s", name)
			ask(n, "HLEN", "h")
			c.Send("SMEMBERS s", "HGETALL h", "SSCAN s 0", "HSCAN h 0")
			for j := range 4 {
				reply := c.Receive()
				for _, name := range names[:i+1] {
					n := strings.Count(reply, "'"+shown.Replace(name)+"'")
					assert.Equal(t, j%2+1, n, "%d %.20q", j, name)
				}
			}
		}
		for _, name := range names {
			ask("1", "SMOVE", "s", "other", name)
			ask("1", "HDEL", "h", name)
		}
		c.Expect("EXISTS s h", "0", "SCARD other", strconv.Itoa(len(names)))
	}
}

// TestKeysOfLarge: what is done with keys is done with large values, too.
func TestKeysOfLarge(t *testing.T) {
	fields.Small(t, 16<<10, 3)
	s := redistest.Open(t, redis.Options{})
	c, other := s.Dial(t), s.Dial(t)
	c.Expect("HSET h a 1", "1", "EXPIRE h 1000", "1")
	for i := range 20 {
		c.Expect(fmt.Sprintf("HSET h f%d %[1]d", i), "1", "TTL h", "1000")
	}
	c.Expect(
		"HDEL h f0", "1", "TTL h", "1000", "HINCRBY h a 1", "2", "TTL h", "1000",
		"RENAME h g", "OK", "HLEN g", "20", "HGET g f19", "'19'", "EXISTS h", "0",
		"HSET g f19 x", "0", "COPY g h", "1", "HLEN h", "20", "HGET h f19", "'x'", "TTL h", "1000",
		"HSET h f19 y", "0", "HGET g f19", "'x'", "HGET h f19", "'y'", "DEL g", "1",
		"HLEN g", "0", "HSET g f19 z", "1", "HGETALL g", "['f19' 'z']", "HLEN h", "20",
		"SADD h a", "-WRONGTYPE Operation against a key holding the wrong kind of value",
		"SET h x", "OK", "DEL h", "1", "HGET h f19", "nil", "TYPE g", "hash",
		"MOVE g 1", "1", "EXISTS g", "0",
	)
	c.Expect("SADD s 1 2 3 4 5 6 7 8 9", "9", "TYPE s", "set", "WATCH s", "OK")
	other.Expect("SREM s 9", "1")
	c.Expect("MULTI", "OK", "SADD s 10", "QUEUED", "EXEC", "nil", "WATCH s", "OK")
	other.Expect("SADD s 8", "0", "SISMEMBER s 8", "1")
	c.Expect("MULTI", "OK", "SADD s 10", "QUEUED", "EXEC", "[1]", "SCARD s", "9")
	c.Expect("HSET h a 1 b 2 c 3 d 4 e 5", "5", "WATCH h", "OK")
	other.Expect("HSET h a 1", "0")
	c.Expect("MULTI", "OK", "HSET h a 2", "QUEUED", "EXEC", "nil", "HGET h a", "'1'")
	c.Expect(
		"SUNIONSTORE s h", "-WRONGTYPE Operation against a key holding the wrong kind of value",
		"SUNIONSTORE h s", "9", "TYPE h", "set", "SDIFFSTORE s s h", "0", "EXISTS s", "0",
	)
}

// TestTogether: of what many do to one value at a time, nothing is lost, and the count is right.
func TestTogether(t *testing.T) {
	fields.Small(t, 16<<10, 20)
	s := redistest.Open(t, redis.Options{})
	const clients, members = 6, 40
	var all sync.WaitGroup
	for i := range clients {
		c := s.Dial(t)
		all.Go(func() {
			for j := range members {
				name := fmt.Sprintf("%d-%d", i, j)
				c.Expect("SADD s "+name, "1", "HSET h "+name+" 0", "1")
				c.Do("HINCRBY h total 1")
				if j%2 > 0 {
					c.Expect("SREM s "+name, "1", "HDEL h "+name, "1")
				}
			}
		})
	}
	all.Wait()
	c := s.Dial(t)
	c.Expect(
		"SCARD s", strconv.Itoa(clients*members/2), "HLEN h", strconv.Itoa(clients*members/2+1),
		"HGET h total", fmt.Sprintf("'%d'", clients*members),
	)
	assert.Len(t, list(c.Do("SMEMBERS s")), clients*members/2)
	assert.Len(t, list(c.Do("HKEYS h")), clients*members/2+1)
}
