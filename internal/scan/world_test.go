package scan_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/protocoltest"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// latency is that of each request, in virtual time.
const latency = 50 * time.Millisecond

// Tests say these often.
var (
	pass   = protocoltest.Pass
	inline = protocoltest.Inline
)

// world is one with a handle that scans a collection of it. Its own methods go by keys,
// those of protocoltest by the names of cells.
type world struct {
	*protocoltest.World
	ctx   context.Context
	net   *counted
	st    *store.Store
	rs    *resolve.Resolver
	scans *scan.Scanner
	path  keyspace.Path
	txs   int // how many attempts there were
}

// errFailing is that of requests that are to fail.
var errFailing = fmt.Errorf("failing: %w", backend.ErrDenied)

// counted is a backend that counts requests, and makes pages small.
type counted struct {
	backend.Backend
	pageMax int    // names in a page, if not 0
	damaged string // a name that listings say is
	failing string // a name, or a prefix of listings, whose requests fail, if not empty

	mu   sync.Mutex // guards all below
	gets []string
	// before, if not nil, is called before the next get.
	before func()
	lists  []backend.ListOptions
}

func (c *counted) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	c.mu.Lock()
	c.gets = append(c.gets, name)
	before := c.before
	c.before = nil
	c.mu.Unlock()
	if before != nil {
		before()
	}
	if name == c.failing {
		return backend.Object{}, errFailing
	}
	return c.Backend.Get(ctx, name, known)
}

func (c *counted) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	c.mu.Lock()
	c.lists = append(c.lists, o)
	c.mu.Unlock()
	if o.Prefix == c.failing {
		return backend.Page{}, errFailing
	}
	if c.pageMax > 0 {
		o.Limit = min(o.Limit, c.pageMax)
	}
	page, err := c.Backend.List(ctx, o)
	for i, x := range page.Objects {
		page.Objects[i].Damaged = x.Name == c.damaged
	}
	return page, err
}

// beforeGet makes something happen before the next get.
func (c *counted) beforeGet(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = do
}

// reset forgets the requests so far, and returns how many there were.
func (c *counted) reset() (lists, gets int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lists, gets = len(c.lists), len(c.gets)
	c.lists, c.gets = nil, nil
	return lists, gets
}

func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	protocoltest.Run(t, func(base *protocoltest.World) {
		w := &world{World: base, ctx: context.Background()}
		w.net = &counted{
			Backend: simulated.New(w.Mem, seam.Real(), simulated.Constant(latency)),
		}
		w.open(1 << 24)
		var err error
		w.path, err = keyspace.Path("").Collection([]byte("c"))
		require.NoError(w.T, err)
		f(w)
	})
}

// open opens another handle, which has seen nothing.
func (w *world) open(cacheSize int64) {
	h := w.Open(store.Options{
		Backend: w.net, Cache: cache.New(cacheSize), Concurrency: 2000, Probe: store.ProbeNever,
	}, 10*time.Second)
	w.st, w.rs = h.Store, h.Resolver
	w.scans = scan.New(w.st, w.rs)
	w.net.reset()
}

func (w *world) name(key string) string {
	name, err := w.path.Cell("db", []byte(key))
	require.NoError(w.T, err)
	return name
}

// cell is what is stored of a key, and its version.
func (w *world) cell(key string) (*cell.Cell, backend.Version) { return w.Cell(w.name(key)) }

// put replaces what is stored of a key.
func (w *world) put(key string, c *cell.Cell) { w.Put(w.name(key), c) }

// write commits a value.
func (w *world) write(key, value string) {
	c, _ := w.cell(key)
	w.put(key, cell.Write(c, cell.Fold{}, w.tx(), cell.Put, inline(value)))
}

// expire makes the value of a key one that is due.
func (w *world) expire(key string) {
	c, _ := w.cell(key)
	v := inline("due")
	v.Expires = 1
	w.put(key, cell.Write(c, cell.Fold{}, w.tx(), cell.Put, v))
}

// remove makes a tombstone.
func (w *world) remove(key string) {
	c, _ := w.cell(key)
	w.put(key, cell.Write(c, cell.Fold{}, w.tx(), cell.Delete, cell.Value{}))
}

// intend places the staged intent of an attempt whose other member does not exist: it is
// undecided.
func (w *world) intend(key, value string) txid.ID {
	c, v := w.cell(key)
	tx := w.tx()
	w.put(key, cell.Place(c, cell.Fold{}, &cell.Intent{
		Tx: tx, Mode: cell.Staged, Action: cell.Put, Value: inline(value),
		Members: cell.Members{List: []cell.Member{
			{Name: w.name(key), Expected: string(v)}, {Name: "=other"},
		}},
	}))
	return tx
}

// resolve replaces the intent in a key's cell by its value.
func (w *world) resolve(key string) { w.Fold(w.name(key)) }

func (w *world) tx() txid.ID {
	w.txs++
	return txid.ID{0: 1, 14: byte(w.txs >> 8), 15: byte(w.txs)}
}

// fill writes n keys, k00000 and so on.
func (w *world) fill(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%05d", i)
		w.write(keys[i], "v"+keys[i])
	}
	return keys
}

func (w *world) interval(from, to string) keyspace.Interval {
	i, err := w.path.Interval([]byte(from), []byte(to))
	require.NoError(w.T, err)
	return i
}

// all is the range of the whole collection.
func (w *world) all() scan.Range { return scan.Range{Interval: w.interval("", "")} }

// walk returns the keys with a value that a walk yields, with their values, and how long
// it took. It leaves after limit of them, if there is one.
func (w *world) walk(r scan.Range) (keys, values []string, d time.Duration) {
	begun := time.Now()
	walker := w.scans.Walk(w.ctx, r, scan.WalkOptions{})
	defer walker.Stop()
	for r.Limit == 0 || len(keys) < r.Limit {
		item, ok, err := walker.Next()
		require.NoError(w.T, err)
		if !ok {
			break
		}
		if !item.PresentAt(w.st.Clock()) {
			continue
		}
		key, err := w.path.Key(item.Name)
		require.NoError(w.T, err)
		keys = append(keys, string(key))
		if item.Data != nil {
			values = append(values, string(item.Data))
		} else {
			values = append(values, string(item.Value().Data))
		}
	}
	return keys, values, time.Since(begun)
}

func reversed(s []string) []string {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}
