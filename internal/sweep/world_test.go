package sweep_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/sweep"
	"github.com/strictkv/strictkv/internal/txid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	prefix  = "db/"
	horizon = time.Hour
)

var background = context.Background()

// world is a database whose objects the test makes by hand, in virtual time, and a handle
// that sweeps it.
type world struct {
	t     *testing.T
	mem   *memory.Backend
	nonce uint64
	st    *store.Store
	rs    *resolve.Resolver

	mu     sync.Mutex // guards all below
	ops    []faulty.Op
	before func(op faulty.Op) error
}

// inWorld runs f in virtual time.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, mem: memory.New()}
		w.open()
		f(w)
	})
}

// pass lets virtual time pass.
func pass(d time.Duration) { time.Sleep(d) }

// open opens a new handle.
func (w *world) open() {
	net := faulty.New(w.mem, faulty.Options{Before: func(_ context.Context, op faulty.Op) error {
		w.mu.Lock()
		w.ops = append(w.ops, op)
		before := w.before
		w.mu.Unlock()
		if before != nil {
			return before(op)
		}
		return nil
	}})
	st, err := store.Open(background, store.Options{
		Backend: net, Runtime: seam.Real(), Cache: cache.New(1 << 20), Prefix: prefix,
		Concurrency: 64,
	})
	require.NoError(w.t, err)
	life, stop := context.WithCancel(background)
	w.t.Cleanup(stop)
	w.st, w.ops = st, nil
	w.rs = resolve.New(life, resolve.Options{
		Store: st, Patience: 2 * time.Second, Concurrency: 8,
		Logger: slog.New(slog.DiscardHandler),
	})
}

// sweep sweeps with a horizon, and expects success.
func (w *world) sweep() sweep.Report { return w.sweepAs(sweep.Options{Horizon: horizon}) }

func (w *world) sweepAs(o sweep.Options) sweep.Report {
	w.t.Helper()
	r, err := w.try(background, o)
	require.NoError(w.t, err)
	return r
}

func (w *world) try(ctx context.Context, o sweep.Options) (sweep.Report, error) {
	w.mu.Lock()
	w.ops = nil
	w.mu.Unlock()
	if o.Concurrency == 0 {
		o.Concurrency = 16
	}
	r, err := sweep.New(w.st, w.rs, o).Sweep(ctx)
	require.NoError(w.t, w.rs.Drain(background))
	return r, err
}

// hook makes something happen before each request of a kind for an object.
func (w *world) hook(k faulty.Kind, name string, do func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = func(op faulty.Op) error {
		if op.Kind == k && op.Name == prefix+name {
			return do()
		}
		return nil
	}
}

// sent counts the requests of a kind in the last sweep, but those by which it asks for
// the time.
func (w *world) sent(k faulty.Kind) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, op := range w.ops {
		if op.Kind == k && !strings.HasPrefix(op.Name, prefix+"clock.") {
			n++
		}
	}
	return n
}

// names are the objects, but for meta.
func (w *world) names() (names []string) {
	page, err := w.mem.List(background, backend.ListOptions{Limit: 1 << 20})
	require.NoError(w.t, err)
	for _, o := range page.Objects {
		if name := strings.TrimPrefix(o.Name, prefix); name != keyspace.Meta {
			names = append(names, name)
		}
	}
	return names
}

// cell is what is stored, and its version.
func (w *world) cell(name string) (*cell.Cell, backend.Version) {
	o, err := w.mem.Get(background, prefix+name, "")
	if errors.Is(err, backend.ErrNotFound) {
		return &cell.Cell{}, ""
	}
	require.NoError(w.t, err)
	c, err := cell.Decode(o.Data)
	require.NoError(w.t, err)
	return c, o.Version
}

// put replaces what is stored.
func (w *world) put(name string, c *cell.Cell) {
	w.nonce++
	w.putRaw(name, cell.Encode(c, w.nonce))
}

func (w *world) putRaw(name string, data []byte) {
	cond := backend.IfAbsent()
	if o, err := w.mem.Get(background, prefix+name, ""); err == nil {
		cond = backend.IfVersion(o.Version)
	}
	_, err := w.mem.Put(background, prefix+name, data, cond)
	require.NoError(w.t, err)
}

// value stores a committed value of attempt n.
func (w *world) value(n byte, names ...string) { w.commit(n, cell.Put, inline("v"), names...) }

// tombstone deletes keys by attempt n.
func (w *world) tombstone(n byte, names ...string) {
	w.commit(n, cell.Delete, cell.Value{}, names...)
}

func (w *world) commit(n byte, a cell.Action, v cell.Value, names ...string) {
	for _, name := range names {
		c, _ := w.cell(name)
		w.put(name, cell.Write(c, cell.Fold{Outcome: cell.Dead}, id(n), a, v))
	}
}

// condemned stores a condemned tombstone.
func (w *world) condemned(names ...string) {
	w.tombstone(9, names...)
	for _, name := range names {
		c, _ := w.cell(name)
		w.put(name, cell.Condemn(c))
	}
}

// condemnedV1 stores one in version 1 of the format, which has the size of a tombstone.
func (w *world) condemnedV1(name string) {
	const version, fields = 4, 13 + 18
	b := cell.Encode(&cell.Cell{Writer: id(9)}, 1)[:fields:fields]
	b[version] = 1
	b = append(b, 7, 0)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	w.putRaw(name, b)
	require.Equal(w.t, cell.ShapeTombstone, cell.ShapeOf(int64(len(b))))
	c, _ := w.cell(name)
	require.True(w.t, c.Condemned)
}

// external stores the object of an external value, and returns what refers to it.
func (w *world) external(cellName string, n byte) cell.Value {
	data := fmt.Appendf(nil, "external value %d", n)
	v := cell.Value{Kind: cell.External, Size: uint64(len(data))}
	v.Sum = crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	v.Ref = id(n).String()
	w.putRaw(keyspace.Value(cellName, v.Ref), data)
	return v
}

// place writes staged intents of attempt n into the first cells of its members.
func (w *world) place(n byte, v cell.Value, landed int, names ...string) {
	in := cell.Intent{
		Tx: id(n), Priority: txid.Priority{Time: int64(n)}, Mode: cell.Staged,
		Action: cell.Put, Value: v,
	}
	if v.Kind == cell.Absent {
		in.Action = cell.Delete
	}
	for _, name := range names {
		_, version := w.cell(name)
		in.List = append(in.List, cell.Member{Name: name, Expected: string(version)})
	}
	for _, name := range names[:landed] {
		c, _ := w.cell(name)
		each := in
		w.put(name, cell.Place(c, cell.Fold{Outcome: cell.Dead}, &each))
	}
}

// fold resolves the intents of a committed attempt, with the mark.
func (w *world) fold(names ...string) {
	for _, name := range names {
		c, _ := w.cell(name)
		w.put(name, cell.Resolve(c, cell.Fold{Outcome: cell.Committed}))
	}
}

// id is a readable attempt.
func id(n byte) txid.ID { return txid.ID{0: n, 15: n} }

func inline(s string) cell.Value { return cell.Value{Kind: cell.Inline, Data: []byte(s)} }
