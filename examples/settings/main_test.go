package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/memory"
	_ "github.com/strictkv/strictkv/examples/internal/store/clouds"
	"github.com/strictkv/strictkv/internal/plain"
)

// programEnv makes the test's binary the program.
const programEnv = "STRICTKV_SETTINGS_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestRun(t *testing.T) {
	s := service{store: memory.New(), users: 3, instances: 2, updates: 20, reads: 30}
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, s, month{starts: 1, updates: 1, reads: 1}))
	require.NoError(t, plain.Check(out.String()))
	assert.Contains(t, out.String(), "2 instances served 3 users: 40 updates, 60 reads, none lost")
	assert.Equal(t, 40, revisions(t, s))
}

func revisions(t *testing.T, s service) int {
	db, err := strictkv.Open(t.Context(), "settings", s.store)
	require.NoError(t, err)
	n, err := s.revisions(t.Context(), db)
	require.NoError(t, err)
	require.NoError(t, db.Close(t.Context()))
	return n
}

func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-dir", dir,
				"-users", "5", "-instances", "2", "-updates", "10", "-reads", "10")
			cmd.Env = append(os.Environ(), programEnv+"=1")
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, "%s", out)
		})
	}
	wg.Wait()
	assert.Equal(t, 3*2*10, revisions(t, service{store: folder.New(dir), users: 5}))
}

// forgetful is a store that acknowledges writes of users' values, and keeps the first only.
type forgetful struct {
	backend.Backend
	kept atomic.Bool
}

func (f *forgetful) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	if strings.Contains(name, "user-") && f.kept.Swap(true) {
		v := backend.Version(fmt.Sprint("forgotten ", rand.Int()))
		return backend.Stamp{Version: v}, nil
	}
	return f.Backend.Put(ctx, name, data, c)
}

// TestViolation: updates that are lost make the program fail.
func TestViolation(t *testing.T) {
	s := service{users: 1, instances: 1, updates: 5, reads: 1}
	s.store = &forgetful{Backend: memory.New()}
	err := run(t.Context(), &bytes.Buffer{}, s, month{})
	require.ErrorContains(t, err, "VIOLATION: 5 updates were acknowledged, 1 are there")
}

func TestBadFlags(t *testing.T) {
	err := run(t.Context(), &bytes.Buffer{}, service{store: memory.New(), users: 1}, month{})
	require.ErrorContains(t, err, "1 at least")
	for _, bucket := range []string{"name", "gs://", "http://name"} {
		err := open(t.Context(), "", bucket, service{}, month{})
		assert.ErrorContains(t, err, "want gs://bucket/prefix", bucket)
	}
}

func TestBill(t *testing.T) {
	var use usage
	use.starts.add(2, strictkv.Stats{Gets: 2})
	use.updates.add(10, strictkv.Stats{Gets: 5, Puts: 10})
	use.reads.add(100, strictkv.Stats{Gets: 100})
	var out bytes.Buffer
	require.NoError(t, bill(&out, use, month{starts: 100, updates: 1000, reads: 10_000}))
	require.NoError(t, plain.Check(out.String()))
	var rows [][]string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Fields(line))
	}
	assert.Equal(t, []string{"start", "2", "2", "0", "0.00000040", "100", "0.00"}, rows[1])
	assert.Equal(t, []string{"update", "10", "5", "10", "0.00000520", "1000", "0.16"}, rows[2])
	assert.Equal(t, []string{"read", "100", "100", "0", "0.00000040", "10000", "0.12"}, rows[3])
	assert.Equal(t, []string{"all", "0.28"}, rows[4])
}
