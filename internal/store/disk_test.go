package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// disk is a cache's second tier, which a test can change.
type disk map[string]*onDisk

type onDisk struct {
	version string
	data    []byte
}

func (d disk) Get(key string) (version string, data []byte, size int, ok bool) {
	r, ok := d[key]
	if !ok {
		return "", nil, 0, false
	}
	return r.version, r.data, len(r.data), true
}

func (d disk) Put(key, version string, data []byte) { d[key] = &onDisk{version, data} }

// restart opens a store anew, with an empty memory and the disk.
func restart(t *testing.T, mem *memory.Backend, d disk) (*store.Store, *wire) {
	t.Helper()
	w := &wire{mem: mem}
	o := w.options()
	o.Cache.Onto(d)
	st, err := store.Open(background, o)
	require.NoError(t, err)
	w.sent = nil
	return st, w
}

// putCell writes a cell with a value.
func putCell(t *testing.T, st *store.Store, at store.Snapshot, text string) store.Snapshot {
	t.Helper()
	next := &cell.Cell{Writer: txid.New(st.Runtime().Entropy), Value: cell.Inlined([]byte(text))}
	_, now, err := st.Send(background, st.Prepare(at, next))
	require.NoError(t, err)
	return now
}

// What the disk has is nothing until a request has proven it.
func TestDiskProvesNothing(t *testing.T) {
	mem, d := memory.New(), disk{}
	st, _ := restart(t, mem, d)
	old := putCell(t, st, store.NoObject("=a"), "old")
	require.Len(t, d, 1)

	st, w := restart(t, mem, d)
	_, ok := st.Cached("=a")
	assert.False(t, ok)
	_, ok = st.Listed("=a", old.Version, store.Asked{Proved: st.Tick()})
	assert.False(t, ok)
	began := time.Now()
	seen, err := st.Read(background, "=a")
	require.NoError(t, err)
	assert.Equal(t, old.Version, seen.Version)
	assert.Equal(t, "old", string(seen.Cell.Value.Data))
	assert.False(t, seen.Until.Before(began))
	assert.False(t, seen.Since.Before(began))
	assert.Len(t, w.sent, 1)
	assert.EqualValues(t, 1, st.Counts().NotModified.Load())
	assert.EqualValues(t, 1, st.Counts().DiskHits.Load())
	_, ok = st.Cached("=a")
	assert.True(t, ok)

	other, _ := open(t, mem)
	putCell(t, other, seen, "new")
	st, _ = restart(t, mem, d)
	seen, err = st.Read(background, "=a")
	require.NoError(t, err)
	assert.Equal(t, "new", string(seen.Cell.Value.Data))
	assert.Zero(t, st.Counts().DiskHits.Load())
	st, _ = restart(t, mem, d)
	_, err = st.Read(background, "=a")
	require.NoError(t, err)
	assert.EqualValues(t, 1, st.Counts().DiskHits.Load(), "what was read was kept")
}

// A listing proves what the disk has, if it shows that version.
func TestDiskProvedByAListing(t *testing.T) {
	mem, d := memory.New(), disk{}
	st, _ := restart(t, mem, d)
	old := putCell(t, st, store.NoObject("=a"), "old")
	st, w := restart(t, mem, d)
	asked := store.Asked{Proved: st.Tick(), Until: time.Now()}
	for _, v := range []backend.Version{"", "other"} {
		_, ok := st.Kept("=a", v, asked)
		assert.False(t, ok)
	}
	_, ok := st.Kept("=b", old.Version, asked)
	assert.False(t, ok)
	seen, ok := st.Kept("=a", old.Version, asked)
	require.True(t, ok)
	assert.Equal(t, "old", string(seen.Cell.Value.Data))
	assert.Equal(t, asked.Proved, seen.Proved)
	assert.Equal(t, asked.Until, seen.Until)
	assert.False(t, seen.Since.Before(asked.Until))
	cached, ok := st.Cached("=a")
	require.True(t, ok)
	assert.Equal(t, seen.Version, cached.Version)
	_, ok = st.Kept("=a", old.Version, asked)
	assert.False(t, ok, "memory has it")
	assert.Empty(t, w.sent)
}

// What the disk has wrong is read from the store, and put right.
func TestDiskThatIsWrong(t *testing.T) {
	mem, d := memory.New(), disk{}
	st, _ := restart(t, mem, d)
	putCell(t, st, store.NoObject("=a"), "cell")
	v, _, err := st.Upload(background, "=a", st.NewValue([]byte("value")), []byte("value"))
	require.NoError(t, err)
	require.Len(t, d, 2)
	for name, wrong := range map[string]func(r *onDisk){
		"a byte":    func(r *onDisk) { r.data = append([]byte{}, r.data...); r.data[2]++ },
		"no bytes":  func(r *onDisk) { r.data = nil },
		"too short": func(r *onDisk) { r.data = r.data[:len(r.data)-1] },
		"empty":     func(r *onDisk) { r.version, r.data = "", []byte{} },
	} {
		for _, r := range d {
			wrong(r)
		}
		for hits := range int64(2) {
			st, _ = restart(t, mem, d)
			seen, err := st.Read(background, "=a")
			require.NoError(t, err)
			assert.Equal(t, "cell", string(seen.Cell.Value.Data), name)
			got, err := st.Download(background, "=a", v)
			require.NoError(t, err)
			assert.Equal(t, "value", string(got), name)
			assert.Equal(t, 2*hits, st.Counts().DiskHits.Load(), name)
		}
	}
}

// A cell with an intent is about to change.
func TestDiskHasNoIntents(t *testing.T) {
	mem, d := memory.New(), disk{}
	st, _ := restart(t, mem, d)
	at := putCell(t, st, store.NoObject("=a"), "cell")
	clear(d)
	locked := *at.Cell
	locked.Intent = &cell.Intent{
		Tx: txid.New(st.Runtime().Entropy), Mode: cell.Pending, Action: cell.Lock,
		Members: cell.Members{List: []cell.Member{{Name: "=a", Expected: string(at.Version)}}},
	}
	_, _, err := st.Send(background, st.Prepare(at, &locked))
	require.NoError(t, err)
	assert.Empty(t, d)
	_, err = st.Fetch(background, "=a")
	require.NoError(t, err)
	assert.Empty(t, d)
}

// Databases don't share what they have on disk, and Verify looks at the store.
func TestDiskOfTwoDatabases(t *testing.T) {
	d := disk{}
	one, _ := restart(t, memory.New(), d)
	putCell(t, one, store.NoObject("=a"), "of one")
	v, _, err := one.Upload(background, "=a", one.NewValue([]byte("v")), []byte("v"))
	require.NoError(t, err)
	two, _ := restart(t, memory.New(), d)
	seen, err := two.Read(background, "=a")
	require.NoError(t, err)
	assert.Empty(t, seen.Version)
	_, err = two.Download(background, "=a", v)
	assert.ErrorIs(t, err, store.ErrMissing)

	require.NoError(t, one.Verify(background, "=a", v))
	reads := one.Counts().Gets.Load()
	require.NoError(t, one.Verify(background, "=a", v))
	assert.Equal(t, reads+1, one.Counts().Gets.Load())
}

// TestDiskOfAnotherStore: a store that takes the version on disk for malformed, as the objects
// were copied from a store of another kind, is asked without it.
func TestDiskOfAnotherStore(t *testing.T) {
	mem, d := memory.New(), disk{}
	st, _ := restart(t, mem, d)
	putCell(t, st, store.NoObject("=a"), "text")
	st, w := restart(t, mem, d)
	w.before = func(_ context.Context, op faulty.Op, _ int) error {
		if op.Known != "" {
			return backend.ErrInvalid
		}
		return nil
	}
	seen, err := st.Read(background, "=a")
	require.NoError(t, err)
	assert.Equal(t, "text", string(seen.Cell.Value.Data))
	_, err = st.Read(background, "=a")
	require.ErrorIs(t, err, backend.ErrInvalid, "the version is of this store")
}
