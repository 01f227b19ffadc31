package replica

import (
	"bytes"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
)

// records keeps in memory what reads of single keys have found: a value, or that there is none.
//
// What is committed is not seen before a snapshot with it is shown, and each snapshot that is shown
// has a number, its edition. What the cache says of a key must be what the latest edition says,
// although readers of older ones may still be under way. So:
//
//  1. It takes what was found in its own edition alone (keep).
//  2. Before a later edition is shown, the cache becomes that one's: it takes nothing any more that
//     was found in an older one. Then all keys are removed that batches have changed since the
//     older one (advance). Nobody can read the later one yet, so they stay away.
//  3. Only then it is shown. Who has read it finds no older value of any key from then on: neither
//     here, nor in a snapshot.
//  4. If nobody can tell which keys have changed, or nothing was shown, a new cache takes the place
//     of this one, when the edition is shown: so it does after damage.
//
// Keep decides under the lock that removing the key takes, so that what it puts in of the older
// edition is there to be removed. Keys that no batch has changed are the same in both editions, so
// that a hit is right in either. That is why Reads one after the other never go back: neither a key
// nor, of an Instant replica, the instant.
//
// Views and scans read their snapshot, and nothing here.
type records struct {
	edition atomic.Uint64 // it takes what is found in that one
	cache   *otter.Cache[string, found]
}

// found is what there is of a key. It is never changed.
type found struct {
	absent  bool
	expires int64 // in nanoseconds since 1970; 0 for never
	value   []byte
}

const (
	// foundMax is the size of the largest value that is kept, in bytes: of larger ones, reading is
	// mostly copying.
	foundMax = 64 << 10

	// foundSize is what a record takes beside its key and its value, in bytes: measured, and
	// rounded up.
	foundSize = 160

	// changedMax is how many changed keys are noted for records.advance at most.
	changedMax = 10_000
)

// newRecords makes a cache of at most so many bytes.
func newRecords(size int64, edition uint64) *records {
	r := &records{cache: otter.Must(&otter.Options[string, found]{
		MaximumWeight: uint64(size),
		Weigher: func(name string, f found) uint32 {
			return uint32(len(name) + len(f.value) + foundSize)
		},
	})}
	r.edition.Store(edition)
	return r
}

// get returns what there is of a key, and reports whether it knows.
func (r *records) get(name string) (found, bool) {
	if r == nil {
		return found{}, false
	}
	return r.cache.GetIfPresent(name)
}

// keep puts in what was found in an edition, unless the cache is of a later one. The value stays
// the caller's.
func (r *records) keep(edition uint64, name string, f found) {
	if r == nil || len(f.value) > foundMax {
		return
	}
	f.value = bytes.Clone(f.value)
	r.cache.ComputeIfAbsent(name, func() (found, bool) { return f, r.edition.Load() != edition })
}

// advance makes it the cache of a later edition, which is not shown yet.
func (r *records) advance(edition uint64, changed []string) {
	r.edition.Store(edition)
	for _, name := range changed {
		r.cache.Invalidate(name)
	}
}

// noting is a storage that notes which keys of records its batches change.
type noting struct {
	storage
	changed []string
	// more says that further ones have changed than are noted.
	more bool
}

// commit notes the keys before the batch is applied: it may be although there is an error.
func (n *noting) commit(b *batch, durable bool) error {
	for _, o := range b.ops {
		switch {
		case o.key[0] != keyRecord || n.more:
		case o.kind == opDeleteRange, len(n.changed) == changedMax:
			n.more = true
		default:
			n.changed = append(n.changed, string(o.key))
		}
	}
	return n.storage.commit(b, durable)
}

// recordsFor is the cache for the next edition, which has all that was committed and is not shown
// yet. It may be nil.
func (r *Replica) recordsFor(edition uint64) *records {
	changed, more := r.store.changed, r.store.more
	r.store.changed, r.store.more = nil, false
	before := r.records.Load()
	switch {
	case r.o.RecordCacheSize < 0:
		return nil
	case before == nil || more:
		return newRecords(r.o.RecordCacheSize, edition)
	}
	before.advance(edition, changed)
	return before
}
