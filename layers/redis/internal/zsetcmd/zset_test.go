package zsetcmd_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
	"github.com/strictkv/strictkv/layers/redis/internal/zsetcmd"
)

// begin are commands that random ones would seldom come to.
const begin = `
SET s x
ZADD s 1 a
ZADD z 1
ZADD z nx 1 a b
ZADD z x a
ZADD z 1 a x b
ZADD z nan a
ZADD z nx xx 1 a
ZADD z gt lt 1 a
ZADD z nx gt 1 a
ZADD z incr 1 a 2 b
ZADD z xx incr 1 a
ZADD z xx 1 a
ZADD s xx x a
EXISTS z
ZADD z inf a
ZADD z incr -inf a
ZINCRBY z -inf a
ZADD z -inf b +inf c -0 d 0 e 1e3 f
ZRANGE z 0 -1 withscores
ZADD z 1 ""
ZSCORE z ""
ZSCORE z d
ZINCRBY s 1 a
ZINCRBY z x a
ZINCRBY z 1.5 g
ZSCORE s a
ZSCORE z n
ZSCORE n n
ZMSCORE z a n b
ZMSCORE n a n
ZMSCORE s a
ZCARD s
ZCARD n
ZCOUNT z x 1
ZCOUNT s 0 1
ZCOUNT z (1 (1
ZCOUNT z -inf +inf
ZCOUNT z (-inf (inf
ZCOUNT z nan 1
ZLEXCOUNT z a b
ZLEXCOUNT n - +
ZLEXCOUNT s - +
ZLEXCOUNT s x +
ZRANK s a
ZRANK z n
ZRANK n n
ZREVRANK z a
ZRANGE z x 1
ZRANGE s 0 1
ZRANGE z 0 1 limit 0 1
ZRANGE z 0 1 limit 0 -1
ZRANGE z 0 1 limit 0
ZRANGE z 0 1 limit x 1 bylex
ZRANGE z 0 1 bylex
ZRANGE z - + bylex withscores
ZRANGE z 0 1 up
ZRANGE z (1 x byscore
ZRANGE z 0 1000 byscore limit 1 2 withscores
ZRANGE z 0 1000 byscore limit -1 2
ZRANGE z 0 1000 byscore limit 1 0
ZRANGE z 0 1000 byscore limit 1 -5
ZRANGE z 1000 0 byscore rev
ZRANGE z 0 -1 rev
ZREVRANGE z 0 -1 rev
ZREVRANGE z 0 -1 limit 0 1
ZREVRANGE z 0 1 withscores
ZRANGEBYSCORE z 0 1 bylex
ZRANGEBYSCORE z 0 inf withscores limit 1 1
ZREVRANGEBYSCORE z inf (0 withscores limit 1 1
ZRANGEBYLEX z - + withscores
ZREVRANGEBYLEX z + -
ZRANGESTORE n z 0 1 withscores
ZRANGESTORE n z 0 1
ZRANGESTORE n s 0 1
ZRANGE n 0 -1 withscores
ZRANGESTORE s n 0 0
TYPE s
ZRANGESTORE s none 0 1
EXISTS s
SET s x
ZREM s a
ZREM none a
ZREMRANGEBYRANK z x 1
ZREMRANGEBYRANK s 0 1
ZREMRANGEBYSCORE z x 1
ZREMRANGEBYLEX z x +
ZPOPMIN s
ZPOPMIN none
ZPOPMIN none 1
ZPOPMIN z 0
ZPOPMIN s 0
ZPOPMIN z -1
ZPOPMIN z x
ZPOPMIN z 1 2
ZPOPMIN z
ZPOPMAX z 2
ZMPOP 0 z min
ZMPOP x z min
ZMPOP 1 z mid
ZMPOP 2 z min
ZMPOP 1 z min count 0
ZMPOP 1 z min count x
ZMPOP 1 z min count
ZMPOP 1 none min
ZMPOP 2 none s min
ZMPOP 2 none z max count 2
ZRANDMEMBER none
ZRANDMEMBER s
ZRANDMEMBER none 3
ZRANDMEMBER z x
ZRANDMEMBER z 0
ZRANDMEMBER z 1 up
ZUNION x z
ZUNION 0 z
ZUNION 2 z
ZUNION 1 s
ZUNION 1 s weights
ZUNION 1 z weights
ZUNION 1 z weights x
ZUNION 1 z weights 1 2
ZUNION 1 z aggregate up
ZUNION 1 z aggregate
ZUNION 1 z withscores
ZUNIONSTORE n 0 z
ZUNIONSTORE n 1 z withscores
ZUNIONSTORE n 2 z none weights 0 1
ZRANGE n 0 -1 withscores
ZINTER 2 z none
ZINTERSTORE n 2 z none
EXISTS n
ZINTERCARD 0 z
ZINTERCARD x z
ZINTERCARD 1 z limit -1
ZINTERCARD 1 z limit x
ZINTERCARD 1 z limit
ZINTERCARD 1 z limit 1
ZINTERCARD 1 z withscores
ZDIFF 1 z weights 1
ZDIFF 2 z none withscores
ZDIFFSTORE n 2 z z
EXISTS n
ZSCAN z x
ZSCAN z 0 count 0
ZSCAN z 0 count x
ZSCAN z 0 match
ZSCAN z 0 type zset
ZSCAN s 0
ZSCAN none 0
ZSCAN none x
ZSCAN none 0 count x
ZSCAN none 0 type zset
ZSCAN z 0 match [d-e] count 100
ZADD l 0 a 0 aa 0 ab 0 b 0 "" 0 "\x00"
ZRANGEBYLEX l - (b
ZRANGEBYLEX l [ +
ZRANGEBYLEX l ( +
ZRANGEBYLEX l + -
ZRANGEBYLEX l [b [a
ZREMRANGEBYLEX l (a [ab
ZREVRANGEBYLEX l + - limit 1 2
ZLEXCOUNT l (a [b
`

// templates are of random commands. One of words with a bar between them is chosen, none if there
// is nothing before it. Arguments are made for words with a dollar: the keys $key have scores of
// many kinds, those $lex have 0.
var templates = strings.Split(strings.TrimSpace(`
ZADD $key $pairs
ZADD $key NX|XX|GT|LT|CH|GT $pairs
ZADD $key XX|GT CH $pairs
ZADD $key INCR |NX|XX|GT $pair
ZADD $lex $ties
ZINCRBY $key $pair
ZSCORE $key $member
ZMSCORE $key $members
ZRANK|ZREVRANK $key $member
ZCARD $key
ZCOUNT $key $bound $bound
ZLEXCOUNT $lex $lexbound $lexbound
ZRANGE|ZREVRANGE $key $index $index |WITHSCORES
ZRANGE $key $bound $bound BYSCORE |REV |WITHSCORES $limit
ZRANGEBYSCORE|ZREVRANGEBYSCORE $key $bound $bound |WITHSCORES $limit
ZRANGE $lex $lexbound $lexbound BYLEX |REV $limit
ZRANGEBYLEX|ZREVRANGEBYLEX $lex $lexbound $lexbound $limit
ZRANGESTORE $key $key $bound $bound BYSCORE |REV $limit
ZRANGESTORE $key $key $index $index
ZREM $key|$lex $members
ZREM $key|$lex $member
ZREMRANGEBYRANK $key $index 3|-9
ZREMRANGEBYSCORE $key ($score $score
ZREMRANGEBYLEX $lex ($member [$member
ZPOPMIN|ZPOPMAX $key
ZPOPMIN|ZPOPMAX $key 0|1|4
ZMPOP 2 $key $key MIN|MAX COUNT 1|3
ZUNION|ZINTER 2 $key $key |WITHSCORES
ZUNION|ZINTER 2 $key $key AGGREGATE SUM|MIN|MAX WITHSCORES
ZUNIONSTORE|ZINTERSTORE $key 2 $key $key WEIGHTS $score $score AGGREGATE SUM|MIN|MAX
ZUNIONSTORE|ZINTERSTORE $key 3 $key $key $lex
ZDIFF 2 $key $key |WITHSCORES
ZDIFFSTORE $key 2 $key $key
ZINTERCARD 2 $key $key LIMIT 0|1|3
`), "\n")

var dollar = regexp.MustCompile(`\$[a-z]+`)

// random is a random command of sorted sets.
func random(r *rand.Rand) string {
	var words []string
	for _, word := range strings.Fields(templates[r.IntN(len(templates))]) {
		choice := strings.Split(word, "|")
		word = choice[r.IntN(len(choice))]
		words = append(words, dollar.ReplaceAllStringFunc(word, func(what string) string {
			return argument(r, what[1:])
		}))
	}
	return strings.Join(words, " ")
}

// argument makes one, or several.
func argument(r *rand.Rand, what string) string {
	times := func(most int, what string) string {
		words := make([]string, 1+r.IntN(most))
		for i := range words {
			words[i] = argument(r, what)
		}
		return strings.Join(words, " ")
	}
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	switch what {
	case "key":
		return fmt.Sprintf("z%d", r.IntN(3))
	case "lex":
		return fmt.Sprintf("lex%d", r.IntN(2))
	case "member":
		return fmt.Sprintf("m%d", r.IntN(24))
	case "members":
		return times(4, "member")
	case "score":
		return fmt.Sprint(float64(r.IntN(40)-20) / 2)
	case "pair":
		return argument(r, "score") + " " + argument(r, "member")
	case "pairs":
		return times(8, "pair")
	case "tie":
		return "0 " + argument(r, "member")
	case "ties":
		return times(8, "tie")
	case "index":
		return fmt.Sprint(r.IntN(30) - 15)
	case "bound":
		return pick("", "(") + pick("-inf", "inf", argument(r, "score"), argument(r, "score"))
	case "lexbound":
		return pick("-", "+", "["+argument(r, "member"), "("+argument(r, "member"))
	case "limit":
		return pick("", "", fmt.Sprintf("LIMIT %d %d", r.IntN(5), r.IntN(8)-1))
	}
	panic("no argument: " + what)
}

// forms runs f with sets that are soon large, and with sets that stay small, in both versions of
// the protocol.
func forms(t *testing.T, f func(t *testing.T, c *redistest.Client, version int)) {
	for name, elements := range map[string]int{"large": 1, "mixed": 12, "small": 128} {
		for version := 2; version <= 3; version++ {
			t.Run(fmt.Sprintf("%s, version %d", name, version), func(t *testing.T) {
				zsetcmd.Small(t, elements, 4)
				c := redistest.Open(t, redis.Options{}).Dial(t)
				f(t, c, version)
			})
		}
	}
}

func TestTranscript(t *testing.T) {
	forms(t, func(_ *testing.T, c *redistest.Client, version int) {
		c.Hello(version)
		c.Transcript(fmt.Sprintf("testdata/transcript%d.txt", version), begin, random)
	})
}

func TestCompare(t *testing.T) {
	forms(t, func(_ *testing.T, c *redistest.Client, version int) {
		c.Hello(version)
		c.Compare("DEL z0 z1 z2 lex0 lex1", random)
	})
}
