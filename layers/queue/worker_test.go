package queue_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/layers/queue"
)

const (
	// workerEnv makes a process a consumer; its value is that of the consumer as JSON.
	workerEnv = "STRICTKV_QUEUE_WORKER"
	killJobs  = 300
	// workMax is how long a job takes at most, a fraction of the lease.
	workMax   = 20 * time.Millisecond
	killLease = time.Second
)

// consumer works on the queue in a folder, and writes a line for each job that it begins, until
// its input ends.
type consumer struct{ Dir, Log string }

// start is such a line.
type start struct {
	ID             string
	Begun, Expires int64 // in ns
}

// serveIfWorker does not return if the environment makes this process a consumer.
func serveIfWorker() {
	env := os.Getenv(workerEnv)
	if env == "" {
		return
	}
	var c consumer
	err := json.Unmarshal([]byte(env), &c)
	if err == nil {
		err = c.serve()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "consumer:", err)
		os.Exit(3)
	}
	os.Exit(0)
}

func (c consumer) serve() error {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	db, q, err := openFolder(c.Dir)
	if err != nil {
		return err
	}
	err = q.Work(ctx, func(ctx context.Context, j *queue.Job) error {
		line, err := json.Marshal(start{j.ID, time.Now().UnixNano(), j.Deadline().UnixNano()})
		if err != nil {
			return err
		}
		if _, err := log.Write(append(line, '\n')); err != nil {
			return err
		}
		<-time.After(rand.N(workMax))
		return db.Tx(ctx, func(tx *strictkv.Tx) error { return done(tx, db, j) })
	})
	if ctx.Err() == nil {
		return err
	}
	return db.Close(context.Background())
}

// done makes the effect of a job, which must not be made twice, and completes it.
func done(tx *strictkv.Tx, db *strictkv.DB, j *queue.Job) error {
	if err := j.CompleteTx(tx); err != nil {
		return err
	}
	if err := tx.Insert(db.Collection([]byte("done")), []byte(j.ID), nil); err != nil {
		return fmt.Errorf("completed twice: %w", err)
	}
	return nil
}

func openFolder(dir string) (*strictkv.DB, *queue.Queue, error) {
	ctx := context.Background()
	db, err := strictkv.Open(ctx, "db", folder.New(dir, folder.NoSync()))
	if err != nil {
		return nil, nil, err
	}
	q, err := queue.New(db, db.Collection([]byte("queue")), queue.Options{
		Lease: killLease, Poll: 20 * time.Millisecond, Attempts: 1000,
	})
	return db, q, err
}

// TestKill kills consumers, by SIGKILL, wherever they are: no job is lost, none completed
// twice, and none begun a second time before the lease of the first ended.
func TestKill(t *testing.T) {
	const crew, kills = 4, 25
	c := consumer{Dir: t.TempDir(), Log: filepath.Join(t.TempDir(), "log")}
	db, q, err := openFolder(c.Dir)
	require.NoError(t, err)
	for i := range killJobs {
		enqueue(t, q, fmt.Sprint(i))
	}
	var running []*process
	for range crew {
		running = append(running, c.start(t))
	}
	for range kills {
		<-time.After(rand.N(100 * time.Millisecond))
		i := rand.IntN(crew)
		running[i].kill(t)
		running[i] = c.start(t)
	}
	assert.Eventually(t, func() bool {
		n, err := q.Len(t.Context())
		return assert.NoError(t, err) && n == 0
	}, 2*time.Minute, 50*time.Millisecond, "all jobs are done")
	for _, p := range running {
		p.finish(t)
	}
	n := 0
	for _, err := range db.Collection([]byte("done")).Items(t.Context(), strictkv.Range{}) {
		require.NoError(t, err)
		n++
	}
	assert.Equal(t, killJobs, n)
	again := c.judge(t)
	t.Logf("%d jobs, %d consumers killed, %d jobs begun again", killJobs, kills, again)
	require.NoError(t, db.Close(t.Context()))
}

// judge reads what was begun, and returns how many jobs were begun again.
func (c consumer) judge(t *testing.T) (again int) {
	f, err := os.Open(c.Log)
	require.NoError(t, err)
	defer f.Close()
	leases := map[string]int64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var s start
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s))
		if end, known := leases[s.ID]; known {
			again++
			assert.GreaterOrEqual(t, s.Begun, end, "job %s was begun within a lease", s.ID)
		}
		leases[s.ID] = s.Expires
	}
	assert.Len(t, leases, killJobs)
	return again
}

// process is a consumer that runs.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

func (c consumer) start(t *testing.T) *process {
	env, err := json.Marshal(c)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), workerEnv+"="+string(env)), os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &process{cmd, stdin}
}

func (p *process) kill(t *testing.T) {
	require.NoError(t, p.cmd.Process.Kill())
	require.Error(t, p.cmd.Wait(), "it had not ended by itself")
	require.Equal(t, -1, p.cmd.ProcessState.ExitCode())
}

func (p *process) finish(t *testing.T) {
	require.NoError(t, p.stdin.Close())
	require.NoError(t, p.cmd.Wait())
}
