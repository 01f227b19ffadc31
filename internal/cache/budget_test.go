package cache

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fill has a cache learn n values of some size that it does not know.
func fill(c *Cache, n, size int) {
	s := c.Space("a")
	for range n {
		s.LearnValue(fmt.Sprint(c.Tick()), make([]byte, size))
	}
}

func TestBudgetOfOneIsWhole(t *testing.T) {
	var b Budget
	c := Within(&b, 64<<10)
	fill(c, 200, 1000)
	assert.Greater(t, c.Size(), int64(60<<10))
	assert.LessOrEqual(t, c.Size(), int64(64<<10))
	assert.Equal(t, c.Size(), b.used.Load())
}

func TestBudgetIsSharedByAllWhoUseIt(t *testing.T) {
	const size = 256 << 10
	var b Budget
	var all []*Cache
	for range 8 {
		all = append(all, Within(&b, size))
	}
	for range 4 {
		for _, c := range all {
			fill(c, 100, 1000)
		}
	}
	assert.LessOrEqual(t, b.used.Load(), int64(size))
	for _, c := range all {
		assert.Greater(t, c.Size(), int64(size/8-4<<10), "an equal part")
		assert.LessOrEqual(t, c.Size(), int64(size/8+4<<10))
	}
}

// TestBudgetOfWhoLearnsNothing: it keeps what it has, and the others get their parts.
func TestBudgetOfWhoLearnsNothing(t *testing.T) {
	const size = 256 << 10
	var b Budget
	idle := Within(&b, size)
	fill(idle, 500, 1000)
	had := idle.Size()
	all := []*Cache{idle}
	for range 3 {
		c := Within(&b, size)
		fill(c, 500, 1000)
		all = append(all, c)
		assert.Greater(t, c.Size(), int64(size/len(all)-4<<10), "an equal part")
		assert.LessOrEqual(t, c.Size(), int64(size/len(all)))
	}
	assert.Equal(t, had, idle.Size())
	fill(idle, 1, 1000)
	assert.LessOrEqual(t, idle.Size(), int64(size/4), "it learns again, and gives up the rest")
	runtime.KeepAlive(all)
}

func TestBudgetGetsBackWhatACacheTook(t *testing.T) {
	var b Budget
	kept := Within(&b, 64<<10)
	fill(kept, 1, 1000)
	func() { fill(Within(&b, 64<<10), 10, 1000) }()
	for b.caches.Load() > 1 {
		runtime.GC()
	}
	require.Equal(t, kept.Size(), b.used.Load())
	runtime.KeepAlive(kept)
}

func TestBudgetChangesNothingThatIsKnown(t *testing.T) {
	var b Budget
	one, two := Within(&b, 64<<10).Space("a"), Within(&b, 64<<10).Space("a")
	one.LearnValue("x", []byte("of one"))
	_, ok := two.Value("x")
	assert.False(t, ok, "a copy of a database has the same id, and other values")
}
