package strictkv

// Stats count what a handle has done since it was opened.
type Stats struct {
	// Transactions that have ended: Committed ones wrote something, ReadOnly ones
	// did not, Failed ones ended with an error of their function, and InDoubt ones
	// with ErrInDoubt.
	Committed, ReadOnly, Failed, InDoubt int64
	// Attempts to commit, by protocol: one key; several keys, all that were read
	// among them; some key read but not written.
	Direct, Parallel, Validated int64
	// Grouped counts transactions, of those committed, that this handle has committed
	// together with others that wanted the same keys.
	Grouped int64
	// Escalated counts the transactions that have taken locks, after many failed attempts.
	Escalated int64
	// Retries by cause: something that was read had changed (the function was run
	// again), or a conditional write was refused.
	StaleReads, Refused int64
	// Reads of keys that the cache served, and that needed a request.
	CacheHits, CacheMisses int64
	// Requests: Gets (of which NotModified were answered so), Puts (of which Unknown
	// had an unknown outcome), Deletes, and Lists (pages). Resent counts those that were
	// sent again after a passing error.
	Gets, NotModified, Puts, Unknown, Deletes, Lists, Resent int64
	// Bytes of objects read and written.
	BytesRead, BytesWritten int64
	// KeepsTombstones says that no sweep removes the tombstones of deleted keys: the store
	// lacks a DELETE that is conditional, or is not known to have it (see WithProbe).
	KeepsTombstones bool
}

// Stats returns the counters. They are not one snapshot: work that is under way may be
// counted in part.
func (db *DB) Stats() Stats {
	t, r := db.engine.Stats(), db.st.Counts()
	return Stats{
		Committed: t.Committed.Load(), ReadOnly: t.ReadOnly.Load(),
		Failed: t.Failed.Load(), InDoubt: t.InDoubt.Load(),
		Direct: t.Direct.Load(), Parallel: t.Parallel.Load(), Validated: t.Validated.Load(),
		Grouped: t.Grouped.Load(), Escalated: t.Escalated.Load(),
		StaleReads: t.StaleReads.Load(), Refused: t.Refused.Load(),
		CacheHits: t.Hits.Load(), CacheMisses: t.Misses.Load(),
		Gets: r.Gets.Load(), NotModified: r.NotModified.Load(),
		Puts: r.Puts.Load(), Unknown: r.Unknown.Load(),
		Deletes: r.Deletes.Load(), Lists: r.Lists.Load(), Resent: r.Retried.Load(),
		BytesRead: r.BytesRead.Load(), BytesWritten: r.BytesWritten.Load(),
		KeepsTombstones: !db.st.ConditionalDelete(),
	}
}

// Sub returns what has been counted since an earlier state. KeepsTombstones stays as it is.
func (s Stats) Sub(earlier Stats) Stats {
	return Stats{
		Committed: s.Committed - earlier.Committed, ReadOnly: s.ReadOnly - earlier.ReadOnly,
		Failed: s.Failed - earlier.Failed, InDoubt: s.InDoubt - earlier.InDoubt,
		Direct: s.Direct - earlier.Direct, Parallel: s.Parallel - earlier.Parallel,
		Validated: s.Validated - earlier.Validated, Grouped: s.Grouped - earlier.Grouped,
		Escalated: s.Escalated - earlier.Escalated, StaleReads: s.StaleReads - earlier.StaleReads,
		Refused: s.Refused - earlier.Refused, CacheHits: s.CacheHits - earlier.CacheHits,
		CacheMisses: s.CacheMisses - earlier.CacheMisses, Gets: s.Gets - earlier.Gets,
		NotModified: s.NotModified - earlier.NotModified, Puts: s.Puts - earlier.Puts,
		Unknown: s.Unknown - earlier.Unknown, Deletes: s.Deletes - earlier.Deletes,
		Lists: s.Lists - earlier.Lists, Resent: s.Resent - earlier.Resent,
		BytesRead:       s.BytesRead - earlier.BytesRead,
		BytesWritten:    s.BytesWritten - earlier.BytesWritten,
		KeepsTombstones: s.KeepsTombstones,
	}
}
