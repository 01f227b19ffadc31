package zsetcmd_test

import (
	"testing"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

// BenchmarkLarge runs commands on a set of 20 000 members.
func BenchmarkLarge(b *testing.B) {
	c := redistest.Open(b, redis.Options{}).Dial(b)
	fill(b, c, "z", 20_000, 500)
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
