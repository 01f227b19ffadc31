package azuretest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// mainEnv names Azurite's main.js.
	mainEnv = "STRICTKV_AZURITE"
	// connectionEnv is how users tell programs of an emulator.
	connectionEnv = "AZURE_STORAGE_CONNECTION_STRING"
	// serversEnv makes a missing server a failure.
	serversEnv = "STRICTKV_SERVERS"
	// patience is the time in which Azurite must have started.
	patience = time.Minute
	// script runs Azurite until its standard input ends, as it does with the
	// process that has started it, however that ends.
	script = `process.stdin.on("end", () => process.exit()).resume();
process.argv.splice(1, 0, process.env.STRICTKV_AZURITE);
require(process.env.STRICTKV_AZURITE);`
)

// start runs Azurite once for all tests of this process.
var start = sync.OnceValues(run)

// inputs are those of the Azurites that were started. They are kept open by being
// referred to.
var inputs []io.WriteCloser

// Start returns Azurite, by way of a proxy that corrects it. All tests of a process
// share one, started with Node. The environment variable STRICTKV_AZURITE says where
// it is: the path of its file dist/src/blob/main.js. If the usual variable
// AZURE_STORAGE_CONNECTION_STRING has the account of emulators, the one that runs
// there is taken instead; other accounts are left alone. Without either, the test is
// skipped, or fails if STRICTKV_SERVERS is "required".
func Start(t testing.TB) *Server {
	t.Helper()
	if url := running(os.Getenv(connectionEnv)); url != "" {
		return Over(t, url)
	}
	if os.Getenv(mainEnv) == "" {
		if os.Getenv(serversEnv) == "required" {
			t.Fatal("no Azurite: set STRICTKV_AZURITE to its dist/src/blob/main.js")
		}
		t.Skip("no Azurite (npm install azurite@3.37.0): set STRICTKV_AZURITE to run it")
	}
	url, err := start()
	require.NoError(t, err, "start Azurite")
	return Over(t, url)
}

// running returns the URL of the emulator that a connection string is for, empty if
// it is for none.
func running(connection string) string {
	fields := make(map[string]string)
	for field := range strings.SplitSeq(connection, ";") {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = value
	}
	if fields["UseDevelopmentStorage"] == "true" {
		return "http://127.0.0.1:10000"
	}
	url, ok := strings.CutSuffix(strings.TrimSuffix(fields["BlobEndpoint"], "/"), "/"+account)
	if !ok || fields["AccountName"] != account {
		return ""
	}
	return url
}

// run starts Azurite on a free port and returns its URL.
func run() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return "", err
	}
	if err := l.Close(); err != nil {
		return "", err
	}
	cmd := exec.Command("node", "-e", script, "--", "--blobHost", host, "--blobPort", port,
		"--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	inputs = append(inputs, stdin)
	if err := cmd.Start(); err != nil {
		return "", err
	}
	address := net.JoinHostPort(host, port)
	if err := await(address); err != nil {
		return "", err
	}
	return "http://" + address, nil
}

// await waits until somebody listens at the address.
func await(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("azurite does not listen: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
