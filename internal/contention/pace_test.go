package contention_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/internal/contention"
)

// TestPace: who is young pauses, about half of the time left; who is near its turn does not.
func TestPace(t *testing.T) {
	const latency, s = 70 * time.Millisecond, time.Second
	for name, tc := range map[string]struct {
		wait, age   time.Duration
		least, most time.Duration
	}{
		"nothing known":   {0, 0, 0, 0},
		"a few rivals":    {s, 0, 0, 0},
		"a crowd":         {10 * s, 0, 2400 * time.Millisecond, 4100 * time.Millisecond},
		"half way":        {10 * s, 4 * s, 900 * time.Millisecond, 1700 * time.Millisecond},
		"at the front":    {10 * s, 6 * s, 0, 0},
		"older than that": {10 * s, 60 * s, 0, 0},
		"a huge crowd":    {1000 * s, 0, 3700 * time.Millisecond, 6300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			for _, random := range []uint64{0, 1, math.MaxInt64, math.MaxUint64} {
				d := contention.Pace(tc.wait, tc.age, latency, random)
				assert.GreaterOrEqual(t, d, tc.least)
				assert.LessOrEqual(t, d, tc.most)
			}
		})
	}
}

// TestWait falls at once, and rises slowly.
func TestWait(t *testing.T) {
	const s = time.Second
	assert.Equal(t, 7*s, contention.Wait(0, 7*s))
	assert.Equal(t, s, contention.Wait(7*s, s))
	assert.Equal(t, 3*s, contention.Wait(2*s, 60*s))
}

// TestPaceOfAStoreThatTakesNoTime: there may be nothing left to pause for.
func TestPaceOfAStoreThatTakesNoTime(t *testing.T) {
	for wait := range time.Duration(10) {
		assert.LessOrEqual(t, contention.Pace(wait, 0, 0, 5), wait)
	}
}

// TestStandBack: who was held up stays away, longer each time, but not for ever.
func TestStandBack(t *testing.T) {
	const s = time.Second
	assert.False(t, contention.HeldUp(3*s, s))
	assert.True(t, contention.HeldUp(4*s, s))
	assert.False(t, contention.HeldUp(0, 0), "a store that takes no time")
	for _, tc := range []struct {
		took  time.Duration
		times int
		most  time.Duration
	}{
		{2 * s, 0, 2 * s}, {2 * s, 1, 4 * s}, {2 * s, 4, 32 * s}, {2 * s, 5, 32 * s},
		{10 * s, 4, 60 * s}, {0, 9, 0},
	} {
		assert.Equal(t, tc.most, contention.StandBack(tc.took, tc.times, uint64(tc.most)))
		assert.Zero(t, contention.StandBack(tc.took, tc.times, uint64(tc.most)+1))
	}
}
