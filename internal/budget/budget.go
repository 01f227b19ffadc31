// Package budget bounds what several caches of a process take together. It asks the garbage
// collector who is gone, so a run of which every step must replay gives its caches none.
package budget

import (
	"runtime"
	"sync/atomic"
)

// Budget bounds several caches of one size together by that size: while all of them take
// more, one that learns, and has more than an equal part, gives up what it has used least
// recently. One that has grown while there were fewer, and learns nothing any more, keeps
// what it has, and the others get their equal parts beside it.
//
// The zero Budget is ready for use. It is safe for concurrent use.
type Budget struct{ used, parts atomic.Int64 }

// Part is what one cache takes. It belongs to that cache: only the budget itself may be used
// by several at once. The zero Part is of no budget.
type Part struct {
	of   *Budget
	size int64
}

// For returns the part of a new cache. When nobody refers to that any more, the budget gets
// back what it took.
func For[Cache any](b *Budget, c *Cache) *Part {
	p := &Part{of: b}
	b.parts.Add(1)
	runtime.AddCleanup(c, (*Part).giveBack, p)
	return p
}

// Size is how many bytes are taken.
func (p *Part) Size() int64 { return p.size }

// Add takes n bytes more, or fewer.
func (p *Part) Add(n int64) {
	p.size += n
	if p.of != nil {
		p.of.used.Add(n)
	}
}

// Exceeds reports whether the part is too large, of caches of that size.
func (p *Part) Exceeds(size int64) bool {
	return p.size > size ||
		p.of != nil && p.of.used.Load() > size && p.size > size/p.of.parts.Load()
}

func (p *Part) giveBack() {
	p.of.used.Add(-p.size)
	p.of.parts.Add(-1)
}
