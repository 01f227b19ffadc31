package scan_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/protocoltest"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/store"
)

// upload writes an external value.
func (w *world) upload(key, data string) cell.Value {
	v, _, err := w.st.Upload(w.ctx, w.name(key), w.st.NewValue([]byte(data)), []byte(data))
	require.NoError(w.T, err)
	c, _ := w.cell(key)
	w.put(key, cell.Write(c, cell.Fold{}, w.tx(), cell.Put, v))
	return v
}

// next is the next item of a walk, which is there.
func (w *world) next(walker *scan.Walker) *scan.Item {
	item, ok, err := walker.Next()
	require.NoError(w.T, err)
	require.True(w.T, ok)
	return &item
}

// External values come with cells that were read before as with all others.
func TestExternalValuesOfWhatIsCached(t *testing.T) {
	inWorld(t, func(w *world) {
		data := strings.Repeat("x", 1<<20)
		w.upload("k", data)
		for range 2 {
			_, values, _ := w.walk(w.all())
			assert.Equal(t, []string{data}, values)
		}
	})
}

// A value that is gone has been replaced since the cell was read: the cell is read again, and what
// it has then is not of the instant of a listing. If it has the same, that is lost.
func TestExternalValueThatIsGone(t *testing.T) {
	old, other := strings.Repeat("o", 1<<20), strings.Repeat("n", 1<<20)
	for _, x := range []struct {
		name  string
		then  func(w *world)
		value string
		fails error
	}{
		{"replaced by another", func(w *world) { w.upload("k", other) }, other, nil},
		{"replaced by a small one", func(w *world) { w.write("k", "small") }, "small", nil},
		{"lost", func(*world) {}, "", backend.ErrCorrupt},
		{"the cell can't be read", func(w *world) {
			w.net.failing = protocoltest.Prefix + w.name("k")
		}, "", errFailing},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				v := w.upload("k", old)
				known := w.remembered(w.consume(w.all(), scan.WalkOptions{}, 0))
				x.then(w)
				require.NoError(t, w.st.Unlink(w.ctx, w.name("k"), v.Ref))
				walker := w.scans.Walk(w.ctx, w.all(), scan.WalkOptions{Known: known})
				defer walker.Stop()
				item, ok, err := walker.Next()
				require.ErrorIs(t, err, x.fails)
				require.Equal(t, x.fails == nil, ok)
				if !ok {
					return
				}
				assert.True(t, item.Live)
				assert.Equal(t, x.value, string(item.Data)+string(item.Value().Data))
			})
		})
	}
}

// Of external values, too, only so many bytes are fetched ahead, and what was taken makes room.
func TestWalkBoundsExternalValues(t *testing.T) {
	inWorld(t, func(w *world) {
		const n = 40
		for i := range n {
			w.upload(fmt.Sprintf("k%05d", i), strings.Repeat("x", 1<<20))
		}
		w.open(1 << 10)
		walker := w.scans.Walk(w.ctx, w.all(), scan.WalkOptions{})
		defer walker.Stop()
		pass(10 * latency)
		_, gets := w.net.reset()
		assert.Equal(t, n+15, gets, "the cells, and not quite 16 MiB of values")
		begun := time.Now()
		for range n {
			assert.Len(t, w.next(walker).Data, 1<<20)
		}
		assert.Less(t, time.Since(begun), (n-14)*latency)
	})
	inWorld(t, func(w *world) { // a value that was taken makes room for cells
		mib := func(n int) string { return strings.Repeat("x", n<<20) }
		w.upload("a", mib(5))
		w.write("b", mib(5))
		w.write("c", mib(5))
		w.write("d", mib(7)) // for which there is no room but that of a and b
		w.upload("e", mib(1))
		w.open(1 << 10)
		walker := w.scans.Walk(w.ctx, w.all(), scan.WalkOptions{})
		defer walker.Stop()
		pass(10 * latency)
		_, gets := w.net.reset()
		assert.Equal(t, 3+1, gets)
		w.next(walker)
		w.next(walker)
		pass(10 * latency)
		_, gets = w.net.reset()
		assert.Equal(t, 2+1, gets)
	})
}

// tier is the second tier of a cache.
type tier struct{ byKey sync.Map }

type kept struct {
	version string
	data    []byte
}

func (d *tier) Get(key string) (version string, data []byte, size int, ok bool) {
	x, ok := d.byKey.Load(key)
	if !ok {
		return "", nil, 0, false
	}
	k := x.(kept)
	return k.version, k.data, len(k.data), true
}

func (d *tier) Put(key, version string, data []byte) { d.byKey.Store(key, kept{version, data}) }

// What the disk has at the version listed costs no request, unless it is damaged in the store.
func TestWalkFromDisk(t *testing.T) {
	inWorld(t, func(w *world) {
		d := &tier{}
		open := func() {
			c := cache.New(1 << 20)
			c.Onto(d)
			h := w.Open(store.Options{
				Backend: w.net, Cache: c, Concurrency: 2000, Probe: store.ProbeNever,
			}, 10*time.Second)
			w.st, w.rs = h.Store, h.Resolver
			w.scans = scan.New(w.st, w.rs)
			w.net.reset()
		}
		open()
		w.fill(3)
		w.walk(w.all())
		for name, reads := range map[string]int{"": 0, protocoltest.Prefix + w.name("k00001"): 1} {
			open()
			w.net.damaged = name
			_, values, _ := w.walk(w.all())
			assert.Equal(t, []string{"vk00000", "vk00001", "vk00002"}, values)
			_, gets := w.net.reset()
			assert.Equal(t, reads, gets, name)
		}
	})
}

// remembered is what is known of a span as of this instant.
func (w *world) remembered(span *scan.Span) []*scan.Listing {
	at := time.Now()
	_, stale, _ := w.validate(scan.Validator{}, span)
	require.False(w.T, stale)
	var m scan.Memory
	m.Keep([]*scan.Span{span}, at)
	known := m.Recall(w.all(), at)
	require.NotEmpty(w.T, known)
	return known
}

// The cache may have a cell that is newer than a listing that is known: that is not of its instant.
// What the listing itself tells for good costs nothing.
func TestNewerThanWhatIsKnown(t *testing.T) {
	inWorld(t, func(w *world) {
		big := strings.Repeat("x", 1<<20)
		for i := range 9 { // 8 MiB are kept
			w.write(fmt.Sprint("k", i), big)
		}
		span := w.consume(w.all(), scan.WalkOptions{}, 0)
		known := w.remembered(span)
		for i := range 9 {
			w.write(fmt.Sprint("k", i), "later")
			_, err := w.rs.Fetch(w.ctx, w.name(fmt.Sprint("k", i)))
			require.NoError(t, err)
		}
		walker := w.scans.Walk(w.ctx, w.all(), scan.WalkOptions{Known: known})
		defer walker.Stop()
		later := 0
		for range 9 {
			item := w.next(walker)
			fresh := string(item.Value().Data) == "later"
			assert.Equal(t, fresh, item.Live)
			if fresh {
				later++
			}
		}
		assert.Positive(t, later)
	})
	inWorld(t, func(w *world) {
		w.fill(5)
		known := w.remembered(w.consume(w.all(), scan.WalkOptions{}, 0))
		w.open(1)
		walker := w.scans.Walk(w.ctx, w.all(), scan.WalkOptions{Known: known})
		defer walker.Stop()
		for range 5 {
			assert.False(t, w.next(walker).Live)
		}
		lists, gets := w.net.reset()
		assert.Zero(t, lists+gets)
	})
}

// An item has the version of what it tells, if only a write of the cell can change that.
func TestFixed(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("a", "v")
		w.write("b", "v")
		w.intend("c", "new")
		_, listed := w.cell("b")
		walker := w.scans.Walk(w.ctx, w.all(), scan.WalkOptions{})
		defer walker.Stop()
		_, a := w.cell("a")
		assert.Equal(t, a, w.next(walker).Fixed())
		assert.Equal(t, listed, w.next(walker).Fixed())
		assert.Empty(t, w.next(walker).Fixed())
	})
	inWorld(t, func(w *world) {
		w.write("a", "v")
		w.net.beforeGet(func() { w.write("a", "later") })
		walker := w.scans.Walk(w.ctx, w.all(), scan.WalkOptions{})
		defer walker.Stop()
		item := w.next(walker)
		_, v := w.cell("a")
		assert.Equal(t, "later", string(item.Value().Data))
		assert.Equal(t, v, item.Fixed())
	})
}

// A consumer that goes on beyond the limit is given what follows on later pages.
func TestWalkGoesOnBeyondItsLimit(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(40)
		w.net.pageMax = 10
		walker := w.scans.Walk(w.ctx, scan.Range{Interval: w.interval("", ""), Limit: 10},
			scan.WalkOptions{})
		defer walker.Stop()
		for n := range 40 {
			assert.Equal(t, w.name(fmt.Sprintf("k%05d", n)), w.next(walker).Name)
			synctest.Wait()
		}
		_, ok, err := walker.Next()
		require.NoError(t, err)
		assert.False(t, ok)
		assert.Equal(t, 40, walker.Listed())
	})
}

// Who stops a walk waits for all requests, also those that do not heed their context.
func TestStopWaitsForTheLastRequest(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(3)
		ended := false
		w.net.beforeGet(func() {
			pass(4 * latency)
			ended = true
		})
		walker := w.scans.Walk(w.ctx, w.all(), scan.WalkOptions{})
		pass(latency + latency/2) // being read
		walker.Stop()
		assert.True(t, ended)
	})
}
