package cache_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/strictkv/strictkv/internal/cache"
)

// Idle handles have lost all their entries to a busy one. The partitions that they had must not
// take memory that the cache does not count.
func TestIdleSpacesTakeNothing(t *testing.T) {
	before := heap()
	c := cache.New(32 << 20)
	idle := make([]*cache.Space, 200)
	for i := range idle {
		idle[i] = c.Space(fmt.Sprint("idle", i))
		for j := range 900 {
			read(shortName, inlined(10, 1))(idle[i], j)
		}
	}
	busy := c.Space("busy")
	for j := range 200_000 {
		read(shortName, inlined(10, 1))(busy, j)
	}
	assertHonest(t, c, before, "the entries of the last database")
	runtime.KeepAlive(idle)
}
