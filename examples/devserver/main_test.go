package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/bucketurl"
)

// countEnv makes the test's binary a program that counts in a bucket.
const countEnv = "STRICTKV_DEVSERVER_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(countEnv) == "" {
		os.Exit(m.Run())
	}
	if err := count(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const counts = 10

// count adds a byte to a value, in several transactions.
func count(ctx context.Context) error {
	bucket, err := bucketurl.Open(ctx, "gs://dev?sends_once=true") // no proxy between
	if err != nil {
		return err
	}
	defer bucket.Close()
	db, err := strictkv.Open(ctx, "example", bucket)
	if err != nil {
		return err
	}
	add := func(old []byte) ([]byte, error) { return append(old, '+'), nil }
	for range counts {
		if err := db.Collection([]byte("c")).Update(ctx, []byte("sum"), add); err != nil {
			return err
		}
	}
	return db.Close(ctx)
}

// TestProcesses: what several processes count in the bucket is all there, also after the
// server was started again on the same folder.
func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	url, end, err := serve(&out, "127.0.0.1:0", "dev", dir)
	require.NoError(t, err)
	assert.Contains(t, out.String(), "export STORAGE_EMULATOR_HOST="+url+"\n")
	const processes = 3
	var group errgroup.Group
	for range processes {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), countEnv+"=1", "STORAGE_EMULATOR_HOST="+url)
		group.Go(func() error {
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	end()

	url, end, err = serve(&out, "127.0.0.1:0", "dev", dir)
	require.NoError(t, err)
	defer end()
	t.Setenv("STORAGE_EMULATOR_HOST", url)
	bucket, err := bucketurl.Open(t.Context(), "gs://dev")
	require.NoError(t, err)
	defer bucket.Close()
	db, err := strictkv.Open(t.Context(), "example", bucket)
	require.NoError(t, err)
	v, err := db.Collection([]byte("c")).Read(t.Context(), []byte("sum"))
	require.NoError(t, err)
	assert.Len(t, v, processes*counts)
	require.NoError(t, db.Close(t.Context()))
}

func TestBadAddress(t *testing.T) {
	for _, listen := range []string{"", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999"} {
		_, _, err := serve(&bytes.Buffer{}, listen, "dev", "")
		assert.Error(t, err, listen)
	}
}
