package cache

import (
	"runtime"
	"sync/atomic"
)

// Budget bounds several caches of one size together by that size: while all of them take
// more, one that learns, and has more than an equal part, gives up what it has used least
// recently. One that has grown while there were fewer, and learns nothing any more, keeps
// what it has, and the others get their equal parts beside it.
//
// Caches share nothing else by it: what one of them knows, the others do not.
// The zero Budget is ready for use. It is safe for concurrent use.
type Budget struct{ used, caches atomic.Int64 }

// Within is New for a cache within a budget. When nobody refers to the cache any more, the
// budget gets back what it took.
func Within(b *Budget, size int64) *Cache {
	c := New(size)
	c.part.of = b
	b.caches.Add(1)
	runtime.AddCleanup(c, (*part).giveBack, c.part)
	return c
}

// part is what a cache takes, perhaps of a budget. It does not refer to the cache, which it
// outlives.
type part struct {
	of   *Budget // nil if there is none
	size int64   // guarded by the cache's mu
}

func (p *part) add(n int64) {
	p.size += n
	if p.of != nil {
		p.of.used.Add(n)
	}
}

// exceeds reports whether the cache takes too much.
func (p *part) exceeds(most int64) bool {
	return p.size > most ||
		p.of != nil && p.of.used.Load() > most && p.size > most/p.of.caches.Load()
}

func (p *part) giveBack() {
	p.of.used.Add(-p.size)
	p.of.caches.Add(-1)
}
