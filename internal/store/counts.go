package store

import (
	"sync/atomic"
	"time"
)

// Counts are the requests of a Store, and what they moved.
type Counts struct {
	// Gets counts reads of objects; NotModified those of them that were answered
	// so.
	Gets, NotModified atomic.Int64
	// Puts counts writes; Unknown those of them whose outcome was unknown.
	Puts, Unknown atomic.Int64
	// Deletes counts removals of objects, and Lists pages of listings.
	Deletes, Lists atomic.Int64
	// Retried counts requests that were sent again after a passing error.
	Retried atomic.Int64
	// BytesRead and BytesWritten count the bytes of objects.
	BytesRead, BytesWritten atomic.Int64
}

// latencyStart is the average before anything was measured.
const latencyStart = 50 * time.Millisecond

// latency is a moving average in nanoseconds; each sample weighs an eighth.
type latency struct{ v atomic.Int64 }

func (l *latency) mean() time.Duration {
	if v := l.v.Load(); v != 0 {
		return time.Duration(v)
	}
	return latencyStart
}

func (l *latency) add(d time.Duration) {
	old := l.v.Load()
	if old == 0 {
		old = int64(d)
	}
	l.v.Store(max(1, old+(int64(d)-old)/8))
}
