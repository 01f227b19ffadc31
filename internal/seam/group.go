package seam

import (
	"cmp"
	"context"
)

// Each calls f(0) to f(n-1) concurrently, waits for all of them, and returns the
// error of the lowest index that failed. The last call runs on the caller's own
// goroutine.
func Each(rt Runtime, n int, f func(i int) error) error {
	if n <= 1 {
		if n == 1 {
			return f(0)
		}
		return nil
	}
	g := group{errs: make([]error, n), left: n, done: rt.NewEvent()}
	for i := range n - 1 {
		rt.Go(func() { g.run(i, f) })
	}
	g.run(n-1, f)
	if err := g.done.Wait(context.Background()); err != nil {
		return err
	}
	for _, err := range g.errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Some is Each with that many goroutines at most, of which the caller's is one. Each goes on
// with the lowest index that nobody has begun, also behind one that has failed.
func Some(rt Runtime, n, most int, f func(i int) error) error {
	if n <= most {
		return Each(rt, n, f)
	}
	var mu Mutex // guards next and failed
	next, failed := 0, n
	var first error
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1
	}
	err := Each(rt, max(most, 1), func(int) error {
		for i := take(); i < n; i = take() {
			if err := f(i); err != nil {
				mu.Lock()
				if i < failed {
					failed, first = i, err
				}
				mu.Unlock()
			}
		}
		return nil
	})
	return cmp.Or(err, first)
}

type group struct {
	errs []error
	done Event

	mu   Mutex // guards left
	left int
}

func (g *group) run(i int, f func(i int) error) {
	g.errs[i] = f(i)
	g.mu.Lock()
	g.left--
	last := g.left == 0
	g.mu.Unlock()
	if last {
		g.done.Set()
	}
}
