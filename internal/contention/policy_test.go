package contention

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const ms = time.Millisecond

func TestYield(t *testing.T) {
	assert.Equal(t, 20*ms, Yield(80*ms, 0))
	assert.Equal(t, 10*ms, Yield(80*ms, 1), "who has failed waits less")
	assert.Zero(t, Yield(0, 3))
}

func TestBackoff(t *testing.T) {
	const most = 1<<64 - 1
	for _, x := range []struct {
		latency  time.Duration
		failures int
		longest  time.Duration
	}{
		{50 * ms, 0, 50 * ms},
		{50 * ms, 1, 100 * ms},
		{50 * ms, 5, 1600 * ms},
		{50 * ms, 50, 1600 * ms},
		{time.Second, 50, 5 * time.Second},
	} {
		assert.Zero(t, Backoff(x.latency, x.failures, 0))
		assert.Equal(t, x.longest, Backoff(x.latency, x.failures, uint64(x.longest)))
		assert.Zero(t, Backoff(x.latency, x.failures, uint64(x.longest)+1))
		assert.LessOrEqual(t, Backoff(x.latency, x.failures, most), x.longest)
	}
}

func TestGrace(t *testing.T) {
	for _, x := range []struct {
		name string
		m    Meeting
		want time.Duration
	}{
		{"an older one meets a staged attempt", Meeting{Ranked: true, Older: true, Staged: true},
			50 * ms},
		{"an older one meets a pending attempt", Meeting{Ranked: true, Older: true}, 0},
		{"a younger one", Meeting{Ranked: true, Staged: true}, 2 * time.Second},
		{"a younger one with a slow store", Meeting{Ranked: true, Latency: time.Second},
			4 * time.Second},
		{"a reader", Meeting{Staged: true}, 2 * time.Second},
		{"a reader with a slow store", Meeting{Latency: time.Second}, 2 * time.Second},
	} {
		x.m.Patience = 2 * time.Second
		if x.m.Latency == 0 {
			x.m.Latency = 50 * ms
		}
		assert.Equal(t, x.want, x.m.Grace(), x.name)
	}
}

func TestRaces(t *testing.T) {
	assert.False(t, Races(1))
	assert.True(t, Races(2))
}

func TestFoldDelay(t *testing.T) {
	assert.Equal(t, 75*ms, FoldDelay(50*ms))
}
