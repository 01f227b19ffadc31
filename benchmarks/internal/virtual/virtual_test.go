package virtual_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	_ "testing/synctest" // the sleeping is in its time
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/benchmarks/internal/virtual"
)

// programEnv makes the test binary a program that runs under Main.
const programEnv = "STRICTKV_VIRTUAL_PROGRAM"

func TestMain(m *testing.M) {
	what := os.Getenv(programEnv)
	if what == "" {
		os.Exit(m.Run())
	}
	virtual.Main(func(t *testing.T, _ []string, _, _ io.Writer) error {
		t.Cleanup(func() { fmt.Println("cleaned up") })
		if what == "skip" {
			t.Skip("asked to skip: set another value")
		}
		return virtual.Run(t, func(context.Context) error {
			start := time.Now()
			time.Sleep(time.Hour)
			fmt.Println("after", time.Since(start))
			if what == "fail" {
				return errors.New("failed as asked")
			}
			return nil
		})
	})
}

// TestMainOfProgram runs programs, with an argument that package testing does not know.
func TestMainOfProgram(t *testing.T) {
	for what, code := range map[string]int{"pass": 0, "fail": 1} {
		t.Run(what, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-own=flag")
			cmd.Env = append(os.Environ(), programEnv+"="+what)
			out, err := cmd.Output()
			assert.Equal(t, code, cmd.ProcessState.ExitCode(), "%v", err)
			assert.Equal(t, "after 1h0m0s\ncleaned up\n", string(out))
		})
	}
}

// TestSkip: a program that lacks what it needs says so.
func TestSkip(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), programEnv+"=skip")
	out, _ := cmd.CombinedOutput()
	assert.Equal(t, 1, cmd.ProcessState.ExitCode())
	assert.Contains(t, string(out), "not on this machine")
}

func TestRun(t *testing.T) {
	failed := errors.New("failed")
	require.ErrorIs(t, virtual.Run(t, func(ctx context.Context) error {
		return errors.Join(ctx.Err(), failed)
	}), failed)
}
