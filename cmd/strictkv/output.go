package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/strictkv/strictkv/internal/keytext"
)

// progressEvery is how long what progress shows stays as it is.
const progressEvery = 100 * time.Millisecond

// output is where results go: buffered, unless a person waits for them.
type output struct {
	*bufio.Writer
	terminal bool
}

func newOutput(f *os.File) *output {
	return &output{bufio.NewWriter(pipe{f}), isTerminal(f)}
}

// errPipe is of an output that nobody reads any more: no connection to a store.
var errPipe = errors.New("nobody reads the output")

// pipe is what leads to whoever reads the output.
type pipe struct{ io.Writer }

// Write marks the error of a reader that has left.
func (p pipe) Write(data []byte) (int, error) {
	n, err := p.Writer.Write(data)
	if errors.Is(err, syscall.EPIPE) {
		err = errPipe
	}
	return n, err
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Write flushes lines that a person waits for.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err == nil && o.terminal {
		err = o.Flush()
	}
	return n, err
}

// print prints a value as JSON, or else the text.
func (a *app) print(v any, format string, args ...any) error {
	if a.json {
		text, err := keytext.JSON(v)
		if err != nil {
			return err
		}
		format, args = "%s\n", []any{text}
	}
	_, err := fmt.Fprintf(a.out, format, args...)
	return err
}

// table prints rows in columns.
func (a *app) table(rows [][]string) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// confirm asks whether to go on, unless the call has said so.
func (a *app) confirm(question string) error {
	if a.yes {
		return nil
	}
	if !a.asks {
		return fmt.Errorf("%w: nobody is there to be asked: use --yes", errUsage)
	}
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}

// progress shows on a terminal how much has been done of something whose end is not known; its
// result removes that. Where rows go to the terminal it shows nothing.
func (a *app) progress(what string, rows bool) (set func(int64), done func()) {
	visible := isTerminal(a.err) && !(rows && a.out.terminal)
	bar := progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(a.err), progressbar.OptionSetVisibility(visible),
		progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false),
		progressbar.OptionThrottle(progressEvery), progressbar.OptionClearOnFinish())
	return func(n int64) { _ = bar.Set64(n) }, func() { _ = bar.Finish() }
}

// interruptible is a reader that ends when somebody interrupts the command, while nothing comes.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

// Read reads in the background: whoever is interrupted leaves it there.
func (i interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	done, buf := make(chan result, 1), make([]byte, len(p))
	go func() {
		n, err := i.r.Read(buf)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return copy(p, buf[:r.n]), r.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}
