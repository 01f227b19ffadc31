package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// process is a worker that runs.
type process struct {
	worker worker
	cmd    *exec.Cmd
	stdin  io.Closer
	read   chan struct{} // closed when the worker's last report has been read

	mu   sync.Mutex // guards last
	last sum
}

// start starts a worker as this program once more.
func start(w worker) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	p := &process{worker: w, cmd: exec.Command(program), read: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), workerEnv+"="+string(env))
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	reports, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", w.Name, err)
	}
	go p.listen(reports)
	return p, nil
}

// listen reads what the worker reports, until its death; a line that its death has torn
// is no report.
func (p *process) listen(reports io.Reader) {
	defer close(p.read)
	for lines := json.NewDecoder(reports); ; {
		var s sum
		if lines.Decode(&s) != nil {
			_, _ = io.Copy(io.Discard, reports)
			return
		}
		p.mu.Lock()
		p.last = s
		p.mu.Unlock()
	}
}

// report is what the worker has said last.
func (p *process) report() sum {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// kill ends the worker wherever it is, by SIGKILL.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill %s: %w", p.worker.Name, err)
	}
	<-p.read
	_ = p.cmd.Wait() // an error, if it was killed
	if code := p.cmd.ProcessState.ExitCode(); code == 0 || code == workerFailed {
		return fmt.Errorf("%s had ended before it was killed: %v",
			p.worker.Name, p.cmd.ProcessState)
	}
	return nil
}

// finish lets the worker finish what it is doing, and waits for its end.
func (p *process) finish() error {
	err := p.stdin.Close()
	<-p.read
	if werr := p.cmd.Wait(); werr != nil {
		return fmt.Errorf("%s: %w", p.worker.Name, werr)
	}
	return err
}
