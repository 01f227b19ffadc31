package planted

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

type state struct {
	count atomic.Int64
	since time.Time
	limit time.Duration
}

func fine(ctx context.Context, m index, s *state) error {
	// any order: the sum is the same, and the comment may
	// go on over a second line
	for _, n := range m {
		s.count.Add(int64(n))
	}
	for range m { // any order: the count is the same
	}
	// any order: each is looked at alone
	maps.DeleteFunc(m, func(string, int) bool { return false })
	for range slices.Sorted(maps.Keys(m)) {
	}
	for range slices.SortedFunc(maps.Values(m), cmp.Compare) {
	}
	for range []int{1, 2} {
	}
	for range values([]int{}) {
	}
	clear(m)
	s.limit = time.Unix(0, 0).Sub(s.since)
	ctx = context.WithoutCancel(context.WithValue(ctx, s, s))
	return ctx.Err()
}

func values[S ~[]E, E any](s S) S {
	for range s {
	}
	return s
}
