package store

import (
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv/internal/seam"
)

// Limits of the guess at how fast cells change.
const (
	// changesMax and exposureMax bound what is remembered: beyond either, the weight of all
	// is halved.
	changesMax  = 64
	exposureMax = 6 * time.Hour
	// changesMin is how many cells must have been seen to change before anything is guessed.
	changesMin = 8
	// ageMax bounds the age of a cell in an observation.
	ageMax = 10 * time.Minute
	// doubtMin is the probability of a change, in percent, above which what the cache holds
	// is read again first. If it has changed, the writes of an attempt are lost, and the
	// transaction takes twice as long; if it has not, a round trip of no data. The mean
	// would be best with some 30; this is for the slowest percent.
	doubtMin = 8
)

// changeRate guesses how fast the cells that a handle uses are changed by others: how many of
// those had changed that the cache held, when a request told, and how old they all were.
type changeRate struct {
	// limit is the age in nanoseconds beyond which a cell has probably changed; 0 is none.
	limit atomic.Int64

	mu       seam.Mutex // guards all below
	changes  int64
	exposure time.Duration // the sum of ages
}

// observe takes in that a cell had changed, or not, since it was last known to be current.
func (c *changeRate) observe(age time.Duration, changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exposure += min(max(age, 0), ageMax)
	if changed {
		c.changes++
	}
	if c.changes >= changesMax || c.exposure >= exposureMax {
		c.changes /= 2
		c.exposure /= 2
	}
	limit := int64(0)
	if c.changes >= changesMin {
		limit = max(int64(c.exposure)/(100*c.changes)*doubtMin, 1)
	}
	c.limit.Store(limit)
}

// Doubtful reports whether a cell has probably changed since it was last known to be current,
// so that it had better be read again before it is used. It is a guess.
func (s *Store) Doubtful(x Snapshot) bool {
	limit := s.changes.limit.Load()
	return limit > 0 && int64(s.rt.Now().Sub(x.Until)) > limit
}
