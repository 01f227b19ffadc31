package seam

import "context"

// Pool does tasks in a bounded number of goroutines, beginning them in the order in which
// they came. Its goroutines end when there is nothing to do.
type Pool struct {
	rt   Runtime
	max  int      // goroutines
	room *Limiter // of tasks that wait or are being done

	mu     Mutex // guards all below
	queue  []func()
	active int
	idle   Event // set when active falls to 0; nil if nobody waits
}

// NewPool returns a Pool of that many goroutines, for which at most waitingMax tasks wait.
func NewPool(rt Runtime, size, waitingMax int) *Pool {
	return &Pool{rt: rt, max: size, room: NewLimiter(rt, size+waitingMax)}
}

// Do hands a task over. It waits while too many wait; if ctx ends before there is room,
// it returns its error.
func (p *Pool) Do(ctx context.Context, task func()) error {
	if err := p.room.Acquire(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active == p.max {
		p.queue = append(p.queue, task)
		return nil
	}
	p.active++
	p.rt.Go(func() { p.work(task) })
	return nil
}

func (p *Pool) work(task func()) {
	for task != nil {
		task()
		p.room.Release()
		task = p.next()
	}
}

func (p *Pool) next() (task func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) > 0 {
		task, p.queue = p.queue[0], p.queue[1:]
		return task
	}
	p.active--
	if p.active == 0 && p.idle != nil {
		p.idle.Set()
		p.idle = nil
	}
	return nil
}

// Wait returns when nothing is being done or waits to be.
func (p *Pool) Wait() error {
	p.mu.Lock()
	if p.active == 0 {
		p.mu.Unlock()
		return nil
	}
	if p.idle == nil {
		p.idle = p.rt.NewEvent()
	}
	idle := p.idle
	p.mu.Unlock()
	return idle.Wait(context.Background())
}
