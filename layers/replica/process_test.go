package replica_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/layers/replica"
)

// A test binary that finds these in its environment is a process of a test: a replica in a
// directory, of a database in a folder.
const (
	bucketEnv = "STRICTKV_REPLICA_BUCKET"
	dirEnv    = "STRICTKV_REPLICA_DIR"
	modeEnv   = "STRICTKV_REPLICA_MODE"
)

func TestMain(m *testing.M) {
	if os.Getenv(bucketEnv) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	mode := replica.PerKey
	if os.Getenv(modeEnv) == "instant" {
		mode = replica.Instant
	}
	db, c, err := openFolder(os.Getenv(bucketEnv))
	if err == nil {
		var r *replica.Replica
		if r, err = open(db, os.Getenv(dirEnv), mode, c); err == nil {
			if err = r.Ready(ctx); err == nil {
				fmt.Println("ready")
				select {} // until it is killed
			}
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

func openFolder(dir string) (*strictkv.DB, *strictkv.Collection, error) {
	db, err := strictkv.Open(ctx, "db", folder.New(dir, folder.NoSync()))
	if err != nil {
		return nil, nil, err
	}
	return db, db.Collection([]byte("c")), nil
}

func open(
	db *strictkv.DB, dir string, m replica.Mode, cs ...*strictkv.Collection,
) (*replica.Replica, error) {
	return replica.Open(ctx, db, dir, replica.Options{
		Collections: cs, Mode: m, Every: 5 * time.Millisecond,
	})
}

func opened(t *testing.T, dir string) (*strictkv.DB, *strictkv.Collection) {
	t.Helper()
	db, c, err := openFolder(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	return db, c
}

// child starts a process.
func child(t *testing.T, bucket, dir, mode string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), bucketEnv+"="+bucket, dirEnv+"="+dir, modeEnv+"="+mode)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return cmd, strings.TrimSpace(said)
}

// holds requires that a replica has what the collection has.
func holds(t *testing.T, r *replica.Replica, c *strictkv.Collection) {
	t.Helper()
	require.NoError(t, r.Wait(t.Context()))
	all := map[string]string{}
	for i, err := range c.Items(t.Context(), strictkv.Range{}) {
		require.NoError(t, err)
		all[string(i.Key)] = string(i.Value)
	}
	have := map[string]string{}
	for i, err := range r.Scan(c, strictkv.Range{}) {
		require.NoError(t, err)
		have[string(i.Key)] = string(i.Value)
	}
	require.Equal(t, all, have)
}

func write(t *testing.T, c *strictkv.Collection, n int) {
	t.Helper()
	require.NoError(t, c.DB().Tx(t.Context(), func(tx *strictkv.Tx) error {
		for i := range 20 {
			value := bytes.Repeat(fmt.Append(nil, n), 1+(n*37+i*131)%2000)
			if err := tx.Write(c, fmt.Appendf(nil, "%02d", i), value); err != nil {
				return err
			}
		}
		return nil
	}))
}

// A process that is killed at any moment leaves a copy from which the next goes on: in the mode
// Instant, one of an instant.
func TestKilledProcesses(t *testing.T) {
	for _, mode := range []string{"per key", "instant"} {
		t.Run(mode, func(t *testing.T) {
			bucket, dir := t.TempDir(), t.TempDir()
			db, c := opened(t, bucket)
			m := replica.PerKey
			if mode == "instant" {
				m = replica.Instant
			}
			write(t, c, 0)
			for n := 1; n < 8; n++ {
				cmd, said := child(t, bucket, dir, mode)
				require.Equal(t, "ready", said)
				for range rand.IntN(5) {
					write(t, c, rand.IntN(1000))
				}
				require.NoError(t, cmd.Process.Kill())
				require.Error(t, cmd.Wait())
				r, err := open(db, dir, m, c)
				require.NoError(t, err)
				assert.Zero(t, r.Rebuilt())
				if m == replica.Instant {
					one := map[byte]bool{}
					for i, err := range r.Scan(c, strictkv.Range{}) {
						require.NoError(t, err)
						one[i.Value[0]] = true
					}
					assert.Len(t, one, 1, "of one transaction")
				}
				holds(t, r, c)
				require.NoError(t, r.Close())
			}
		})
	}
}

// A directory belongs to one Replica at a time.
func TestTwoOfOneDirectory(t *testing.T) {
	bucket, dir := t.TempDir(), t.TempDir()
	db, c := opened(t, bucket)
	write(t, c, 1)
	cmd, said := child(t, bucket, dir, "")
	require.Equal(t, "ready", said)
	_, err := open(db, dir, replica.PerKey, c)
	require.ErrorIs(t, err, replica.ErrInUse)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	r, err := open(db, dir, replica.PerKey, c)
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	for _, name := range []string{dir, dir + "/.", link} {
		_, err = open(db, name, replica.PerKey, c)
		require.ErrorIs(t, err, replica.ErrInUse)
	}
	holds(t, r, c)
	require.NoError(t, r.Close())
}

// A restart reads nothing that is as it was: it lists, and no more.
func TestRestartReadsNothing(t *testing.T) {
	bucket, dir := t.TempDir(), t.TempDir()
	_, c := opened(t, bucket)
	write(t, c, 7)
	for n := range 3 {
		db, mine := opened(t, bucket)
		before := db.Stats()
		r, err := open(db, dir, replica.PerKey, mine)
		require.NoError(t, err)
		require.NoError(t, r.Ready(t.Context()))
		require.NoError(t, r.Wait(t.Context()))
		after := db.Stats().Sub(before)
		assert.Positive(t, after.Lists)
		if n > 0 {
			assert.Zero(t, after.Gets, "opened the %d. time", n+1)
		}
		require.NoError(t, r.Close())
	}
}
