package crew

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// Process is a worker that runs, and reports R.
type Process[R any] struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	read  chan struct{} // closed when the last report has been read

	mu   sync.Mutex // guards last
	last R
}

// Start starts this program once more, as a worker that Serve is given. The name is for
// errors.
func Start[R any](name string, worker any) (*Process[R], error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env, err := json.Marshal(worker)
	if err != nil {
		return nil, err
	}
	p := &Process[R]{name: name, cmd: exec.Command(program), read: make(chan struct{})}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), workerEnv+"="+string(env)), os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	reports, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go p.listen(reports)
	return p, nil
}

// listen reads what the worker reports, until its death; a line that its death has torn
// is no report.
func (p *Process[R]) listen(reports io.Reader) {
	defer close(p.read)
	for lines := json.NewDecoder(reports); ; {
		var r R
		if lines.Decode(&r) != nil {
			_, _ = io.Copy(io.Discard, reports)
			return
		}
		p.mu.Lock()
		p.last = r
		p.mu.Unlock()
	}
}

// Last is what the worker has reported last: the zero value if it has not yet.
func (p *Process[R]) Last() R {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// Kill ends the worker wherever it is, by SIGKILL. It is an error if it has ended by itself.
func (p *Process[R]) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.read
	_ = p.cmd.Wait() // an error, if it was killed
	if code := p.cmd.ProcessState.ExitCode(); code == 0 || code == workerFailed {
		return fmt.Errorf("%s had ended before it was killed: %v", p.name, p.cmd.ProcessState)
	}
	return nil
}

// Finish lets the worker finish what it is doing, and waits for its end.
func (p *Process[R]) Finish() error {
	err := p.stdin.Close()
	<-p.read
	if werr := p.cmd.Wait(); werr != nil {
		return fmt.Errorf("%s: %w", p.name, werr)
	}
	return err
}
