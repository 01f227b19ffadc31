package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/folder"
)

// call runs the command within this process, as if its output were a terminal or not.
func call(
	ctx context.Context, in io.Reader, terminal bool, args ...string,
) (code int, out, err string) {
	var stdout, stderr bytes.Buffer
	a := &app{
		in: interruptible{ctx, in}, out: &output{bufio.NewWriter(&stdout), terminal}, err: &stderr,
	}
	code = a.run(ctx, args)
	return code, stdout.String(), stderr.String()
}

// TestTerminal: a value goes to a terminal so that this does nothing but print it.
func TestTerminal(t *testing.T) {
	at := []string{"--bucket", "mem://terminal", "--db", "db"}
	value := "\x1b[31mred\n"
	code, _, errs := call(t.Context(), strings.NewReader(value), false,
		append(at, "put", "c", "k", "--create")...)
	require.Zero(t, code, errs)
	for terminal, want := range map[bool]string{true: "\"\\x1b[31mred\\n\"\n", false: value} {
		code, out, errs := call(t.Context(), nil, terminal, append(at, "get", "c", "k")...)
		require.Zero(t, code, errs)
		assert.Equal(t, want, out)
	}
}

// TestInterrupted: whoever waits for input that does not come is left.
func TestInterrupted(t *testing.T) {
	never, _ := io.Pipe()
	defer never.Close()
	for _, args := range [][]string{{"put", "c", "k", "--create"}, {"load", "c", "--create"}} {
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		code, out, _ := call(ctx, never, false,
			append(args, "--bucket", "mem://interrupted", "--db", "db")...)
		assert.Equal(t, exitInterrupted, code)
		assert.NotContains(t, out, "1 inserted")
	}
}

// TestManyKeys: a hundred thousand keys are loaded, listed, scanned, dumped and counted. The race
// detector makes that slow, and finds as much in a tenth of them.
func TestManyKeys(t *testing.T) {
	const n = 100_000 / slower
	var file strings.Builder
	for i := range n {
		fmt.Fprintf(&file, `{"key":"key%06d","value":"%d"}`+"\n", i, i)
	}
	do := func(in io.Reader, args ...string) string {
		code, out, errs := call(t.Context(), in, false,
			append(args, "--bucket", "mem://many-keys", "--db", "db")...)
		require.Zero(t, code, "%v: %s", args, errs)
		return out
	}
	do(strings.NewReader(file.String()), "load", "many", "--create")
	assert.Equal(t, n, strings.Count(do(nil, "ls", "many"), "\n"))
	scanned := do(nil, "scan", "many", "--reverse", "--limit", "5000")
	last := fmt.Sprintf("key%06d\t%d\n", n-1, n-1)
	assert.Equal(t, 5000, strings.Count(scanned, "\n"))
	assert.True(t, strings.HasPrefix(scanned, last))
	assert.Equal(t, scanned, do(nil, "scan", "many", "--reverse", "--limit", "5000", "--snapshot"))
	dumped := varying.ReplaceAllString(do(nil, "dump", "many"), "")
	if dumped != file.String() { // neither is for people to read
		t.Error("what is dumped is not what was loaded")
	}
	assert.Regexp(t, fmt.Sprintf(`(?m)^keys with a value +%d `, n), do(nil, "stats"))
}

// victim is a process that kills itself before its n-th write, in the middle of a transaction.
func victim() {
	dir, left := os.Args[1], 0
	if _, err := fmt.Sscan(os.Args[2], &left); err != nil {
		panic(err)
	}
	bucket := folder.New(dir, folder.NoSync())
	db, err := strictkv.Open(context.Background(), "db", faulty.New(bucket,
		faulty.Options{Before: func(_ context.Context, op faulty.Op) error {
			if left--; op.Write() && left < 0 {
				if self, err := os.FindProcess(os.Getpid()); err == nil {
					_ = self.Kill()
				}
				select {} // it is dead
			}
			if !op.Write() {
				left++
			}
			return nil
		}}), strictkv.WithConcurrency(1))
	if err == nil {
		err = db.Tx(context.Background(), func(tx *strictkv.Tx) error {
			c := db.Collection([]byte("c"))
			if _, err := tx.Read(c, []byte("k0")); err != nil {
				return err
			}
			for i := 1; i < 4; i++ {
				if err := tx.Write(c, fmt.Append(nil, "k", i), []byte("new")); err != nil {
					return err
				}
			}
			return tx.Delete(c, []byte("k4"))
		})
	}
	if err == nil {
		err = db.Close(context.Background())
	}
	if err != nil {
		panic(err)
	}
}

// TestInspectKilled: of whatever killed processes have left, inspect tells what a reader is then
// given.
func TestInspectKilled(t *testing.T) {
	outcomes := map[string]bool{}
	for writes, survived := 0, false; !survived; writes++ {
		dir := filepath.Join(t.TempDir(), "bucket")
		at := []string{"--bucket", bucketurl.File(dir), "--db", "db"}
		for i := range 5 {
			code, _, errs := call(t.Context(), nil, false,
				append(at, "put", "c", fmt.Sprint("k", i), "old", "--create")...)
			require.Zero(t, code, errs)
		}
		killed := exec.CommandContext(t.Context(), "victim", dir, strconv.Itoa(writes))
		out, err := killed.CombinedOutput()
		survived = err == nil
		require.NotContains(t, string(out), "panic")
		inspectAll(t, dir, at, outcomes)
	}
	assert.True(t, outcomes["committed"] && outcomes["undecided"], "%v", outcomes)
}

// told is what inspect prints, as far as a reader sees it as well.
type told struct {
	Current struct {
		Present bool
		Data    string
		Version string
	}
	Intent struct{ Outcome, Action, Attempt string }
}

// inspectAll compares what inspect tells of the keys to what a reader is given.
func inspectAll(t *testing.T, dir string, at []string, outcomes map[string]bool) {
	var all [5]told
	for i := range all {
		code, out, errs := call(t.Context(), nil, false,
			append(at, "inspect", "c", fmt.Sprint("k", i), "--json")...)
		require.Zero(t, code, errs)
		require.NoError(t, json.Unmarshal([]byte(out), &all[i]))
	}
	db, err := strictkv.Open(t.Context(), "db", folder.New(dir))
	require.NoError(t, err)
	for i, x := range all {
		item, err := db.Collection([]byte("c")).ReadItem(t.Context(), fmt.Append(nil, "k", i))
		if !x.Current.Present {
			require.ErrorIs(t, err, strictkv.ErrNotFound)
		} else {
			require.NoError(t, err)
			assert.Equal(t, string(item.Value), x.Current.Data)
			assert.Equal(t, item.Version.String(), x.Current.Version)
		}
		if x.Intent.Outcome != "" {
			outcomes[x.Intent.Outcome] = true
			assert.Equal(t, x.Intent.Outcome == "committed", x.Current.Version == x.Intent.Attempt)
		}
	}
	require.NoError(t, db.Close(t.Context()))
}

// TestCodes: what the command exits with tells what to do next.
func TestCodes(t *testing.T) {
	a := &app{started: true}
	ended, end := context.WithCancel(t.Context())
	end()
	lost := fmt.Errorf("%w: write: %w", strictkv.ErrUnavailable, syscall.EPIPE)
	for _, x := range []struct {
		ctx  context.Context
		err  error
		want int
	}{
		{t.Context(), nil, 0},
		{t.Context(), lost, exitUnavailable},
		{t.Context(), errPipe, exitPipe},
		{t.Context(), &strictkv.InDoubtError{Err: lost}, exitInDoubt},
		{ended, &strictkv.InDoubtError{Err: context.Canceled}, exitInDoubt},
		{ended, fmt.Errorf("read: %w", context.Canceled), exitInterrupted},
		{t.Context(), &strictkv.VersionError{}, exitRefused},
		{t.Context(), &strictkv.KeyError{}, exitUsage},
		{t.Context(), strictkv.ErrCorrupt, exitFailed},
	} {
		assert.Equal(t, x.want, a.code(x.ctx, x.err), "%v", x.err)
	}
	assert.Equal(t, exitUsage, (&app{}).code(t.Context(), io.EOF), "before anything was done")
	_, err := pipe{gone{}}.Write(nil)
	require.ErrorIs(t, err, errPipe)
}

// gone is an output that nobody reads.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, &os.PathError{Op: "write", Err: syscall.EPIPE} }
