package snapshot_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/snapshot"
)

var errDead = errors.New("the process is dead")

// mortal is the connection of a process that dies after some requests.
type mortal struct {
	backend.Backend
	left atomic.Int64
}

func (m *mortal) alive() error {
	if m.left.Add(-1) < 0 {
		return errDead
	}
	return nil
}

func (m *mortal) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	if err := m.alive(); err != nil {
		return backend.Object{}, err
	}
	return m.Backend.Get(ctx, name, known)
}

func (m *mortal) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	if err := m.alive(); err != nil {
		return backend.Stamp{}, err
	}
	return m.Backend.Put(ctx, name, data, c)
}

func (m *mortal) Delete(ctx context.Context, name string, v backend.Version) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Backend.Delete(ctx, name, v)
}

func (m *mortal) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	if err := m.alive(); err != nil {
		return backend.Page{}, err
	}
	return m.Backend.List(ctx, o)
}

// intact opens and verifies all snapshots that can be seen.
func intact(t *testing.T, s snapshot.Store) (names []string) {
	t.Helper()
	names, err := snapshot.Names(t.Context(), s)
	require.NoError(t, err)
	for _, name := range names {
		snap, err := snapshot.Open(t.Context(), s, name)
		require.NoError(t, err)
		require.NoError(t, snap.Verify(t.Context()))
		require.NoError(t, snap.Close())
	}
	return names
}

// clear removes announcements of processes that have died, as time does.
func clearSaves(t *testing.T, b backend.Backend) {
	t.Helper()
	for _, kind := range []string{"saving/", "gc/"} {
		page, err := b.List(t.Context(), backend.ListOptions{Prefix: kind})
		require.NoError(t, err)
		for _, o := range page.Objects {
			require.NoError(t, b.Delete(t.Context(), o.Name, o.Version))
		}
	}
}

// TestDeathAtEachRequest ends the process at each request of a save, a diff, a compaction, a copy
// and a GC in turn: what can be seen is whole, and the same call, made again, does it.
func TestDeathAtEachRequest(t *testing.T) {
	_, c := database(t)
	for i := range 30 {
		require.NoError(t, c.Write(t.Context(), fmt.Append(nil, i), []byte("v")))
	}
	local := snapshot.Dir(t.TempDir())
	first, err := snapshot.Save(t.Context(), local, c, snapshot.SaveOptions{})
	require.NoError(t, err)
	require.NoError(t, c.Write(t.Context(), []byte("7"), []byte("new")))
	var layer string
	ctx, mem := t.Context(), memory.New()
	for step, do := range []func(s snapshot.Store) error{
		func(s snapshot.Store) error { return snapshot.Copy(ctx, s, local, first) },
		func(s snapshot.Store) (err error) {
			layer, err = snapshot.Diff(ctx, s, first, c, snapshot.SaveOptions{})
			return err
		},
		func(s snapshot.Store) error {
			_, err := snapshot.Compact(ctx, s, layer)
			return err
		},
		func(s snapshot.Store) error {
			_, err := snapshot.Save(ctx, s, c, snapshot.SaveOptions{})
			return err
		},
		func(s snapshot.Store) error {
			_, err := snapshot.GC(ctx, s, snapshot.GCOptions{Age: -1})
			return err
		},
	} {
		died := 0
		for n := int64(0); ; n++ {
			m := &mortal{Backend: mem}
			m.left.Store(n)
			err := do(snapshot.Bucket(m, ""))
			require.NotErrorIs(t, err, snapshot.ErrBusy)
			names := intact(t, snapshot.Bucket(mem, ""))
			clearSaves(t, mem)
			if err == nil {
				require.Len(t, names, []int{1, 2, 3, 3, 0}[step])
				break
			}
			require.ErrorIs(t, err, errDead)
			died++
		}
		assert.Greater(t, died, 4, "step %d", step)
	}
	page, err := mem.List(ctx, backend.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, page.Objects, "the last GC keeps nothing")
}

// TestBusy: a GC and a save exclude each other.
func TestBusy(t *testing.T) {
	for _, s := range stores(t) {
		_, err := snapshot.Build(t.Context(), s, func(yield func(k, v []byte) bool) {
			_, err := snapshot.GC(t.Context(), s, snapshot.GCOptions{Age: -1})
			assert.ErrorIs(t, err, snapshot.ErrBusy)
		})
		require.NoError(t, err)
		release, err := snapshot.Exclude(t.Context(), s)
		require.NoError(t, err)
		_, err = snapshot.Build(t.Context(), s, func(func(k, v []byte) bool) {})
		require.ErrorIs(t, err, snapshot.ErrBusy)
		_, err = snapshot.GC(t.Context(), s, snapshot.GCOptions{})
		require.ErrorIs(t, err, snapshot.ErrBusy)
		require.NoError(t, release())
		_, err = snapshot.GC(t.Context(), s, snapshot.GCOptions{})
		require.NoError(t, err)
	}
}

// TestSharedParts: a second snapshot that differs in little uploads little, and a GC of the first
// leaves what they share.
func TestSharedParts(t *testing.T) {
	mem := memory.New()
	s := snapshot.Bucket(mem, "p")
	big := func(skip int) string {
		value := make([]byte, 2000)
		name, err := snapshot.Build(t.Context(), s, func(yield func(k, v []byte) bool) {
			for i := range 10_000 {
				_, _ = rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(value)
				if i != skip && !yield(fmt.Appendf(nil, "%06d", i), value) {
					return
				}
			}
		})
		require.NoError(t, err)
		return name
	}
	size := func() (n int64) {
		page, err := mem.List(t.Context(), backend.ListOptions{Prefix: "p/part/"})
		require.NoError(t, err)
		for _, o := range page.Objects {
			n += o.Size
		}
		return n
	}
	first := big(-1)
	before := size()
	second := big(5000)
	assert.Less(t, size()-before, before/4)
	r, err := snapshot.GC(t.Context(), s, snapshot.GCOptions{Age: -1, Keep: []string{second}})
	require.NoError(t, err)
	assert.Equal(t, 1, r.Removed)
	assert.Equal(t, []string{second}, intact(t, s))
	assert.Less(t, size(), before+1)
	_, err = snapshot.Open(t.Context(), s, first)
	require.ErrorIs(t, err, snapshot.ErrNotFound)
}

// TestFlips flips each byte of each file of a snapshot in a directory.
func TestFlips(t *testing.T) {
	path := t.TempDir()
	s := snapshot.Dir(path)
	_, c := database(t)
	for i := range 9 {
		require.NoError(t, c.Write(t.Context(), fmt.Append(nil, i), []byte("v")))
	}
	base, err := snapshot.Save(t.Context(), s, c, snapshot.SaveOptions{})
	require.NoError(t, err)
	name, err := open(t, s, base).With([]byte("5"), []byte("x")).Save(t.Context())
	require.NoError(t, err)
	try := func() error {
		snap, err := snapshot.Open(t.Context(), s, name)
		if err != nil {
			return err
		}
		return errors.Join(snap.Verify(t.Context()), snap.Close())
	}
	require.NoError(t, try())
	for _, name := range []string{base, name} {
		file := filepath.Join(path, name+".snap")
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for i := range data {
			data[i] ^= 0x10
			require.NoError(t, os.WriteFile(file, data, 0o600))
			require.Error(t, try(), i)
			data[i] ^= 0x10
			require.NoError(t, os.WriteFile(file, data[:i], 0o600))
			require.Error(t, try(), i)
		}
		require.NoError(t, os.WriteFile(file, data, 0o600))
	}
	require.NoError(t, try())

	data, err := os.ReadFile(filepath.Join(path, base+".snap"))
	require.NoError(t, err)
	other := strings.Repeat("ab", 32)
	require.NoError(t, os.WriteFile(filepath.Join(path, other+".snap"), data, 0o600))
	_, err = snapshot.Open(t.Context(), s, other)
	require.ErrorIs(t, err, snapshot.ErrCorrupt, "it is whole, and has the name of another")
}

const childEnv = "STRICTKV_SNAPSHOT_CHILD"

// TestMain is a process that saves, in the place of the tests, if the environment says so.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		child(dir)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child saves, changes, compacts and removes snapshots, until it is killed.
func child(dir string) {
	ctx, s := context.Background(), snapshot.Dir(dir)
	for i := 0; ; i++ {
		name, err := snapshot.Build(ctx, s, func(yield func(k, v []byte) bool) {
			for j := range 2000 {
				if !yield(fmt.Append(nil, j*7919%2000), make([]byte, i%50)) {
					return
				}
			}
		})
		var snap *snapshot.Snapshot
		if err == nil {
			snap, err = snapshot.Open(ctx, s, name)
		}
		if err == nil {
			name, err = snap.With([]byte("more"), nil).Save(ctx)
		}
		if err == nil {
			name, err = snapshot.Compact(ctx, s, name)
		}
		if err == nil {
			_, err = snapshot.GC(ctx, s, snapshot.GCOptions{Age: -1, Keep: []string{name}})
		}
		if err != nil {
			fmt.Println("failed:", err)
			return
		}
		fmt.Println("done")
	}
}

// TestKill kills a process again and again that saves, compacts and collects. After each kill all
// that can be seen is whole, and the next process goes on.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	s := snapshot.Dir(dir)
	for range 12 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for range 1 + rand.IntN(3) { // then it is at any point of the next
			require.True(t, lines.Scan())
			require.Equal(t, "done", lines.Text())
		}
		for range rand.IntN(1000) {
			_, _ = os.Stat(dir)
		}
		require.NoError(t, cmd.Process.Kill())
		rest, _ := io.ReadAll(out)
		require.NotContains(t, string(rest), "failed")
		_ = cmd.Wait()
		intact(t, s)
		old := time.Now().Add(-48 * time.Hour) // as of long ago, for the next GC
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".saving") || f.Name() == "gc.lock" {
				require.NoError(t, os.Chtimes(filepath.Join(dir, f.Name()), old, old))
			}
		}
	}
	_, err := snapshot.GC(t.Context(), s, snapshot.GCOptions{Age: -1})
	require.NoError(t, err)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, files)
}
