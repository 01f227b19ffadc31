package seam

import "context"

// Crew does tasks in a bounded number of goroutines, beginning them in the order in which
// they came. Its goroutines end when there is nothing to do.
type Crew struct {
	rt   Runtime
	max  int      // goroutines
	room *Limiter // of tasks that wait or are being done

	mu     Mutex // guards all below
	queue  []func()
	active int
	idle   Event // set when active falls to 0; nil if nobody waits
}

// NewCrew returns a Crew of that many goroutines, for which at most waitingMax tasks wait.
func NewCrew(rt Runtime, size, waitingMax int) *Crew {
	return &Crew{rt: rt, max: size, room: NewLimiter(rt, size+waitingMax)}
}

// Do hands a task over. It waits while too many wait; if ctx ends before there is room,
// it returns its error.
func (c *Crew) Do(ctx context.Context, task func()) error {
	if err := c.room.Acquire(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active == c.max {
		c.queue = append(c.queue, task)
		return nil
	}
	c.active++
	c.rt.Go(func() { c.work(task) })
	return nil
}

func (c *Crew) work(task func()) {
	for task != nil {
		task()
		c.room.Release()
		task = c.next()
	}
}

func (c *Crew) next() (task func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) > 0 {
		task, c.queue = c.queue[0], c.queue[1:]
		return task
	}
	c.active--
	if c.active == 0 && c.idle != nil {
		c.idle.Set()
		c.idle = nil
	}
	return nil
}

// Wait returns when all tasks have been done. None may be handed over meanwhile.
func (c *Crew) Wait() error {
	c.mu.Lock()
	if c.active == 0 {
		c.mu.Unlock()
		return nil
	}
	idle := c.rt.NewEvent()
	c.idle = idle
	c.mu.Unlock()
	return idle.Wait(context.Background())
}
