package contention

import "time"

// Limits of pacing.
const (
	// frontLatencies is how many latencies of a write before its turn is expected a transaction
	// begins to try all the time, and frontPercent how much of the wait, if that is longer: those
	// who are that near keep the key busy.
	frontLatencies = 8
	frontPercent   = 35
	// paceLatencies is the shortest time left that is worth a pause: what was read is old
	// after it.
	paceLatencies = 8
	// paceMax is the longest pause.
	paceMax = 5 * time.Second
	// queueLatencies is how many times longer than a write usually takes the store has held one
	// up that was then refused, and queueMin how long at least.
	queueLatencies = 4
	queueMin       = 250 * time.Millisecond
	// queueDoublings bounds how often the pause after that doubles, queueMax its length.
	queueDoublings = 4
	queueMax       = time.Minute
	// riseNum by riseDen is the factor by which the expected wait may grow at once.
	riseNum, riseDen = 3, 2
)

// Pace is how long a transaction of some age leaves a hot key to others, where those of this
// process have lately taken wait from their beginning to their commit: nothing, if its turn is
// near, else about half of the time left. In a crowd of n the wait is n commits' time, whoever
// wins; if each tries all the time, a commit costs n tries. The try in between is for the case
// that the others have gone: then the next wait is half as long.
func Pace(wait, age, latency time.Duration, random uint64) time.Duration {
	front := max(frontLatencies*latency, wait*frontPercent/100)
	left := wait - front - age
	if left <= paceLatencies*latency {
		return 0
	}
	d := min(left/2, paceMax)
	return d*3/4 + time.Duration(random%uint64(d/2+1))
}

// Wait is the wait that is expected after a transaction has committed at some age, where before
// was: it falls at once, and rises slowly, so that who was unlucky once is not made to wait for
// that again.
func Wait(before, age time.Duration) time.Duration {
	if before == 0 {
		return age
	}
	return min(age, before*riseNum/riseDen)
}

// HeldUp reports whether the store let a write wait, where one usually takes some latency.
func HeldUp(took, latency time.Duration) bool {
	return took >= max(queueLatencies*latency, queueMin)
}

// StandBack is how long a transaction stays away whose write the store has held up for so long, to
// refuse it in the end. A store that lets writes of one object wait in line, instead of answering
// that they are too many, takes as long for those that are refused as for the others: while each of
// n rivals has one in the line, n-1 of n turns are lost. So the pause doubles each time, as in
// exponential back-off (Metcalfe, Boggs, "Ethernet", 1976), until the line is nearly empty.
func StandBack(took time.Duration, times int, random uint64) time.Duration {
	d := min(took<<min(times, queueDoublings), queueMax)
	return time.Duration(random % uint64(d+1))
}
