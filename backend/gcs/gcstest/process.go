package gcstest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/stretchr/testify/require"
)

// serveEnv makes a test binary serve.
const serveEnv = "STRICTKV_GCSTEST_SERVE"

// Main must be the first call of the TestMain of a package that uses NewProcess.
// In the process that NewProcess starts it serves, and does not return.
func Main() {
	if os.Getenv(serveEnv) == "" {
		return
	}
	fake, err := fakestorage.NewServerWithOptions(options())
	if err != nil {
		fmt.Fprintln(os.Stderr, "start fake-gcs-server:", err)
		os.Exit(1)
	}
	fmt.Println(fake.URL())
	// The pipe ends with the parent, however that ends.
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// NewProcess starts a store in a process of its own, which is the test's binary
// started once more. The proxy stays in this process.
func NewProcess(t testing.TB) *Server {
	t.Helper()
	require.Empty(t, os.Getenv(serveEnv), "TestMain does not call gcstest.Main")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveEnv+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start(), "start a process for fake-gcs-server")
	t.Cleanup(func() {
		_ = stdin.Close()
		require.NoError(t, cmd.Wait(), "end of fake-gcs-server")
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "address of fake-gcs-server")
	return Over(t, strings.TrimSpace(line))
}
