package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// doubts reports whether a cell of that age has probably changed.
func (c *changeRate) doubts(age time.Duration) bool {
	limit := c.limit.Load()
	return limit > 0 && int64(age) > limit
}

func TestChangeRate(t *testing.T) {
	c := &changeRate{}
	for range changesMin - 1 {
		c.observe(time.Second, true)
	}
	assert.False(t, c.doubts(time.Hour), "too little is known")
	c.observe(time.Second, true)
	assert.True(t, c.doubts(time.Second), "all have changed")
	assert.False(t, c.doubts(time.Millisecond))

	// One in 25 changes each second; most are seen soon.
	c = &changeRate{}
	for i := range 10_000 {
		c.observe(time.Second, i%25 == 0)
		c.observe(time.Millisecond, false)
	}
	assert.False(t, c.doubts(1800*time.Millisecond))
	assert.True(t, c.doubts(2400*time.Millisecond))
	assert.Less(t, c.changes, int64(changesMax))

	// What was long ago counts for less and less.
	for range 1000 {
		c.observe(time.Minute, false)
	}
	assert.False(t, c.doubts(time.Minute))
	for range 10 * changesMax {
		c.observe(time.Second, true)
	}
	assert.True(t, c.doubts(time.Second))

	// Clocks that step back, and ages beyond all measure, do no harm.
	c.observe(-time.Hour, false)
	c.observe(1<<62, false)
	assert.False(t, c.doubts(-time.Hour))
	assert.LessOrEqual(t, c.exposure, exposureMax)
}
