package zsetcmd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

// BenchmarkLarge runs commands on a set of 20 000 members.
func BenchmarkLarge(b *testing.B) {
	c := redistest.Open(b, redis.Options{}).Dial(b)
	const members, step = 20_000, 200
	for from := 0; from < members; from += step {
		var words strings.Builder
		for i := from; i < from+step; i++ {
			fmt.Fprintf(&words, " %d m%d", i, i)
		}
		c.Expect("ZADD z"+words.String(), fmt.Sprint(step))
	}
	for _, line := range []string{
		"ZSCORE z m700", "ZINCRBY z 1 m700", "ZRANGE z 0 9", "ZREVRANGE z 0 9", "ZRANK z m19000",
		"ZRANGEBYSCORE z 10000 10009", "ZCOUNT z -inf inf",
	} {
		b.Run(line, func(b *testing.B) {
			for b.Loop() {
				c.Do(line)
			}
		})
	}
}
