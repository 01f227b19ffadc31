package system_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
)

var loadCount = flag.Int("load", 30_000, "how many records TestLoadKeepsLittle loads")

// records yields the records from one to another, in buffers that it uses again.
func records(from, to int) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		key, value := make([]byte, 0, 16), make([]byte, 100)
		for i := from; i < to; i++ {
			key = fmt.Appendf(key[:0], "record-%08d", i)
			copy(value, key)
			if !yield(key, value) {
				return
			}
		}
	}
}

// loaded fails unless a collection holds the first n records, and nothing else.
func loaded(t *testing.T, c *strictkv.Collection, n int) {
	t.Helper()
	items, stop := iter.Pull2(c.Items(t.Context(), strictkv.Range{}))
	defer stop()
	for key, value := range records(0, n) {
		item, err, more := items()
		require.NoError(t, err)
		require.True(t, more, "%s is missing", key)
		require.Equal(t, string(key), string(item.Key))
		require.Equal(t, value, item.Value)
	}
	_, _, more := items()
	require.False(t, more, "more than %d records", n)
}

// TestLoadTakesARoundForEachWave: with a request of 100 ms for each key, and nothing else.
func TestLoadTakesARoundForEachWave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := simulated.New(memory.New(), nil, simulated.Constant(100*time.Millisecond))
		db, err := strictkv.Open(t.Context(), "db", sim)
		require.NoError(t, err)
		c, before, began := db.Collection([]byte("c")), sim.Counts(), time.Now()
		var told []strictkv.LoadReport
		report, err := c.Load(t.Context(), records(0, 2500), strictkv.LoadOptions{
			Concurrency: 50, Progress: func(r strictkv.LoadReport) { told = append(told, r) },
		})
		require.NoError(t, err)
		assert.Equal(t, 5*time.Second, time.Since(began))
		assert.Equal(t, simulated.Counts{Puts: 2500}, sim.Counts().Sub(before))
		want := strictkv.LoadReport{Taken: 2500, Inserted: 2500, Bytes: 2500 * 115}
		assert.Equal(t, want, report)
		require.Len(t, told, 3)
		assert.EqualValues(t, 1000, told[0].Taken)
		assert.Equal(t, want, told[2])

		before = sim.Counts()
		report, err = c.Load(t.Context(), records(0, 2500), strictkv.LoadOptions{})
		require.NoError(t, err)
		assert.EqualValues(t, 2500, report.Present)
		assert.LessOrEqual(t, sim.Counts().Sub(before).Requests(), 2*2500)
		loaded(t, c, 2500)
		require.NoError(t, db.Close(t.Context()))
	})
}

// TestLoadRate: at least nine tenths of what the bare store takes, with the latencies of gcs.
func TestLoadRate(t *testing.T) {
	const n = 4000
	for _, parallel := range []int{8, 64} {
		synctest.Test(t, func(t *testing.T) {
			sim := simulated.New(memory.New(), nil, simulated.GCS())
			put := func(ctx context.Context, key, value []byte) error {
				_, err := sim.Put(ctx, "bare/"+string(key), value, backend.IfAbsent())
				return err
			}
			bare := bareLoad(t, put, 0, n, parallel)
			db, err := strictkv.Open(t.Context(), "db", sim)
			require.NoError(t, err)
			ours := timedLoad(t, db, 0, n, parallel)
			t.Logf("%d in parallel: %.0f/s, bare %.0f/s", parallel, ours, bare)
			assert.Greater(t, ours, 0.9*bare)
			require.NoError(t, db.Close(t.Context()))
		})
	}
}

// bareLoad writes records without the library, and returns how many in a second.
func bareLoad(
	t testing.TB, put func(ctx context.Context, key, value []byte) error, from, to, parallel int,
) float64 {
	began := time.Now()
	var group errgroup.Group
	group.SetLimit(parallel)
	for key, value := range records(from, to) {
		key, value := bytes.Clone(key), bytes.Clone(value)
		group.Go(func() error { return put(t.Context(), key, value) })
	}
	require.NoError(t, group.Wait())
	return float64(to-from) / time.Since(began).Seconds()
}

func timedLoad(t testing.TB, db *strictkv.DB, from, to, parallel int) float64 {
	began := time.Now()
	o := strictkv.LoadOptions{Concurrency: parallel}
	report, err := db.Collection([]byte("c")).Load(t.Context(), records(from, to), o)
	require.NoError(t, err)
	require.EqualValues(t, to-from, report.Inserted)
	return float64(to-from) / time.Since(began).Seconds()
}

// BenchmarkLoad compares Load with a bare loop of conditional writes on the SDK, to the same
// server, in turns:
//
//	go test -run '^$' -bench 'Load/' -benchtime 5x .
func BenchmarkLoad(b *testing.B) {
	const slice = 100
	for _, parallel := range []int{8, 64} {
		b.Run(fmt.Sprintf("fake-gcs-server/%d", parallel), func(b *testing.B) {
			bucket := gcstest.New(b).DirectBucket(b)
			sdk := putGCS(bucket)
			put := func(ctx context.Context, key, value []byte) error {
				_, err := sdk(ctx, "bare/"+string(key), "", value)
				return err
			}
			db, err := strictkv.Open(b.Context(), "bench", gcs.New(bucket, gcs.SendsOnce(true)))
			require.NoError(b, err)
			var ratios, bare, ours []float64
			for i := range b.N {
				var p, q float64
				for turn := range 4 { // the server gets slower with each object
					n := 2*i + turn/2
					if from, to := n*slice, (n+1)*slice; turn == 0 || turn == 3 {
						p += bareLoad(b, put, from, to, parallel)
					} else {
						q += timedLoad(b, db, from, to, parallel)
					}
				}
				bare, ours, ratios = append(bare, p/2), append(ours, q/2), append(ratios, q/p)
			}
			b.ReportMetric(0, "ns/op") // It says nothing: slices differ.
			b.ReportMetric(median(bare), "bare/s")
			b.ReportMetric(median(ours), "keys/s")
			b.ReportMetric(median(ratios), "ratio")
			require.NoError(b, db.Close(b.Context()))
		})
	}
}

// TestLoadKeepsLittle: memory is bounded by the cache, whatever the number of keys.
func TestLoadKeepsLittle(t *testing.T) {
	bucket := &forgetful{Backend: memory.New()}
	db, err := strictkv.Open(t.Context(), "db", bucket, strictkv.WithCacheSize(4<<20))
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	_, err = c.Load(t.Context(), records(0, 20_000), strictkv.LoadOptions{})
	require.NoError(t, err)
	runtime.GC()
	before, most := heapSize(), int64(0)
	_, err = c.Load(t.Context(), records(20_000, 20_000+*loadCount), strictkv.LoadOptions{
		Progress: func(r strictkv.LoadReport) {
			if r.Taken%20_000 == 0 {
				most = max(most, heapSize())
			}
		},
	})
	require.NoError(t, err)
	t.Logf("%d records: heap %d KiB before, at most %d KiB", *loadCount, before>>10, most>>10)
	assert.Less(t, most-before, int64(2<<20))
	require.NoError(t, db.Close(t.Context()))
}

// forgetful is a store that takes cells and keeps none.
type forgetful struct {
	*memory.Backend
	versions atomic.Int64
}

func (b *forgetful) Put(
	ctx context.Context, name string, data []byte, cond backend.Condition,
) (backend.Stamp, error) {
	if bytes.HasPrefix([]byte(name), []byte("db/+c/")) {
		return backend.Stamp{Version: backend.Version(fmt.Sprint(b.versions.Add(1)))}, nil
	}
	return b.Backend.Put(ctx, name, data, cond)
}

// TestLoadBoundsBytes: few large values are on their way at once.
func TestLoadBoundsBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := simulated.New(memory.New(), nil, simulated.Constant(time.Second))
		db, err := strictkv.Open(t.Context(), "db", sim)
		require.NoError(t, err)
		value := make([]byte, 10<<20)
		var yielded atomic.Int64
		large := func(yield func(key, value []byte) bool) {
			for i := range 14 {
				yielded.Add(1)
				if !yield(keyOf(i), value) {
					return
				}
			}
		}
		went := make(chan error)
		go func() {
			_, err := db.Collection([]byte("c")).Load(t.Context(), large, strictkv.LoadOptions{})
			went <- err
		}()
		synctest.Wait()
		assert.EqualValues(t, 7, yielded.Load(), "six of 10 MiB are on their way, and one waits")
		require.NoError(t, <-went)
		assert.EqualValues(t, 14, yielded.Load())
		require.NoError(t, db.Close(t.Context()))
	})
}

// loadProcess marks the process that TestLoadKilled starts; its value is the folder.
const loadProcess = "STRICTKV_LOAD"

// TestLoadKilled kills a process in the middle of a load, some times; one that is not killed
// then loads the rest.
func TestLoadKilled(t *testing.T) {
	const n = 5000
	if dir := os.Getenv(loadProcess); dir != "" {
		db, err := strictkv.Open(t.Context(), "db", folder.New(dir, folder.NoSync()))
		require.NoError(t, err)
		_, err = db.Collection([]byte("c")).Load(t.Context(), records(0, n), strictkv.LoadOptions{})
		require.NoError(t, err)
		select {} // until it is killed
	}
	dir := t.TempDir()
	db, err := strictkv.Open(t.Context(), "db", folder.New(dir, folder.NoSync()))
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	present := 0
	for range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLoadKilled$")
		cmd.Env = append(os.Environ(), loadProcess+"="+dir)
		require.NoError(t, cmd.Start())
		goal := present + 300
		require.Eventually(t, func() bool {
			present = 0
			for _, err := range c.Items(t.Context(), strictkv.Range{KeysOnly: true}) {
				require.NoError(t, err)
				present++
			}
			return present >= goal
		}, time.Minute, time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	}
	report, err := c.Load(t.Context(), records(0, n), strictkv.LoadOptions{})
	require.NoError(t, err)
	t.Logf("%d were there, %d were loaded", report.Present, report.Inserted)
	assert.GreaterOrEqual(t, report.Present, int64(present))
	assert.EqualValues(t, n, report.Present+report.Inserted)
	loaded(t, c, n)
	require.NoError(t, db.Close(t.Context()))
}
