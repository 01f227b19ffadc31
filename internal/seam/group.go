package seam

import "context"

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
