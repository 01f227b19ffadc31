package folder_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
)

// A test binary that finds these in its environment is a process of a test.
const (
	processEnv = "STRICTKV_FOLDER_PROCESS"
	dirEnv     = "STRICTKV_FOLDER_DIR"

	increments = 150
)

func TestMain(m *testing.M) {
	var options []folder.Option
	if strings.HasSuffix(os.Getenv(processEnv), "no sync") {
		options = append(options, folder.NoSync())
	}
	b := folder.New(os.Getenv(dirEnv), options...)
	switch process, _, _ := strings.Cut(os.Getenv(processEnv), ", "); process {
	case "":
		os.Exit(m.Run())
	case "count":
		for range increments {
			exitOn(increment(b, "a/counter", nil))
		}
	case "write":
		exitOn(write(b))
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func command(t *testing.T, process, dir string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), processEnv+"="+process, dirEnv+"="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// state is the content of a counter: damage and mixtures show.
func state(n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%d ", n), 1+n*37%3000)
}

func parseState(t *testing.T, data []byte) (n int) {
	t.Helper()
	_, err := fmt.Sscan(string(data), &n)
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
			if _, err := fmt.Sscan(string(o.Data), &n); err != nil {
				return fmt.Errorf("increment %s: %w", name, err)
			}
			c = backend.IfVersion(o.Version)
		case !errors.Is(err, backend.ErrNotFound):
			return err
		}
		_, err = b.Put(ctx, name, state(n+1), c)
		if errors.Is(err, backend.ErrPrecondition) || errors.Is(err, backend.ErrUnavailable) {
			continue
		}
		if err == nil && acknowledged != nil {
			acknowledged(n + 1)
		}
		return err
	}
}

// TestProcessesCount: what several processes add to one object is all there.
func TestProcessesCount(t *testing.T) {
	const processes = 4
	for _, option := range []string{"sync", "no sync"} {
		t.Run(option, func(t *testing.T) {
			dir := t.TempDir()
			var done sync.WaitGroup
			for range processes {
				cmd := command(t, "count, "+option, dir)
				done.Go(func() { assert.NoError(t, cmd.Run()) })
			}
			done.Wait()
			o, err := folder.New(dir).Get(t.Context(), "a/counter", "")
			require.NoError(t, err)
			require.Equal(t, processes*increments, parseState(t, o.Data))
		})
	}
}

// TestOwnDirectoryRemovedWhileCounting: nothing gets lost with the locks.
func TestOwnDirectoryRemovedWhileCounting(t *testing.T) {
	const processes = 4
	dir := t.TempDir()
	var counting sync.WaitGroup
	for range processes {
		cmd := command(t, "count, no sync", dir)
		counting.Go(func() { assert.NoError(t, cmd.Run()) })
	}
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		counting.Wait()
	}()
	for removing := true; removing; {
		select {
		case <-counted:
			removing = false
		default:
			_ = os.RemoveAll(filepath.Join(dir, ".strictkv"))
		}
	}
	o, err := folder.New(dir).Get(t.Context(), "a/counter", "")
	require.NoError(t, err)
	require.Equal(t, processes*increments, parseState(t, o.Data))
}

var counters = []string{"counter", "a/counter", "a/b/counter", "z"}

// write increments counters, and makes and removes objects in folders of their own, for
// ever. It prints what has been acknowledged.
func write(b backend.Backend) error {
	ctx := context.Background()
	for {
		name := counters[rand.IntN(len(counters))]
		err := increment(b, name, func(n int) { fmt.Println(name, n) })
		if err != nil {
			return err
		}
		name = fmt.Sprintf("passing/%d/object", rand.IntN(3))
		at, err := b.Put(ctx, name, state(1), backend.IfAbsent())
		v := at.Version
		if errors.Is(err, backend.ErrPrecondition) {
			o, err := b.Get(ctx, name, "")
			if errors.Is(err, backend.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			v = o.Version
		} else if err != nil {
			return err
		}
		err = b.Delete(ctx, name, v)
		if err != nil && !errors.Is(err, backend.ErrPrecondition) {
			return err
		}
	}
}

// TestKill kills processes that write, at random moments. After each kill every object
// is whole, every acknowledged write is there, and nothing is locked.
func TestKill(t *testing.T) {
	const rounds = 50
	dir := t.TempDir()
	b := folder.New(dir, folder.NoSync())
	acknowledged := map[string]int{}
	survivor := start(t, dir, "no sync", acknowledged)
	for round := range rounds {
		option := []string{"sync", "no sync"}[round%2]
		start(t, dir, option, acknowledged).kill(1 + rand.IntN(20))
		expectWhole(t, b, acknowledged)
	}
	survivor.kill(1)
	expectWhole(t, b, acknowledged)

	// A lock that were still held would keep these waiting.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range 300 { // More than there are locks.
		_, err := b.Put(ctx, fmt.Sprintf("unlocked/%d/object", i), nil, backend.IfAbsent())
		require.NoError(t, err)
	}
}

// writer is a process that writes.
type writer struct {
	cmd  *exec.Cmd
	out  *bufio.Scanner
	note map[string]int // the greatest acknowledged state of each counter
}

func start(t *testing.T, dir, option string, note map[string]int) writer {
	t.Helper()
	cmd := command(t, "write, "+option, dir)
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

// expectWhole reads all objects, while a process may be writing.
func expectWhole(t *testing.T, b backend.Backend, acknowledged map[string]int) {
	t.Helper()
	for _, name := range counters {
		o, err := b.Get(t.Context(), name, "")
		if acknowledged[name] == 0 && errors.Is(err, backend.ErrNotFound) {
			continue
		}
		require.NoError(t, err)
		n := parseState(t, o.Data)
		require.GreaterOrEqual(t, n, acknowledged[name], "the acknowledged state of %s", name)
	}
	page, err := b.List(t.Context(), backend.ListOptions{})
	require.NoError(t, err)
	require.False(t, page.More)
	names := map[string]bool{}
	for _, o := range page.Objects {
		names[o.Name] = true
		require.True(t, acknowledged[o.Name] > 0 || strings.HasPrefix(o.Name, "passing/") ||
			strings.HasSuffix(o.Name, "counter") || o.Name == "z", "listed %q", o.Name)
	}
	for name := range acknowledged {
		require.True(t, names[name], "%s is missing in the listing", name)
	}
}
