package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/strictkv/strictkv"
)

// process is a worker that runs.
type process struct {
	worker worker
	cmd    *exec.Cmd
	stdin  io.Closer
	read   chan struct{} // closed when the worker's last report has been read

	mu   sync.Mutex // guards last
	last report
}

// start starts a worker as this program once more.
func start(w worker) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env, err := w.env()
	if err != nil {
		return nil, err
	}
	p := &process{worker: w, cmd: exec.Command(program), read: make(chan struct{})}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), env), os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	reports, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start worker %d: %w", w.ID, err)
	}
	go p.listen(reports)
	return p, nil
}

// listen reads what the worker reports, until its death; a line that its death has torn
// is no report.
func (p *process) listen(reports io.Reader) {
	defer close(p.read)
	for lines := json.NewDecoder(reports); ; {
		var r report
		if lines.Decode(&r) != nil {
			_, _ = io.Copy(io.Discard, reports)
			return
		}
		p.mu.Lock()
		p.last = r
		p.mu.Unlock()
	}
}

func (p *process) report() report {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// kill ends the worker wherever it is, by SIGKILL.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill worker %d: %w", p.worker.ID, err)
	}
	<-p.read
	_ = p.cmd.Wait() // an error, if it was killed
	if code := p.cmd.ProcessState.ExitCode(); code == 0 || code == workerFailed {
		return fmt.Errorf("worker %d had ended before it was killed: %v",
			p.worker.ID, p.cmd.ProcessState)
	}
	return nil
}

// finish lets the worker finish its transfer, and waits for its end.
func (p *process) finish() error {
	err := p.stdin.Close()
	<-p.read
	if werr := p.cmd.Wait(); werr != nil {
		return fmt.Errorf("worker %d: %w", p.worker.ID, werr)
	}
	return err
}

// compare checks that what the worker had acknowledged is there, and no more than it can
// have begun since. It tells whether there is more.
func (p *process) compare(ctx context.Context, a *accounts, before int64) (more bool, err error) {
	r := p.report()
	count, err := a.count(ctx, p.worker.ID)
	acked := max(before, r.Acked)
	switch {
	case err != nil:
		return false, err
	case count < acked:
		return false, violation("worker %d: %d transfers, but %d had been acknowledged",
			p.worker.ID, count, acked)
	case count > acked+r.Doubts+1:
		return false, violation("worker %d: %d transfers, but only %d and %d in doubt were begun",
			p.worker.ID, count, acked+1, r.Doubts)
	}
	return count > acked, nil
}

// sum adds up what workers tell of themselves.
func sum(s, t strictkv.Stats) strictkv.Stats { return s.Sub(strictkv.Stats{}.Sub(t)) }
