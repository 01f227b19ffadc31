package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/strictkv/strictkv"
)

// settleMax bounds how long copies may take to become equal.
const settleMax = 2 * time.Minute

// fleet are the processes.
type fleet struct {
	c      config
	out    io.Writer
	db     *strictkv.DB
	close  func() error
	mu     sync.Mutex // guards nodes
	nodes  []*process
	killed int
}

// process is a node that runs.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	mu  sync.Mutex // held by who asks
}

func startFleet(ctx context.Context, c config, out io.Writer) (f *fleet, err error) {
	f = &fleet{c: c, out: out}
	if f.db, f.close, err = openDB(ctx, c); err != nil {
		return nil, err
	}
	for i := range c.nodes {
		p, err := f.start(ctx, i)
		if err != nil {
			return nil, errors.Join(err, f.end())
		}
		f.nodes = append(f.nodes, p)
	}
	return f, nil
}

func (f *fleet) start(ctx context.Context, i int) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := f.c
	cmd := exec.CommandContext(ctx, self, "-node", fmt.Sprint(i), "-bucket", c.bucket,
		"-dir", c.dir, "-records", fmt.Sprint(c.records), "-updates", fmt.Sprint(c.updates),
		"-every", c.every.String(),
		"-full", c.fullEvery.String(), "-seed", fmt.Sprint(c.seed), fmt.Sprintf("-feed=%t", c.feed))
	cmd.Stderr = os.Stderr
	p := &process{cmd: cmd}
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, cmd.Start()
}

// ask sends a command, and returns the answer.
func (p *process) ask(command string) (answer string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := fmt.Fprintln(p.in, command); err != nil {
		return "", err
	}
	answer, err = p.out.ReadString('\n')
	return answer, err
}

func (f *fleet) process(i int) *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[i]
}

// show runs everything in its order.
func (f *fleet) show(ctx context.Context) error {
	fmt.Fprintf(f.out, "%d processes, %d records\n", f.c.nodes, f.c.records)
	for i := 1; i < f.c.nodes; i++ {
		if _, err := f.process(i).ask("update"); err != nil {
			return err
		}
	}
	within, stop := context.WithCancel(ctx)
	killing := make(chan error, 1)
	go func() { killing <- f.kill(within) }()
	start := time.Now()
	loaded, err := f.process(0).ask("load")
	loading := time.Since(start)
	stop()
	if err = errors.Join(err, <-killing); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	fmt.Fprintf(f.out, "loaded %.0f records a second in %v, %d processes killed; loaded: %s",
		float64(f.c.records)/loading.Seconds(), loading.Round(time.Millisecond), f.killed, loaded)
	for i := 1; i < f.c.nodes; i++ {
		if _, err := f.process(i).ask("stop"); err != nil {
			return err
		}
	}
	return f.settle(ctx, time.Now())
}

// kill kills a random process after the other, but the first, which loads, and starts it again.
func (f *fleet) kill(ctx context.Context) error {
	for f.c.killEvery > 0 && f.c.nodes > 1 {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.c.killEvery):
		}
		i := 1 + rand.IntN(f.c.nodes-1)
		if err := f.restart(ctx, i); ctx.Err() == nil && err != nil {
			return err
		}
		f.killed++
		if _, err := f.process(i).ask("update"); ctx.Err() == nil && err != nil {
			return err
		}
	}
	return nil
}

// restart kills a process without a warning, and starts it again.
func (f *fleet) restart(ctx context.Context, i int) error {
	p := f.process(i)
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
	next, err := f.start(context.WithoutCancel(ctx), i)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.nodes[i] = next
	f.mu.Unlock()
	return nil
}

// settle waits until all copies equal the database, and tells since when each does, which is when it
// last changed: to read the whole database, and compare, takes longer.
func (f *fleet) settle(ctx context.Context, written time.Time) error {
	want := newSum()
	for i, err := range parcels(f.db).Items(ctx, strictkv.Range{}) {
		if err != nil {
			return err
		}
		want.add(i.Key, i.Value)
	}
	for i := range f.nodes {
		for {
			answer, err := f.process(i).ask("state")
			if err != nil {
				return fmt.Errorf("node %d: %w", i, err)
			}
			var have, lag string
			var changed int64
			if _, err := fmt.Sscan(answer, &have, &lag, &changed); err != nil {
				return err
			}
			if have == want.String() {
				after := max(time.Unix(0, changed).Sub(written), 0)
				fmt.Fprintf(f.out, "node %d equals the database: %s, lag %s, equal %v after the end\n",
					i, have, lag, after.Round(10*time.Millisecond))
				break
			}
			if time.Since(written) > settleMax {
				return fmt.Errorf("node %d has %s, the database %s", i, have, want)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// end ends all processes.
func (f *fleet) end() error {
	var errs []error
	for _, p := range f.nodes {
		_ = p.in.Close()
		errs = append(errs, p.cmd.Wait())
	}
	return errors.Join(append(errs, f.close())...)
}
