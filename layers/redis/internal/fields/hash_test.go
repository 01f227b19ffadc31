package fields_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/fields"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

// hashBegin are commands that random ones would seldom come to.
const hashBegin = `
SET s x
HSET s a 1
HSETNX s a 1
HMSET s a 1
HGET s a
HMGET s a
HGETALL s
HDEL s a
HLEN s
HSTRLEN s a
HEXISTS s a
HKEYS s
HVALS s
HINCRBY s a 1
HINCRBY s a x
HINCRBYFLOAT s a 1
HINCRBYFLOAT s a x
HRANDFIELD s
HRANDFIELD s 1
HRANDFIELD s x
HSCAN s 0
HSCAN s x
HSET h a
HSET h a 1 b
HMSET h a 1 b
HMSET h a 1 b 2
HGET h a
HGET h x
HGET n x
HMGET n a b
HGETALL n
HKEYS n
HVALS n
HLEN n
HSTRLEN n a
HEXISTS n a
HDEL n a
HRANDFIELD n
HRANDFIELD n 3
HRANDFIELD n 3 withvalues
HRANDFIELD n x
HRANDFIELD n 1 withscores
HRANDFIELD n 1 withvalues more
HRANDFIELD h 0
HRANDFIELD h 10
HRANDFIELD h 10 withvalues
HRANDFIELD h 9223372036854775807
HRANDFIELD h 9223372036854775808
HSCAN n 0
HSCAN n 0 count
HSCAN n x count
HSCAN h 0
HSCAN h 0 match a*
HSCAN h 0 match a* count 1000
HSCAN h 0 count 0
HSCAN h 0 count x
HSCAN h 0 match
HSCAN h 0 type hash
HSCAN h 0 nonsense
HSCAN h -
HSCAN h 99999999999999999999999
HINCRBY h a 10
HINCRBY h a x
HINCRBY h a 1.5
HINCRBY h a 9223372036854775807
HINCRBY h a -9223372036854775808
HINCRBY h a -9223372036854775808
HINCRBY h new 5
HSET h word x
HINCRBY h word 1
HINCRBYFLOAT h word 1
HINCRBYFLOAT h b 1.5
HINCRBYFLOAT h b 1e3
HINCRBYFLOAT h b -0.1
HINCRBYFLOAT h f 0.1
HINCRBYFLOAT h f 0.2
HINCRBYFLOAT h f nan
HINCRBYFLOAT h f inf
HINCRBYFLOAT h f -inf
HINCRBYFLOAT h f x
HINCRBY h f 1
HSETNX h a 5
HSETNX h z 5
HSET h "" ""
HGET h ""
HSTRLEN h ""
HEXISTS h ""
HINCRBY h "" 1
HINCRBYFLOAT h "" 1
HSET h a 1 a 2 c 3 c 4
HGETALL h
HDEL h a a a
HDEL h "" b c f new word z
EXISTS h
HSET
HGET h
HINCRBY h a
RESET
HSET h a 1 b 2
HGETALL h
HKEYS h
HRANDFIELD h 5 withvalues
HSCAN h 0
HGET h x
HGETALL n
HRANDFIELD n
EXPIRE h 1000
HSET h c 1
TTL h
HDEL h c
TTL h
HDEL h a b
HSET h a 1
TTL h
DEL h s
`

func word(r *rand.Rand) string { return string(rune('a' + r.IntN(12))) }

// words are up to n of them.
func words(r *rand.Rand, n int) string {
	some := make([]string, 1+r.IntN(n))
	for i := range some {
		some[i] = word(r)
	}
	return strings.Join(some, " ")
}

// randomHash is a random command of hashes: some fields are numbers, some long.
func randomHash(r *rand.Rand) string {
	key := fmt.Sprintf("h%d", r.IntN(3))
	value := func() string {
		switch r.IntN(8) {
		case 0:
			return word(r)
		case 1:
			return strings.Repeat(word(r), 100+r.IntN(200))
		}
		return fmt.Sprint(r.IntN(100))
	}
	switch r.IntN(18) {
	case 0, 1, 2, 3:
		pairs := ""
		for range 1 + r.IntN(4) {
			pairs += " " + word(r) + " " + value()
		}
		return []string{"HSET ", "HMSET "}[r.IntN(2)] + key + pairs
	case 4:
		return fmt.Sprintf("HSETNX %s %s %s", key, word(r), value())
	case 5, 6:
		return fmt.Sprintf("HDEL %s %s", key, words(r, 5))
	case 7:
		return fmt.Sprintf("HINCRBY %s %s %d", key, word(r), r.IntN(21)-10)
	case 8:
		return fmt.Sprintf("HINCRBYFLOAT %s %s %d.%d", key, word(r), r.IntN(21)-10, r.IntN(100))
	case 9:
		return fmt.Sprintf("HGET %s %s", key, word(r))
	case 10:
		return fmt.Sprintf("HMGET %s %s", key, words(r, 6))
	case 11:
		return fmt.Sprintf("HSTRLEN %s %s", key, word(r))
	case 12:
		return fmt.Sprintf("HEXISTS %s %s", key, word(r))
	case 13:
		return "HLEN " + key
	case 14:
		return []string{"HKEYS ", "HVALS "}[r.IntN(2)] + key
	case 15:
		return fmt.Sprintf("HRANDFIELD %s 100 WITHVALUES", key)
	case 16:
		if r.IntN(10) == 0 {
			return "DEL " + key
		}
		return fmt.Sprintf("HSCAN %s 0 COUNT 1000 MATCH [%s-z]", key, word(r))
	}
	return "HGETALL " + key
}

// forms runs f with values that are soon large, and with values that stay small.
func forms(t *testing.T, f func(*testing.T, *redistest.Client)) {
	for name, elements := range map[string]int{"large": 0, "mixed": 6, "small": 512} {
		t.Run(name, func(t *testing.T) {
			fields.Small(t, 16<<10, elements)
			f(t, redistest.Open(t, redis.Options{}).Dial(t))
		})
	}
}

func TestHashTranscript(t *testing.T) {
	forms(t, func(t *testing.T, c *redistest.Client) {
		c.Hello(3)
		c.Transcript("testdata/hashes.txt", hashBegin, randomHash)
	})
}

func TestCompareHashes(t *testing.T) {
	forms(t, func(t *testing.T, c *redistest.Client) {
		c.Hello(3)
		c.Compare("DEL h0 h1 h2", randomHash)
	})
}
