package redis

import (
	"context"
	"math/rand/v2"
	"time"
)

// How often a server removes what was left of large values.
const (
	// collectLeftEvery is how often it removes the elements of those that were deleted or replaced.
	collectLeftEvery = time.Minute
	// collectUnownedEvery is how often it looks, at all large values, for those that have expired
	// or were flushed.
	collectUnownedEvery = 6 * time.Hour
)

// collect removes what was left, until Shutdown.
func (s *Server) collect() {
	defer s.idle.Done()
	ctx, stop := context.WithCancel(s.life)
	defer stop()
	go func() {
		select {
		case <-s.closing:
			stop()
		case <-ctx.Done():
		}
	}()
	unowned := time.Now().Add(spread(collectUnownedEvery))
	for {
		select {
		case <-s.closing:
			return
		case <-time.After(spread(collectLeftEvery)):
		}
		s.collectBy(ctx, s.shared.Space.CollectLeft)
		if time.Now().After(unowned) {
			s.collectBy(ctx, s.shared.Space.CollectUnowned)
			unowned = time.Now().Add(spread(collectUnownedEvery))
		}
	}
}

// spread is about d, so that servers that were started together don't work together.
func spread(d time.Duration) time.Duration { return d/2 + rand.N(d) }

func (s *Server) collectBy(ctx context.Context, f func(context.Context) (int, error)) {
	n, err := f(ctx)
	s.collected.Add(int64(n))
	if err != nil && ctx.Err() == nil {
		s.o.Logger.Warn("can't remove what was left of large values", "err", err)
	}
}
