package pebble_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/pebble"
)

// A test binary that finds these in its environment is a process of a test.
const (
	processEnv = "STRICTKV_PEBBLE_PROCESS"
	dirEnv     = "STRICTKV_PEBBLE_DIR"
)

func TestMain(m *testing.M) {
	process := os.Getenv(processEnv)
	if process == "" {
		goleak.VerifyTestMain(m)
		return
	}
	var options []pebble.Option
	if process == "no sync" {
		options = append(options, pebble.NoSync())
	}
	b, err := pebble.Open(os.Getenv(dirEnv), options...)
	work := write
	if process == "transactions" {
		work = move
	}
	if err == nil {
		err = work(b)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func command(t *testing.T, process, dir string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), processEnv+"="+process, dirEnv+"="+dir)
	return cmd
}

// counters are objects of different sizes.
var counters = []string{"counter", "a/counter", "a/b/counter", "large", "z"}

// state is the content of a counter: damage and mixtures show. Each tenth is large.
func state(n int) []byte {
	times := 1 + n*37%3000
	if n%10 == 7 {
		times += pebble.FileMin / len(fmt.Sprint(n, " "))
	}
	return bytes.Repeat(fmt.Appendf(nil, "%d ", n), times)
}

func parseState(t *testing.T, data []byte) (n int) {
	t.Helper()
	_, err := fmt.Sscan(string(data[:min(len(data), 20)]), &n)
	require.NoError(t, err)
	require.True(t, bytes.Equal(state(n), data), "state %d, %d bytes", n, len(data))
	return n
}

// increment adds 1 to a counter, and calls acknowledged.
func increment(b backend.Backend, name string, acknowledged func(n int)) error {
	ctx := context.Background()
	for {
		n, c := 0, backend.IfAbsent()
		o, err := b.Get(ctx, name, "")
		switch {
		case err == nil:
			if _, err := fmt.Sscan(string(o.Data[:min(len(o.Data), 20)]), &n); err != nil {
				return fmt.Errorf("increment %s: %w", name, err)
			}
			c = backend.IfVersion(o.Version)
		case !errors.Is(err, backend.ErrNotFound):
			return err
		}
		_, err = b.Put(ctx, name, state(n+1), c)
		if errors.Is(err, backend.ErrPrecondition) {
			continue
		}
		if err == nil {
			acknowledged(n + 1)
		}
		return err
	}
}

// write increments counters by several goroutines, and makes and removes objects, for ever. It
// prints what has been acknowledged.
func write(b backend.Backend) error {
	failed := make(chan error)
	var printing sync.Mutex
	for _, name := range counters {
		go func() {
			for {
				err := increment(b, name, func(n int) {
					printing.Lock()
					defer printing.Unlock()
					fmt.Println(name, n)
				})
				if err == nil {
					err = pass(b, name+"/passing")
				}
				if err != nil {
					failed <- err
				}
			}
		}()
	}
	return <-failed
}

// pass makes and removes an object that may be there.
func pass(b backend.Backend, name string) error {
	ctx := context.Background()
	at, err := b.Put(ctx, name, state(rand.IntN(20)), backend.IfAbsent())
	if errors.Is(err, backend.ErrPrecondition) {
		var o backend.Object
		o, err = b.Get(ctx, name, "")
		at.Version = o.Version
	}
	if err == nil {
		err = b.Delete(ctx, name, at.Version)
	}
	return err
}

// TestKill kills processes that write, at random moments. After each kill the directory can be
// opened, every object is whole, no file is without its object; and every acknowledged write is
// there, unless there were no syncs.
func TestKill(t *testing.T) {
	for _, process := range []string{"sync", "no sync"} {
		t.Run(process, func(t *testing.T) {
			dir, acknowledged := t.TempDir(), map[string]int{}
			for range 15 {
				start(t, process, dir, acknowledged).kill(1 + rand.IntN(60))
				b, err := pebble.Open(dir)
				require.NoError(t, err)
				if process == "no sync" {
					clear(acknowledged)
				}
				expectWhole(t, b, dir, acknowledged)
				require.NoError(t, b.Close())
			}
		})
	}
}

// writer is a process that writes.
type writer struct {
	cmd  *exec.Cmd
	out  *bufio.Scanner
	note map[string]int // the greatest acknowledged state of each counter
}

func start(t *testing.T, process, dir string, note map[string]int) writer {
	t.Helper()
	cmd := command(t, process, dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return writer{cmd, bufio.NewScanner(out), note}
}

// kill kills the process after some acknowledged writes.
func (w writer) kill(after int) {
	for range after {
		w.scan()
	}
	for range rand.IntN(2000) { // A moment within the next writes.
		_ = w.cmd.Process.Pid
	}
	_ = w.cmd.Process.Kill()
	for w.scan() {
	}
	_ = w.cmd.Wait()
}

// scan notes one acknowledged write.
func (w writer) scan() bool {
	var (
		name string
		n    int
	)
	if !w.out.Scan() {
		return false
	}
	if _, err := fmt.Sscan(w.out.Text(), &name, &n); err == nil {
		w.note[name] = max(w.note[name], n)
	}
	return true
}

func expectWhole(t *testing.T, b backend.Backend, dir string, acknowledged map[string]int) {
	t.Helper()
	page, err := b.List(t.Context(), backend.ListOptions{})
	require.NoError(t, err)
	require.False(t, page.More)
	large, found := 0, map[string]int{}
	for _, o := range page.Objects {
		data := read(t, b, o.Name)
		found[o.Name] = parseState(t, data)
		require.EqualValues(t, len(data), o.Size)
		if len(data) >= pebble.FileMin {
			large++
		}
	}
	for name, n := range acknowledged {
		require.GreaterOrEqual(t, found[name], n, "the acknowledged state of %s", name)
	}
	require.Len(t, filesIn(t, dir), large)
}

// TestSecondProcess: it gets a clear error, and gets the directory once the first is dead.
func TestSecondProcess(t *testing.T) {
	dir := t.TempDir()
	first := start(t, "sync", dir, map[string]int{})
	require.True(t, first.scan(), "the first one writes")
	_, err := pebble.Open(dir)
	require.ErrorIs(t, err, pebble.ErrInUse)
	out, err := command(t, "sync", dir).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "a pebble store belongs to one process at a time")
	require.Equal(t, 1, strings.Count(string(out), "\n"), "%s", out)
	first.kill(1)
	open(t, dir)
}
