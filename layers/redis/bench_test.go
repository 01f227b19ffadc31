package redis_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

// BenchmarkCommands measures commands of 2 kB values over a socket, of a database in memory, one by
// one and sixteen at once.
func BenchmarkCommands(b *testing.B) {
	value := strings.Repeat("v", 2000)
	for name, format := range map[string]string{
		"get": "GET key:%d", "set": "SET key:%d " + value, "incr": "INCR n:%d", "ping": "PING",
	} {
		for _, chained := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/chained=%d", name, chained), func(b *testing.B) {
				s := redistest.Open(b, redis.Options{})
				c := s.Dial(b)
				for i := range 100 {
					c.Do(fmt.Sprintf("SET key:%d %s", i, value))
				}
				commands := make([]string, chained)
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					for i := range commands {
						commands[i] = format
						if name != "ping" {
							commands[i] = fmt.Sprintf(format, n%100)
						}
						n++
					}
					c.Send(commands...)
					for range commands {
						require.NotEqual(b, byte('-'), c.Receive()[0])
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/command")
			})
		}
	}
}
