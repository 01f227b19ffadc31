package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/pebble"
)

// TestPowerCut cuts the power while goroutines write, at random moments. Of what was not synced
// anything may be left. What was acknowledged is there then, and so is what anybody has read.
func TestPowerCut(t *testing.T) {
	const dir = "store"
	disk := vfs.NewCrashableMem()
	require.NoError(t, disk.MkdirAll(dir, 0o700))
	require.NoError(t, syncRoot(disk))
	for round := range 25 {
		b, err := pebble.OpenIn(disk, dir)
		require.NoError(t, err)
		w := newWitness(t, b)
		w.start()
		for w.writes.Load() < int64(20+rand.IntN(100)) {
			w.step(rand.IntN(len(counters)))
		}
		known := w.seen() // before the cut
		cut := disk.CrashClone(vfs.CrashCloneCfg{
			UnsyncedDataPercent: []int{0, 50, 100}[round%3],
			RNG:                 rand.New(rand.NewPCG(uint64(round), 1)),
		})
		w.stop()
		require.NoError(t, b.Close())

		disk = cut
		b, err = pebble.OpenIn(disk, dir)
		require.NoError(t, err)
		expectAtLeast(t, b, known)
		names, err := disk.List(disk.PathJoin(dir, "objects"))
		require.NoError(t, err)
		require.LessOrEqual(t, len(names), len(counters), "files without a record")
		require.NoError(t, b.Close())
	}
}

func syncRoot(disk vfs.FS) error {
	root, err := disk.OpenDir("")
	if err != nil {
		return err
	}
	return errors.Join(root.Sync(), root.Close())
}

// witness increments counters, and notes what it has been told of them.
type witness struct {
	t      *testing.T
	b      backend.Backend
	told   []atomic.Int64 // the greatest state of each counter that was read or acknowledged
	writes atomic.Int64
	over   atomic.Bool
	busy   sync.WaitGroup
}

func newWitness(t *testing.T, b backend.Backend) *witness {
	return &witness{t: t, b: b, told: make([]atomic.Int64, len(counters))}
}

// start lets goroutines read and write.
func (w *witness) start() {
	for i := range counters {
		w.busy.Go(func() {
			for !w.over.Load() {
				w.step(i)
			}
		})
		w.busy.Go(func() {
			for !w.over.Load() {
				w.look(i)
			}
		})
	}
}

func (w *witness) stop() {
	w.over.Store(true)
	w.busy.Wait()
}

func (w *witness) seen() map[string]int {
	all := map[string]int{}
	for i, name := range counters {
		all[name] = int(w.told[i].Load())
	}
	return all
}

func (w *witness) note(i, n int) {
	for {
		old := w.told[i].Load()
		if old >= int64(n) || w.told[i].CompareAndSwap(old, int64(n)) {
			return
		}
	}
}

func (w *witness) step(i int) {
	assert.NoError(w.t, increment(w.b, counters[i], func(n int) {
		w.note(i, n)
		w.writes.Add(1)
	}))
}

// look reads a counter.
func (w *witness) look(i int) {
	o, err := w.b.Get(context.Background(), counters[i], "")
	if !errors.Is(err, backend.ErrNotFound) && assert.NoError(w.t, err) {
		w.note(i, parseState(w.t, o.Data))
	}
}

// expectAtLeast reads all counters: each is whole, and no older than what is known.
func expectAtLeast(t *testing.T, b backend.Backend, known map[string]int) {
	t.Helper()
	for name, least := range known {
		o, err := b.Get(t.Context(), name, "")
		if least == 0 && errors.Is(err, backend.ErrNotFound) {
			continue
		}
		require.NoError(t, err)
		require.GreaterOrEqual(t, parseState(t, o.Data), least, "state of %s", name)
	}
}

// TestTornLog cuts or spoils the end of a log that was not synced: what is left is the state of
// some moment.
func TestTornLog(t *testing.T) {
	const writes, names = 60, 5
	for round := range 40 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			dir, crashed := t.TempDir(), filepath.Join(t.TempDir(), "crashed")
			b := open(t, dir, pebble.NoSync())
			conditions := make([]backend.Condition, names)
			for n := range writes {
				if n < names {
					conditions[n] = backend.IfAbsent()
				}
				at, err := b.Put(t.Context(), name(n%names), state(n), conditions[n%names])
				require.NoError(t, err)
				conditions[n%names] = backend.IfVersion(at.Version)
			}
			require.NoError(t, os.CopyFS(crashed, os.DirFS(dir)))
			tear(t, newestLog(t, crashed), round)
			expectMoment(t, open(t, crashed), names)
		})
	}
}

func newestLog(t *testing.T, dir string) string {
	logs, err := fs.Glob(os.DirFS(dir), "*.log")
	require.NoError(t, err)
	return filepath.Join(dir, logs[len(logs)-1])
}

// tear cuts a file, or sets its end to zero, or to bytes at random, or puts some behind it.
func tear(t *testing.T, path string, round int) {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	end := len(b)
	for end > 0 && b[end-1] == 0 { // It was made longer in advance.
		end--
	}
	random := rand.New(rand.NewPCG(uint64(round), 2))
	at := end - random.IntN(min(end+1, 50_000))
	switch round % 4 {
	case 0:
		b = b[:at]
	case 1:
		clear(b[at:])
	case 2:
		for i := at; i < end; i++ {
			b[i] = byte(random.Uint32())
		}
	case 3:
		b = append(b[:end], state(random.IntN(1000))...)
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))
}

// expectMoment expects that the objects are as some number of the writes have left them.
func expectMoment(t *testing.T, b backend.Backend, names int) {
	t.Helper()
	last := map[int]int{} // by name
	newest := -1
	for i := range names {
		o, err := b.Get(t.Context(), name(i), "")
		if errors.Is(err, backend.ErrNotFound) {
			last[i] = i - names
			continue
		}
		require.NoError(t, err)
		last[i] = parseState(t, o.Data)
		newest = max(newest, last[i])
	}
	for i := range names {
		want := newest - (newest-i+names)%names // the last write of this name up to the newest
		require.Equal(t, want, last[i], "%s, when the newest write is %d", name(i), newest)
	}
}
