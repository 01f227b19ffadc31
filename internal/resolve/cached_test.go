package resolve_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
)

// What the cache has tells a value only where no status is to be asked for.
func TestCached(t *testing.T) {
	both := []string{"=a", "=b"}
	for _, x := range []struct {
		name  string
		see   func(w *world, c *client)
		value string // "" if it can't be told
	}{
		{"never read", func(*world, *client) {}, ""},
		{"without an intent", func(_ *world, c *client) { c.read("=a") }, "v"},
		{"a lock", func(w *world, c *client) {
			r := w.Rival(50, cell.Pending, both...)
			r.Intent.Action, r.Intent.Value = cell.Lock, cell.Value{}
			r.Place(both...)
			c.read("=a")
		}, "v"},
		{"an intent of which nothing is known", func(w *world, c *client) {
			w.Rival(50, cell.Staged, both...).Place(both...)
			c.read("=a")
		}, ""},
		{"one that is known to have committed", func(w *world, c *client) {
			w.Rival(50, cell.Staged, both...).Place(both...)
			c.status("=a")
		}, "new"},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, both...)
				c := w.client()
				x.see(w, c)
				c.Forget()
				rd, ok := c.rs.Cached("=a")
				require.Equal(t, x.value != "", ok)
				if ok {
					v, _ := rd.Effective()
					assert.Equal(t, x.value, string(v.Data))
				}
				assert.Empty(t, c.Sent("", ""))
			})
		})
	}
}

// A reading tells when all of it was known: what is read after that may be of another moment.
func TestAReadingTellsWhenItWasKnown(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		w.Rival(50, cell.Staged, "=b", "=c").Place("=b")
		c := w.client()
		for _, name := range []string{"=a", "=b"} {
			s := c.read(name)
			before := c.st.Tick()
			rd, err := c.rs.Status(background, s)
			require.NoError(t, err)
			assert.Greater(t, rd.Answered, before)
			assert.Less(t, rd.Answered, c.st.Tick())
		}
	})
}

// onDisk is the second tier of a cache.
type onDisk map[string]stored

type stored struct {
	version string
	data    []byte
}

func (d onDisk) Get(key string) (version string, data []byte, size int, ok bool) {
	x, ok := d[key]
	return x.version, x.data, len(x.data), ok
}

func (d onDisk) Put(key, version string, data []byte) { d[key] = stored{version, data} }

// What the disk has of a cell tells its value, and what its marks do, once a listing has shown
// that version; of an intent it tells nothing that was not known.
func TestKept(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c", "=d")
		w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b").Fold("=a")
		w.Rival(51, cell.Staged, "=c", "=d").Place("=c")
		d := onDisk{}
		open := func() *client {
			net, tier := w.Net(), cache.New(1<<20)
			tier.Onto(d)
			h := w.Open(store.Options{Backend: net, Cache: tier}, patience)
			return &client{Net: net, w: w, h: h, st: h.Store, rs: h.Resolver}
		}
		before := open()
		before.read("=a")
		before.read("=c")

		c := open()
		c.Forget()
		asked := store.Asked{Proved: c.st.Tick(), Until: time.Now()}
		_, ok := c.rs.Kept("=b", "1", asked)
		assert.False(t, ok)
		_, v := w.Cell("=a")
		rd, ok := c.rs.Kept("=a", v, asked)
		require.True(t, ok)
		assert.Equal(t, inline("new"), rd.Cell.Value)
		assert.Equal(t, cell.Committed, c.rs.Outcome(id(50)))
		_, v = w.Cell("=c")
		_, ok = c.rs.Kept("=c", v, asked)
		assert.False(t, ok)
		assert.Zero(t, c.requests(faulty.Get))
	})
}
