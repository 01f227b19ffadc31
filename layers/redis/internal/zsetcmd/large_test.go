package zsetcmd_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
	"github.com/strictkv/strictkv/layers/redis/internal/zsetcmd"
)

// fill adds members m0, m1 and so on, whose scores are these numbers, so many at once.
func fill(t testing.TB, c *redistest.Client, key string, n, step int) {
	t.Helper()
	for from := 0; from < n; from += step {
		words := make([]string, 0, step)
		for i := from; i < min(from+step, n); i++ {
			words = append(words, fmt.Sprintf("%d m%d", i, i))
		}
		c.Expect("ZADD "+key+" "+strings.Join(words, " "), fmt.Sprint(len(words)))
	}
}

const tooMany = "-ERR more than 900 elements of a large value can't be changed at once"

func TestLargeLimits(t *testing.T) {
	c := redistest.Open(t, redis.Options{}).Dial(t)
	fill(t, c, "z", 2000, 100)
	c.Expect(
		"ZREMRANGEBYRANK z 0 899", tooMany, "ZPOPMIN z 900", tooMany, "ZCARD z", "2000",
		"ZREMRANGEBYRANK z 1300 -1", "700", "ZCARD z", "1300",
		"ZRANGE z 650 651", "['m650' 'm651']", "ZRANK z m1299", "1299", "ZREVRANK z m1299", "0",
		"ZREVRANGE z 0 1 WITHSCORES", "['m1299' '1299' 'm1298' '1298']",
		"ZREMRANGEBYSCORE z -inf (450", "450", "ZCARD z", "850", "ZRANGE z 0 0", "['m450']",
		"ZREMRANGEBYRANK z 0 499", "500", "ZCARD z", "350", "ZSCORE z m949", "nil",
		"ZRANGE z 0 0", "['m950']", "ZRANGE z -1 -1", "['m1299']", "ZADD z 5000 m950 0 n", "1",
		"ZRANGE z 0 1", "['n' 'm951']", "ZRANGE z -1 -1", "['m950']",
		"ZREMRANGEBYRANK z 0 -1", "351", "EXISTS z", "0",
	)
}

// TestManyAtOnce is of sets that one command makes larger than a transaction can write.
func TestManyAtOnce(t *testing.T) {
	c := redistest.Open(t, redis.Options{}).Dial(t)
	fill(t, c, "z", 2000, 1000)
	c.Expect(
		"ZADD z -1 x", "1", "ZCARD z", "2001", "ZRANGE z 1000 1000", "['m999']",
		"ZUNIONSTORE all 2 z none WEIGHTS 2 1", "2001", "ZSCORE all m1999", "'3998'",
		"ZREMRANGEBYRANK z 0 -701", "1301", "ZCARD z", "700", "ZADD z 5 y", "1",
		"ZRANGE z 0 1", "['y' 'm1300']", "ZSCORE z m1999", "'1999'",
	)
}

func TestWritesAreFew(t *testing.T) {
	s := redistest.Open(t, redis.Options{})
	c := s.Dial(t)
	fill(t, c, "z", 400, 1)
	before := s.DB.Stats()
	c.Expect("ZADD z 1 a", "1", "ZINCRBY z 300 a", "'301'", "ZREM z a", "1")
	d := s.DB.Stats().Sub(before)
	assert.Less(t, d.Puts+d.Deletes, int64(60))
	t.Logf("%d puts, %d deletes, %d bytes", d.Puts, d.Deletes, d.BytesWritten)
}

// TestLongMembers are hashed as names of elements.
func TestLongMembers(t *testing.T) {
	zsetcmd.Small(t, 4, 4)
	c := redistest.Open(t, redis.Options{}).Dial(t)
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprintf("%s%02d", strings.Repeat("l", 250+i/10*100), i))
	}
	for _, i := range rand.New(rand.NewPCG(1, 0)).Perm(len(want)) {
		c.Expect("ZADD z 0 "+want[i], "1", "ZSCORE z "+want[i], "'0'")
	}
	quoted := func(from, to int) string {
		return "['" + strings.Join(sorted(want)[from:to], "' '") + "']"
	}
	all := sorted(want)
	c.Expect("ZRANGE z 0 -1", quoted(0, 40), "ZRANGE z 17 20", quoted(17, 21),
		"ZRANGEBYLEX z ["+all[13]+" ("+all[33], quoted(13, 33),
		"ZLEXCOUNT z ("+all[13]+" +", "26", "ZRANK z "+all[22], "22",
		"ZPOPMAX z", "['"+all[39]+"' '0']", "ZREM z "+all[1], "1", "ZCARD z", "38",
		"ZREMRANGEBYLEX z - +", "38", "EXISTS z", "0")
	tooLong := strings.Repeat("x", 64<<10+1)
	for _, args := range [][]string{{"ZADD", "z", "1", tooLong}, {"ZINCRBY", "z", "1", tooLong}} {
		c.SendArgs(args...)
		assert.Equal(t, "-ERR key or field is longer than 65536 bytes", c.Receive())
	}
}

func TestRank(t *testing.T) {
	for _, elements := range []int{1, 128} {
		zsetcmd.Small(t, elements, 4)
		c := redistest.Open(t, redis.Options{}).Dial(t)
		c.Expect("ZADD z 1 a 2 b 3 c", "3", "ZRANK z b WITHSCORE", "[1 '2']",
			"ZREVRANK z a withscore", "[2 '1']", "ZRANK z n WITHSCORE", "nil",
			"ZRANK z a up", "-ERR syntax error")
		c.Hello(3)
		c.Expect("ZRANK z c WITHSCORE", "[2 3]")
	}
}

func TestRandomMembers(t *testing.T) {
	for _, elements := range []int{1, 128} {
		zsetcmd.Small(t, elements, 4)
		c := redistest.Open(t, redis.Options{}).Dial(t)
		c.Expect("ZADD z 1 a", "1", "ZRANDMEMBER z", "'a'", "ZRANDMEMBER z 5", "['a']",
			"ZRANDMEMBER z -3", "['a' 'a' 'a']", "ZRANDMEMBER z 1 WITHSCORES", "['a' '1']",
			"ZRANDMEMBER z -1048577", "-ERR value is out of range: more than 1048576 members",
			"ZADD z 2 b 3 c", "2")
		assert.Len(t, c.Do("ZRANDMEMBER z 2"), len("['a' 'b']"))
		assert.Contains(t, []string{"'a'", "'b'", "'c'"}, c.Do("ZRANDMEMBER z"))
	}
}

func sorted(words []string) []string {
	words = slices.Clone(words)
	slices.Sort(words)
	return words
}

func TestScan(t *testing.T) {
	c := redistest.Open(t, redis.Options{}).Dial(t)
	fill(t, c, "z", 240, 80)
	c.Expect("ZADD z 1 "+strings.Repeat("l", 300), "1", "ZSCAN z 5", ""+
		"-ERR unknown cursor: it is another server's, or was used too long ago: begin again with 0")
	seen, pages := map[string]bool{}, 0
	for cursor := "0"; cursor != "0" || pages == 0; pages++ {
		reply := c.Do("ZSCAN z " + cursor + " COUNT 50")
		cursor, reply, _ = strings.Cut(strings.TrimPrefix(reply, "['"), "' [")
		words := strings.Fields(strings.TrimSuffix(reply, "]]"))
		assert.LessOrEqual(t, len(words), 100)
		for i := 0; i < len(words); i += 2 {
			seen[words[i]] = true
		}
		c.Expect(fmt.Sprintf("ZADD z 0 m%d", pages), "0")
	}
	assert.Len(t, seen, 241)
	assert.Equal(t, 5, pages)
	c.Expect("ZSCAN z 0 COUNT 1000 MATCH m23?", "['0' ["+scanned(230, 240)+"]]")
}

// scanned is what ZSCAN replies of those that fill has added.
func scanned(from, to int) string {
	var words []string
	for i := from; i < to; i++ {
		words = append(words, fmt.Sprintf("'m%d' '%d'", i, i))
	}
	return strings.Join(words, " ")
}

// TestLargeIsAValue is of what becomes of a large set as a whole.
func TestLargeIsAValue(t *testing.T) {
	zsetcmd.Small(t, 2, 4)
	s := redistest.Open(t, redis.Options{})
	c, other := s.Dial(t), s.Dial(t)
	fill(t, c, "z", 5, 1)
	c.Expect("EXPIREAT z 9000000000", "1", "ZADD z 5 m5", "1", "EXPIRETIME z", "9000000000",
		"COPY z y", "1", "ZREM z m0", "1", "ZRANGE y 0 1", "['m0' 'm1']",
		"EXPIRETIME y", "9000000000",
		"RENAME y x", "OK", "ZPOPMAX x", "['m5' '5']", "ZCARD x", "5", "EXISTS y", "0",
		"DEL x", "1", "ZADD x 1 a", "1", "ZRANGE x 0 -1", "['a']", "TYPE z", "zset",
		"OBJECT ENCODING z", "'skiplist'", "WATCH z", "OK", "MULTI", "OK", "ZCARD z", "QUEUED")
	other.Expect("ZINCRBY z 1 m1", "'2'")
	c.Expect("EXEC", "nil", "ZRANGESTORE z z 0 0", "1", "TTL z", "-1", "SET z x", "OK",
		"ZCARD z", "-WRONGTYPE Operation against a key holding the wrong kind of value")
}

// TestPlainSets are combined with sorted ones as if each member had score 1.
func TestPlainSets(t *testing.T) {
	c := redistest.Open(t, redis.Options{}).Dial(t)
	c.Expect(
		"SADD s a b", "2", "ZADD z 2 b 3 c", "2",
		"ZUNION 2 s z WITHSCORES", "['a' '1' 'b' '3' 'c' '3']",
		"ZINTER 2 z s WEIGHTS 1 10 WITHSCORES", "['b' '12']", "ZDIFF 2 s z", "['a']",
		"ZINTERCARD 2 s z", "1", "ZUNIONSTORE n 1 s", "2", "TYPE n", "zset", "HSET h f v", "1",
		"ZUNION 2 s h", "-WRONGTYPE Operation against a key holding the wrong kind of value",
	)
}

// TestManyTimes is of members and sets that a command wants many times.
func TestManyTimes(t *testing.T) {
	c := redistest.Open(t, redis.Options{}).Dial(t)
	c.Expect("ZADD long 1 "+strings.Repeat("x", 10_000), "1",
		"ZRANDMEMBER long -10000", "-ERR the reply would be longer than 64 MiB",
		"ZADD z 1 a 2 b", "2", "ZUNION 3 z z z WEIGHTS 1 2 3 WITHSCORES", "['a' '6' 'b' '12']",
		"ZINTER 2 z z WITHSCORES", "['a' '2' 'b' '4']", "ZDIFF 2 z z", "[]")
}
