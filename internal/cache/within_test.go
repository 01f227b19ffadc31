package cache

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/internal/budget"
)

// fill has a cache learn n values of some size that it does not know.
func fill(c *Cache, n, size int) {
	s := c.Space("a")
	for range n {
		s.LearnValue(fmt.Sprint(c.Tick()), make([]byte, size))
	}
}

func TestBudgetOfOneIsWhole(t *testing.T) {
	c := Within(new(budget.Budget), 64<<10)
	fill(c, 200, 1000)
	assert.Greater(t, c.Size(), int64(60<<10))
	assert.LessOrEqual(t, c.Size(), int64(64<<10))
}

func TestBudgetIsSharedByAllWhoUseIt(t *testing.T) {
	const size, part = 256 << 10, 256 << 10 / 8
	var b budget.Budget
	var all []*Cache
	for range 8 {
		all = append(all, Within(&b, size))
	}
	for range 4 {
		for _, c := range all {
			fill(c, 100, 1000)
		}
	}
	sum := int64(0)
	for _, c := range all {
		assert.Greater(t, c.Size(), int64(part-4<<10))
		sum += c.Size()
	}
	assert.LessOrEqual(t, sum, int64(size))
}

// TestBudgetOfWhoLearnsNothing: it keeps what it has, and the others get their parts.
func TestBudgetOfWhoLearnsNothing(t *testing.T) {
	const size = 256 << 10
	var b budget.Budget
	idle := Within(&b, size)
	fill(idle, 500, 1000)
	had := idle.Size()
	for n := range int64(3) {
		part := size / (n + 2)
		c := Within(&b, size)
		defer c.Size() // it stays
		fill(c, 500, 1000)
		assert.Greater(t, c.Size(), part-4<<10)
		assert.LessOrEqual(t, c.Size(), part)
	}
	assert.Equal(t, had, idle.Size())
	fill(idle, 1, 1000)
	assert.LessOrEqual(t, idle.Size(), int64(size/4), "it learns again, and gives up the rest")
}

func TestBudgetSharesNoKnowledge(t *testing.T) {
	var b budget.Budget
	one, two := Within(&b, 64<<10).Space("a"), Within(&b, 64<<10).Space("a")
	one.LearnValue("x", []byte("of one"))
	_, ok := two.Value("x")
	assert.False(t, ok, "a copy of a database has the same id, and other values")
}
