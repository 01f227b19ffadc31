package zsetcmd_test

import (
	"fmt"
	"math/rand/v2"
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

// source makes random arguments.
type source struct{ *rand.Rand }

func (s source) pick(words ...string) string { return words[s.IntN(len(words))] }
func (s source) key() string                 { return fmt.Sprintf("z%d", s.IntN(3)) }
func (s source) lex() string                 { return fmt.Sprintf("lex%d", s.IntN(2)) }
func (s source) member() string              { return fmt.Sprintf("m%d", s.IntN(24)) }
func (s source) score() string               { return fmt.Sprint(float64(s.IntN(40)-20) / 2) }
func (s source) index() int                  { return s.IntN(30) - 15 }
func (s source) pair() string                { return s.score() + " " + s.member() }
func (s source) tie() string                 { return "0 " + s.member() }
func (s source) scores() string              { return s.pick("", " WITHSCORES") }

func (s source) bound() string {
	return s.pick("", "(") + s.pick("-inf", "inf", s.score(), s.score(), s.score())
}

func (s source) lexBound() string {
	return s.pick("-", "+", "["+s.member(), "("+s.member(), "["+s.member())
}

func (s source) limit() string {
	return s.pick("", "", fmt.Sprintf(" LIMIT %d %d", s.IntN(5), s.IntN(8)-1))
}

func (s source) times(n int, f func() string) string {
	words := make([]string, 1+s.IntN(n))
	for i := range words {
		words[i] = f()
	}
	return strings.Join(words, " ")
}

func (s source) combined() string {
	return fmt.Sprintf("2 %s %s%s%s", s.key(), s.key(),
		s.pick("", " WEIGHTS "+s.score()+" "+s.score()),
		s.pick("", " AGGREGATE "+s.pick("sum", "min", "max")))
}

// random is a random command of sorted sets: the keys z have scores of many kinds, those of lex 0.
func random(r *rand.Rand) string { return commands[r.IntN(len(commands))](source{r}) }

var commands = []func(s source) string{
	func(s source) string { return "ZADD " + s.key() + " " + s.times(8, s.pair) },
	func(s source) string {
		return "ZADD " + s.key() + " " + s.pick("NX", "XX", "GT", "LT", "CH", "XX CH", "GT CH", "") +
			" " + s.times(4, s.pair)
	},
	func(s source) string {
		return "ZADD " + s.key() + " INCR " + s.pick("NX ", "XX ", "GT ", "") + s.pair()
	},
	func(s source) string {
		return "ZADD " + s.lex() + " " + s.times(8, s.tie)
	},
	func(s source) string { return "ZINCRBY " + s.key() + " " + s.pair() },
	func(s source) string { return "ZSCORE " + s.key() + " " + s.member() },
	func(s source) string { return "ZMSCORE " + s.key() + " " + s.times(4, s.member) },
	func(s source) string { return s.pick("ZRANK ", "ZREVRANK ") + s.key() + " " + s.member() },
	func(s source) string { return "ZCARD " + s.key() },
	func(s source) string { return "ZCOUNT " + s.key() + " " + s.bound() + " " + s.bound() },
	func(s source) string { return "ZLEXCOUNT " + s.lex() + " " + s.lexBound() + " " + s.lexBound() },
	func(s source) string {
		return fmt.Sprintf("%s %s %d %d%s", s.pick("ZRANGE", "ZREVRANGE"), s.key(), s.index(), s.index(),
			s.scores())
	},
	func(s source) string {
		return fmt.Sprintf("ZRANGE %s %s %s BYSCORE%s%s%s", s.key(), s.bound(), s.bound(),
			s.pick("", " REV"), s.scores(), s.limit())
	},
	func(s source) string {
		return s.pick("ZRANGEBYSCORE ", "ZREVRANGEBYSCORE ") + s.key() + " " + s.bound() + " " +
			s.bound() + s.scores() + s.limit()
	},
	func(s source) string {
		return fmt.Sprintf("ZRANGE %s %s %s BYLEX%s%s", s.lex(), s.lexBound(), s.lexBound(),
			s.pick("", " REV"), s.limit())
	},
	func(s source) string {
		return s.pick("ZRANGEBYLEX ", "ZREVRANGEBYLEX ") + s.lex() + " " + s.lexBound() + " " +
			s.lexBound() + s.limit()
	},
	func(s source) string {
		return fmt.Sprintf("ZRANGESTORE %s %s %s %s BYSCORE%s", s.key(), s.key(), s.bound(), s.bound(),
			s.limit())
	},
	func(s source) string {
		return fmt.Sprintf("ZRANGESTORE %s %s %d %d", s.key(), s.key(), s.index(), s.index())
	},
	func(s source) string { return "ZREM " + s.key() + " " + s.times(3, s.member) },
	func(s source) string { return "ZREM " + s.lex() + " " + s.times(3, s.member) },
	func(s source) string {
		return fmt.Sprintf("ZREMRANGEBYRANK %s %d %d", s.key(), s.index(), s.index()/2)
	},
	func(s source) string {
		from := s.IntN(20) - 10
		return fmt.Sprintf("ZREMRANGEBYSCORE %s %d (%d", s.key(), from, from+s.IntN(4))
	},
	func(s source) string {
		return fmt.Sprintf("ZREMRANGEBYLEX %s [m%d (m%d", s.lex(), s.IntN(20), s.IntN(20))
	},
	func(s source) string { return s.pick("ZPOPMIN ", "ZPOPMAX ") + s.key() },
	func(s source) string { return s.pick("ZPOPMIN ", "ZPOPMAX ") + s.key() + s.pick(" 0", " 1", " 4") },
	func(s source) string {
		return fmt.Sprintf("ZMPOP 2 %s %s %s COUNT %d", s.key(), s.key(), s.pick("MIN", "MAX"),
			1+s.IntN(3))
	},
	func(s source) string { return s.pick("ZUNION ", "ZINTER ") + s.combined() + s.scores() },
	func(s source) string { return s.pick("ZUNIONSTORE ", "ZINTERSTORE ") + s.key() + " " + s.combined() },
	func(s source) string { return fmt.Sprintf("ZDIFF 2 %s %s%s", s.key(), s.key(), s.scores()) },
	func(s source) string { return fmt.Sprintf("ZDIFFSTORE %s 2 %s %s", s.key(), s.key(), s.key()) },
	func(s source) string {
		return fmt.Sprintf("ZINTERCARD 2 %s %s LIMIT %d", s.key(), s.key(), s.IntN(4))
	},
}

// forms runs f with sets that are soon large, and with sets that stay small, in both versions of
// the protocol.
func forms(t *testing.T, f func(t *testing.T, c *redistest.Client, version int)) {
	for name, elements := range map[string]int{"large": 1, "mixed": 12, "small": 128} {
		for version := 2; version <= 3; version++ {
			t.Run(fmt.Sprintf("%s, version %d", name, version), func(t *testing.T) {
				zsetcmd.Small(t, 16<<10, elements)
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
