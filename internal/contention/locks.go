package contention

import "time"

// Limits of what locks are taken for.
const (
	// locksToll is the toll from which on a transaction takes locks. One key's worth of it is
	// what a member costs that a writer of one key alone has refused, who would never wait.
	locksToll = 6
	oneKey    = 2
	// viewRuns is how many times a transaction that only reads has been overtaken when it takes
	// locks. A run reads each key about twice, locks take two writes, which cost 12 times as much:
	// by then the runs have cost what the locks will, so that both together are at most twice the
	// best choice (ski rental: Karlin, Manasse, Rudolph, Sleator, "Competitive snoopy caching",
	// 1988). viewRunsMet is the same for one that has met the locks of others.
	viewRuns    = 11
	viewRunsMet = 21
	// slowLatencies is how many latencies of a write make a function slow: by the time that it
	// has ended, others have replaced what it read. One quicker than slowMin never is.
	slowLatencies = 4
	slowMin       = 10 * time.Millisecond
)

// Failure is an attempt that has come to nothing, or a run whose reads were old before it could
// make one.
type Failure struct {
	// First is set for the first of a transaction: the values in the cache may have been old.
	First bool
	// Partial is set if a hot member went ahead of the others.
	Partial bool
	// Stale is set if what it had read, and not written, had changed.
	Stale bool
	// Landed and Refused count its members; Direct are those of the latter that were refused by
	// who writes one key alone.
	Landed, Refused, Direct int
	// Ran is how long its function took, without what it waited for; a write takes Latency.
	Ran, Latency time.Duration
}

// Toll is what a failure adds to a transaction's claim on locks.
//
// Members that refused an attempt of which others had landed have torn it apart, each by another
// rival. Writers of one key do that for ever, as they never look; against those who want several
// keys themselves it takes twice as much, for if all of these take locks, all of them wait. The
// first attempt counts for one member, as the values in the cache may have been old.
//
// One that failed at the hot member, before anything had landed, has stood in line there and
// lost. That happens to all rivals but one, each time, and costs nothing here.
//
// Of an attempt of one request nothing lands: as landed counts what would have.
func (f Failure) Toll() int {
	torn := f.Refused + f.Direct*(oneKey-1)
	switch {
	case f.Slow():
		return locksToll
	case f.Landed == 0:
		return 0
	case f.Stale:
		return oneKey
	case f.First:
		return min(max(torn, 1), oneKey)
	case f.Partial: // what it knew of those behind the hot member may have been old, too
		return min(torn, locksToll-1)
	}
	return max(torn, 1)
}

// Slow reports whether the function takes so long that quick rivals always are faster.
func (f Failure) Slow() bool { return f.Ran > max(slowLatencies*f.Latency, slowMin) }

// LocksReads reports whether a transaction that only reads so many keys is to lock them, after so
// many runs whose reads proved to be old. Where it has met locks of others, it waits longer: they
// hold the writers back for it as well, who need to get on between the locks of one and the next.
func LocksReads(runs, keys int, met bool) bool {
	if met {
		return keys > 1 && runs >= viewRunsMet
	}
	return keys > 1 && runs >= viewRuns
}

// Locks reports whether a transaction that wants so many keys is to take locks. One key alone
// needs none, to lock it is as hard as to write it, unless its function is slow.
func Locks(toll, keys int, slow bool) bool {
	return toll >= locksToll && (keys > 1 || slow && keys > 0)
}
