package system_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/internal/raced"
)

var churnCount = flag.Int("churn", 250_000, "how many operations churn the cache")

const (
	churnCache = 64 << 20
	churnValue = 1 << 10
	// churnKeys is several times what the cache has room for.
	churnKeys = 250_000
	// churnWrites is the number of keys that are also written, one in so many operations.
	churnWrites = 1000
	writeEvery  = 50
	// residentMax bounds the resident set of the process.
	residentMax = churnCache*13/10 + 64<<20
	// programSize is what a program takes beside its heap.
	programSize = 32 << 20
)

// churnProcess marks the process that TestChurn starts.
const churnProcess = "STRICTKV_CHURN"

// endless is a store in which every key of a collection has the same value: their cells
// are made when they are asked for, and take no memory. All else is in memory.
type endless struct {
	*memory.Backend
	folder string
	cell   []byte
}

const endlessVersion = "0000000000000001"

func (b *endless) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	switch {
	case !strings.HasPrefix(name, b.folder):
		return b.Backend.Get(ctx, name, known)
	case known == endlessVersion:
		return backend.Object{}, backend.ErrNotModified
	}
	return backend.Object{Data: bytes.Clone(b.cell), Version: endlessVersion}, nil
}

// newEndless takes the cell from a database in which it is written once.
func newEndless(t *testing.T) *endless {
	const folder = "example/+endless/"
	bucket := memory.New()
	db, err := strictkv.Open(t.Context(), "example", bucket)
	require.NoError(t, err)
	value := bytes.Repeat([]byte{7}, churnValue)
	require.NoError(t, db.Collection([]byte("endless")).Write(t.Context(), []byte("key"), value))
	require.NoError(t, db.Close(t.Context()))
	o, err := bucket.Get(t.Context(), folder+"=key", "")
	require.NoError(t, err)
	return &endless{bucket, folder, o.Data}
}

// TestChurn reads weakly from many more keys than the cache has room for, and writes
// some, in a process of its own. The collector lets a heap grow to twice what lives in it
// before it begins; a program that wants less sets GOMEMLIMIT, as here.
func TestChurn(t *testing.T) {
	if os.Getenv(churnProcess) != "" {
		churn(t)
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("the resident set is read from /proc: run it on Linux")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChurn$", "-test.v",
		"-test.timeout=0", "-churn="+strconv.Itoa(*churnCount))
	cmd.Env = append(os.Environ(), churnProcess+"=1",
		"GOMEMLIMIT="+strconv.Itoa(residentMax-programSize))
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
}

func churn(t *testing.T) {
	db, err := strictkv.Open(t.Context(), "example", newEndless(t),
		strictkv.WithCacheSize(churnCache))
	require.NoError(t, err)
	fixed, written := db.Collection([]byte("endless")), db.Collection([]byte("written"))
	random := rand.New(rand.NewPCG(1, 2))
	most := 0
	for i := range *churnCount {
		if i%writeEvery == 0 {
			key := keyOf(random.IntN(churnWrites))
			require.NoError(t, written.Write(t.Context(), key, make([]byte, churnValue)))
			most = max(most, resident(t))
			continue
		}
		v, err := fixed.ReadWeak(t.Context(), keyOf(random.IntN(churnKeys)), time.Hour)
		if err != nil || len(v) != churnValue {
			require.FailNow(t, "wrong value", "%d bytes, %v", len(v), err)
		}
	}
	stats := db.Stats()
	t.Logf("%d operations, %d hits, %d misses, %d writes: at most %.1f MiB resident",
		*churnCount, stats.CacheHits, stats.CacheMisses, stats.Committed,
		float64(most)/(1<<20))
	assert.Greater(t, stats.CacheHits, stats.CacheMisses/20, "hits: the cache is in use")
	require.NoError(t, db.Close(t.Context()))
	if !raced.Enabled() { // the race detector takes memory of its own
		assert.LessOrEqual(t, most, residentMax, "resident set")
	}
}

// resident is the process's resident set in bytes, without the program's text: that of the
// tests has the SDKs of all clouds in it.
func resident(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(status), "RssAnon:")
	require.True(t, ok, "no RssAnon in /proc/self/status")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return kib << 10
}

const (
	hourHandles = 3
	hourWorkers = 4
	hourKeys    = 1000
	// hourCache is less than the cells take, hourInline less than some values.
	hourCache  = 8 << 20
	hourInline = 16 << 10
	// hourWork is how long the workers work in each minute, hourPause the longest pause
	// between two operations of one.
	hourWork  = 15 * time.Second
	hourPause = 500 * time.Millisecond
	// hourLeave is how long those who leave early stay at most.
	hourLeave = 300 * time.Millisecond
	// hourWarm is the number of attempts after which a handle remembers the end of as
	// many as it ever will.
	hourWarm = 9000
)

// hour is a mixed workload of several handles.
type hour struct {
	t      *testing.T
	bucket *memory.Backend
	dbs    []*strictkv.DB
	count  int // of workers so far: the seeds
}

// TestNothingGrowsInAnHour runs it for an hour of virtual time. Every minute it rests
// until all has been resolved, and what is left is measured: no goroutine, and a heap that
// does not grow. Which cells the caches hold makes it differ by some percent from minute to
// minute; so it is the means of half an hour each that are compared.
func TestNothingGrowsInAnHour(t *testing.T) {
	if raced.Enabled() {
		t.Skip("the race detector makes an hour too long: run it without -race")
	}
	synctest.Test(t, func(t *testing.T) {
		h := &hour{t: t, bucket: memory.New()}
		for range hourHandles {
			db, err := strictkv.Open(t.Context(), "example",
				simulated.New(h.bucket, nil, simulated.GCS()),
				strictkv.WithCacheSize(hourCache), strictkv.WithInlineMax(hourInline))
			require.NoError(t, err)
			h.dbs = append(h.dbs, db)
		}
		for !h.warm() {
			h.minute()
		}
		first, last, before := 0.0, 0.0, h.committed()
		for minute := range 60 {
			h.minute()
			require.Empty(t, others(), "goroutines of idle handles")
			if minute < 30 {
				first += h.heap() / 30
			} else {
				last += h.heap() / 30
			}
		}
		t.Logf("%d transactions; heap of %.0f bytes in the first half, %.0f in the second",
			h.committed()-before, first, last)
		assert.LessOrEqual(t, last, 1.02*first, "heap")
		for _, db := range h.dbs {
			require.NoError(t, db.Close(t.Context()))
		}
	})
}

// heap is what lives in the heap, in bytes, but for the objects in the bucket: callers in
// doubt leave values there for a sweep.
func (h *hour) heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	stored, o := int64(0), backend.ListOptions{}
	for more := true; more; {
		page, err := h.bucket.List(h.t.Context(), o)
		require.NoError(h.t, err)
		for _, info := range page.Objects {
			stored += info.Size
			o.After = info.Name
		}
		more = page.More
	}
	return float64(m.HeapAlloc) - float64(stored)
}

// warm reports whether every handle has made enough attempts.
func (h *hour) warm() bool {
	for _, db := range h.dbs {
		if s := db.Stats(); s.Parallel+s.Validated < hourWarm {
			return false
		}
	}
	return true
}

func (h *hour) committed() (n int64) {
	for _, db := range h.dbs {
		n += db.Stats().Committed
	}
	return n
}

// minute lets the workers of all handles work, and then rest.
func (h *hour) minute() {
	began := time.Now()
	var wg sync.WaitGroup
	for range hourWorkers {
		for _, db := range h.dbs {
			h.count++
			c := db.Collection([]byte("hour"))
			w := &worker{db: db, c: c, random: rand.New(rand.NewPCG(uint64(h.count), 1))}
			wg.Go(func() {
				for time.Since(began) < hourWork {
					h.step(w)
					time.Sleep(time.Duration(w.random.Int64N(int64(hourPause))))
				}
			})
		}
	}
	wg.Wait()
	time.Sleep(time.Until(began.Add(time.Minute)))
}

// step is one operation. One in eight callers leaves before the end.
func (h *hour) step(w *worker) {
	ctx := h.t.Context()
	if w.random.IntN(8) == 0 {
		short, cancel := context.WithTimeout(ctx, time.Duration(w.random.Int64N(int64(hourLeave))))
		defer cancel()
		ctx = short
	}
	var err error
	switch w.random.IntN(12) {
	case 0:
		_, err = w.c.Read(ctx, w.key())
	case 1:
		_, err = w.c.ReadWeak(ctx, w.key(), time.Minute)
	case 2:
		err = w.db.View(ctx, func(tx *strictkv.Tx) error {
			return firstError(tx.ReadMulti(w.keys(3)...))
		}, strictkv.MaxStaleness(time.Duration(w.random.IntN(2))*time.Minute))
	case 3:
		err = w.c.Delete(ctx, w.key())
	case 4:
		err = w.c.Insert(ctx, w.key(), w.value())
	default:
		err = h.update(ctx, w)
	}
	usual := []error{
		strictkv.ErrNotFound, strictkv.ErrExists, strictkv.ErrInDoubt, context.DeadlineExceeded,
	}
	if !slices.ContainsFunc(usual, func(u error) bool { return errors.Is(err, u) }) {
		assert.NoError(h.t, err)
	}
}

// update reads some keys, and writes some of them and others.
func (h *hour) update(ctx context.Context, w *worker) error {
	read, written := w.keys(w.random.IntN(3)), w.keys(1+w.random.IntN(3))
	if w.random.IntN(2) == 0 {
		read = written
	}
	return w.db.Tx(ctx, func(tx *strictkv.Tx) error {
		if err := firstError(tx.ReadMulti(read...)); err != nil {
			return err
		}
		for _, k := range written {
			if err := tx.Write(k.Collection, k.Key, w.value()); err != nil {
				return err
			}
		}
		return nil
	})
}

// firstError is the first error, but that a key has no value.
func firstError(results []strictkv.Result) error {
	for _, r := range results {
		if err := present(r.Err); err != nil {
			return err
		}
	}
	return nil
}

// key is a random key; a tenth of all operations meets at few of them.
func (w *worker) key() []byte {
	if w.random.IntN(10) == 0 {
		return keyOf(w.random.IntN(5))
	}
	return keyOf(w.random.IntN(hourKeys))
}

func (w *worker) keys(n int) []strictkv.Key {
	keys := make([]strictkv.Key, n)
	for i := range keys {
		keys[i] = w.c.Key(w.key())
	}
	return keys
}

// value is larger than hourInline for one in ten.
func (w *worker) value() []byte {
	if w.random.IntN(10) == 0 {
		return make([]byte, 2*hourInline)
	}
	return make([]byte, hourInline/2)
}
