package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestChurn(t *testing.T) {
	var c churn
	for range changesMin - 1 {
		c.observe(time.Second, true)
	}
	assert.False(t, c.doubts(time.Hour), "too little is known")
	c.observe(time.Second, true)
	assert.True(t, c.doubts(time.Second), "all have changed")
	assert.False(t, c.doubts(time.Millisecond))

	// One in 25 changes each second.
	c = churn{}
	for i := range 2 * churnMemory {
		c.observe(time.Second, i%25 == 0)
	}
	assert.False(t, c.doubts(900*time.Millisecond))
	assert.True(t, c.doubts(1200*time.Millisecond))
	assert.Less(t, c.observations, int64(2*churnMemory))

	// What was long ago counts for less and less.
	for range 10 * churnMemory {
		c.observe(time.Second, false)
	}
	assert.False(t, c.doubts(6*time.Second))

	// Clocks that step back, and ages beyond all measure, do no harm.
	c.observe(-time.Hour, false)
	c.observe(1<<62, false)
	assert.False(t, c.doubts(-time.Hour))
	assert.LessOrEqual(t, c.exposure, 3*churnMemory*time.Second+ageMax)
}
