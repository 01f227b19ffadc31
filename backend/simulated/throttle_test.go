package simulated

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestThrottleForgets(t *testing.T) {
	w := newThrottle()
	now := time.Unix(0, 0)
	for i := range 5 * throttleMin {
		w.take(fmt.Sprint(i), now)
		now = now.Add(time.Millisecond)
	}
	assert.LessOrEqual(t, len(w.paid), throttleMin, "objects remembered")
	assert.Contains(t, w.paid, fmt.Sprint(5*throttleMin-1), "an object just written")

	// More objects in one interval than throttleMin: it does not look at all of
	// them for each.
	for i := range 3 * throttleMin {
		w.take(fmt.Sprint("crowd", i), now)
	}
	assert.GreaterOrEqual(t, w.max, 4*throttleMin)
}
