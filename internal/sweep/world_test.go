package sweep_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/protocoltest"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/sweep"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	prefix  = protocoltest.Prefix
	horizon = time.Hour
)

var background = context.Background()

// Tests say these often.
var (
	pass   = protocoltest.Pass
	id     = protocoltest.ID
	inline = protocoltest.Inline
)

// world is one with a handle that sweeps it.
type world struct {
	*protocoltest.World
	h  *protocoltest.Handle
	st *store.Store
	rs *resolve.Resolver
	// probe is for the handles that are opened from now on.
	probe store.Probe

	mu     sync.Mutex // guards all below
	ops    []faulty.Op
	before func(op faulty.Op) error
}

// inWorld runs f in virtual time.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	protocoltest.Run(t, func(base *protocoltest.World) {
		w := &world{World: base}
		w.open()
		f(w)
	})
}

// open opens a new handle.
func (w *world) open() {
	net := faulty.New(w.Mem, faulty.Options{Before: func(_ context.Context, op faulty.Op) error {
		w.mu.Lock()
		w.ops = append(w.ops, op)
		before := w.before
		w.mu.Unlock()
		if before != nil {
			return before(op)
		}
		return nil
	}})
	w.h = w.Open(store.Options{Backend: net, Probe: w.probe}, 2*time.Second)
	w.st, w.rs = w.h.Store, w.h.Resolver
	w.ops = nil
}

// sweep sweeps with a horizon, and expects success.
func (w *world) sweep() sweep.Report { return w.sweepAs(sweep.Options{Horizon: horizon}) }

func (w *world) sweepAs(o sweep.Options) sweep.Report {
	w.T.Helper()
	r, err := w.try(background, o)
	require.NoError(w.T, err)
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
	w.Drain(w.h)
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
	page, err := w.Mem.List(background, backend.ListOptions{Limit: 1 << 20})
	require.NoError(w.T, err)
	for _, o := range page.Objects {
		if name := strings.TrimPrefix(o.Name, prefix); name != keyspace.Meta {
			names = append(names, name)
		}
	}
	return names
}

// tombstone deletes keys by attempt n.
func (w *world) tombstone(n byte, names ...string) {
	w.Write(n, cell.Delete, cell.Value{}, names...)
}

// condemned stores a condemned tombstone.
func (w *world) condemned(names ...string) {
	w.tombstone(9, names...)
	for _, name := range names {
		c, _ := w.Cell(name)
		w.Put(name, cell.Condemn(c))
	}
}

// condemnedV1 stores one in version 1 of the format, which has the size of a tombstone.
func (w *world) condemnedV1(name string) {
	const version, fields = 4, 13 + 18
	b := cell.Encode(&cell.Cell{Writer: id(9)}, 1)[:fields:fields]
	b[version] = 1
	b = append(b, 7, 0)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	w.PutData(name, b)
	require.Equal(w.T, cell.ShapeTombstone, cell.ShapeOf(int64(len(b))))
	c, _ := w.Cell(name)
	require.True(w.T, c.Condemned)
}

// external stores the object of an external value, and returns what refers to it.
func (w *world) external(cellName string, n byte) cell.Value {
	data := fmt.Appendf(nil, "external value %d", n)
	v := cell.Value{Kind: cell.External, Size: uint64(len(data))}
	v.Sum = crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	v.Ref = id(n).String()
	w.PutData(keyspace.Value(cellName, v.Ref), data)
	return v
}

// place writes staged intents of attempt n into the first cells of its members.
func (w *world) place(n byte, v cell.Value, landed int, names ...string) {
	r := w.Rival(n, cell.Staged, names...)
	if r.Intent.Value = v; v.Kind == cell.Absent {
		r.Intent.Action = cell.Delete
	}
	r.Place(names[:landed]...)
}
