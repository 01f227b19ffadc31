package listcmd_test

import (
	"testing"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

// BenchmarkLarge runs commands on a list of 20 000 elements.
func BenchmarkLarge(b *testing.B) {
	c := redistest.Open(b, redis.Options{}).Dial(b)
	fill(b, c, "l", 20_000, 500)
	for _, line := range []string{
		"LINDEX l 10000", "LRANGE l 10000 10099", "LSET l 10000 x", "RPUSH l x", "LPUSH l x",
		"RPOP l", "LMOVE l l left right",
	} {
		b.Run(line, func(b *testing.B) {
			for b.Loop() {
				c.Do(line)
			}
		})
	}
}
