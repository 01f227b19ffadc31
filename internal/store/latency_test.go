package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestLatency: before anything is measured there is a guess; the first measurement replaces it,
// and each one after that weighs an eighth.
func TestLatency(t *testing.T) {
	l := &latency{}
	assert.Equal(t, latencyStart, l.mean())
	l.add(8 * time.Second)
	assert.Equal(t, 8*time.Second, l.mean())
	l.add(16 * time.Second)
	assert.Equal(t, 9*time.Second, l.mean())
	for range 1000 {
		l.add(0)
	}
	assert.Less(t, l.mean(), time.Microsecond)
	assert.Positive(t, l.mean(), "it is not the guess again")
}
