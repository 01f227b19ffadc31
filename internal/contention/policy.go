// Package contention is how transactions behave where others want the same keys: which keys are
// contended, how long to pause, whom to wait for, when to take locks. It sends no request, and
// decides nothing that safety depends on.
//
// That the older of two goes first is wound-wait (Rosenkrantz, Stearns, Lewis 1978).
package contention

import "time"

// Limits of pauses.
const (
	// yieldPart is the part of a write's latency that a first attempt leaves to others who
	// want the same hot key.
	yieldPart = 4
	// backoffDoublings bounds how often the pause of a younger transaction doubles.
	backoffDoublings = 5
	backoffMax       = 5 * time.Second
	// foldNum by foldDen is how many latencies of a write others have to fold the intents of
	// an attempt with hot members.
	foldNum, foldDen = 3, 2
	// roundsMin is how many write latencies a younger writer grants an older attempt
	// in any case: a validated commit has three rounds.
	roundsMin = 4
)

// raceAfter is how often a lock is refused before several tries of it race.
const raceAfter = 2

// Yield is how long an attempt leaves a hot key to others, given the latency of a write: less
// the more attempts have failed, so that those go first who have failed more often.
func Yield(latency time.Duration, failures int) time.Duration {
	return latency / yieldPart / time.Duration(1+failures)
}

// Backoff is how long the younger of two pauses that have refused each other's writes: longer
// with each failure, and a part of that which is drawn at random.
func Backoff(latency time.Duration, failures int, random uint64) time.Duration {
	d := min(latency<<min(failures, backoffDoublings), backoffMax)
	return time.Duration(random % uint64(d+1))
}

// FoldDelay is how long the intents of a committed attempt with hot members are left to others,
// who fold them with their own writes.
func FoldDelay(latency time.Duration) time.Duration { return latency * foldNum / foldDen }

// Meeting is of an undecided attempt with somebody who needs it decided.
type Meeting struct {
	// Patience is the handle's, Latency that of a write.
	Patience, Latency time.Duration
	// Ranked says that priorities decide, Older that the attempt is the younger one.
	Ranked, Older bool
	// Staged says that it commits once its writes have landed.
	Staged bool
}

// Grace is how long the attempt has, from when it was first met, or has last shown that its
// owner lives.
func (m Meeting) Grace() time.Duration {
	switch {
	case m.Ranked && m.Older && m.Staged:
		return m.Latency
	case m.Ranked && m.Older:
		return 0
	case m.Ranked: // else two could kill each other in step for ever
		return max(m.Patience, roundsMin*m.Latency)
	}
	return m.Patience
}

// Races reports whether a lock that was refused so often is to be tried several times at once.
func Races(refusals int) bool { return refusals >= raceAfter }
