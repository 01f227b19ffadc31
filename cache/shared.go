// Package cache makes caches for the handles of a process to share. A handle that is given
// none has one of its own; those of a process have one bound together, see DefaultSize.
// strictkv.WithCacheSize gives a handle a bound of its own. Open makes one that keeps more on disk,
// over restarts.
//
// A cache keeps the keys that were used last, with the interval in which each value is known
// to have been current, and external values under the same bound. Strong reads of what is in
// the cache cost a small request, which asks whether the value has changed; weak reads of
// what is fresh enough cost none.
package cache

import "github.com/strictkv/strictkv/internal/cache"

// Cache is a bounded cache of one or several databases, for strictkv.WithCache. It is safe
// for concurrent use.
type Cache cache.Cache

// New returns a cache for at most size bytes of heap, everything counted that an entry takes
// there; an entry that is larger than that is not kept. A size of zero or less keeps nothing.
func New(size int64) *Cache { return (*Cache)(cache.New(size)) }

// Size is the number of bytes that the entries take on the heap. What the runtime's maps take
// varies with their history; their average is counted.
func (c *Cache) Size() int64 { return (*cache.Cache)(c).Size() }
