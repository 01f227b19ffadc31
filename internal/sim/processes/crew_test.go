package processes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"
)

const (
	// crewSize is how many processes run at once.
	crewSize = 4
	// pauseMax bounds the random time between two misfortunes of processes.
	pauseMax = 300 * time.Millisecond
	// freezes is how many of them, in 256, stop a process for a while.
	freezes = 64
)

// crew is the processes of a round, and what became of them.
type crew struct {
	worker  worker // the next one, but for its number
	running []*process
	all     []worker
	killed  map[int]bool // by number
	ended   chan *process
	frozen  int
	finish  int // how many have ended by themselves
}

// process is a worker that runs.
type process struct {
	worker worker
	cmd    *exec.Cmd
	err    error // how it ended; once it is sent to crew.ended
}

func newCrew(w worker) *crew {
	return &crew{worker: w, killed: map[int]bool{}, ended: make(chan *process, 2*crewSize)}
}

// start starts one more process.
func (c *crew) start() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	w := c.worker
	w.Life = len(c.all)
	env, err := json.Marshal(w)
	if err != nil {
		return err
	}
	p := &process{worker: w, cmd: exec.Command(program)}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), workerEnv+"="+string(env)), os.Stderr
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start process %d: %w", w.Life, err)
	}
	c.all = append(c.all, w)
	c.running = append(c.running, p)
	go func() {
		p.err = p.cmd.Wait()
		c.ended <- p
	}()
	return nil
}

// run lets processes run, and disturbs them until the time is over or enough have been
// killed, and then kills those that are left.
func (c *crew) run(d time.Duration, kills int) error {
	over := time.After(d)
	next := time.After(rand.N(pauseMax))
	for kills == 0 || len(c.killed) < kills {
		for len(c.running) < crewSize {
			if err := c.start(); err != nil {
				return errors.Join(err, c.stop())
			}
		}
		select {
		case <-over:
			return c.stop()
		case p := <-c.ended:
			if err := c.bury(p); err != nil {
				return errors.Join(err, c.stop())
			}
		case <-next:
			c.disturb(c.running[rand.IntN(len(c.running))])
			next = time.After(rand.N(pauseMax))
		}
	}
	return c.stop()
}

// disturb stops a process for a while, which may be longer than others are patient, or
// for good.
func (c *crew) disturb(p *process) {
	if rand.IntN(256) < freezes && freeze(p.cmd.Process, rand.N(3*c.worker.Place.Patience)) {
		c.frozen++
		return
	}
	c.kill(p)
}

// kill ends a process wherever it is, by SIGKILL, unless it has just ended by itself.
func (c *crew) kill(p *process) {
	if p.cmd.Process.Kill() == nil {
		c.killed[p.worker.Life] = true
	}
}

// bury notes the end of a process.
func (c *crew) bury(p *process) error {
	for i, r := range c.running {
		if r == p {
			c.running = append(c.running[:i], c.running[i+1:]...)
			break
		}
	}
	switch code := p.cmd.ProcessState.ExitCode(); {
	case p.err == nil:
		delete(c.killed, p.worker.Life) // it was quicker
		c.finish++
		return nil
	case code >= 0 && !c.killed[p.worker.Life], code == workerFailed:
		return fmt.Errorf("process %d: %w", p.worker.Life, p.err)
	case !c.killed[p.worker.Life]:
		return fmt.Errorf("process %d, which nobody has killed: %w", p.worker.Life, p.err)
	}
	return nil
}

// stop kills all processes.
func (c *crew) stop() error {
	for _, p := range c.running {
		c.kill(p)
	}
	var errs []error
	for len(c.running) > 0 {
		errs = append(errs, c.bury(<-c.ended))
	}
	return errors.Join(errs...)
}
