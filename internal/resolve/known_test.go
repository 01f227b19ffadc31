package resolve_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/store"
)

// What a mark in a cell tells is noted, however the cell was read.
func TestMarksAreNoted(t *testing.T) {
	for name, read := range map[string]func(c *client) error{
		"Read":   func(c *client) error { _, err := c.rs.Read(background, "=a"); return err },
		"Fetch":  func(c *client) error { _, err := c.rs.Fetch(background, "=a"); return err },
		"Shared": func(c *client) error { _, err := c.rs.Shared(background, "=a", 0); return err },
		"Glance": func(c *client) error {
			_, _, err := c.rs.Glance(background, "=a", 0)
			return err
		},
		"waiting": func(c *client) error {
			c.w.Rival(60, cell.Pending, "=a", "=c").Place("=a")
			go func() {
				pass(patience / 2)
				held, _ := c.w.Cell("=a")
				c.w.Put("=a", cell.Commit(held, id(60), cell.Fold{}))
			}()
			_, err := c.rs.Effective(background, "=a", reader)
			assert.Equal(c.w.T, cell.Committed, c.rs.Outcome(id(60)), "it came meanwhile")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=c")
				w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b").Fold("=a")
				c := w.client()
				require.NoError(t, read(c))
				assert.Equal(t, cell.Committed, c.rs.Outcome(id(50)))
			})
		})
	}
}

// Who only glances at a cell is told what can be told now, and never waits.
func TestGlance(t *testing.T) {
	both := []string{"=a", "=b"}
	for _, x := range []struct {
		name   string
		mode   cell.Mode
		action cell.Action
		placed []string
		told   bool
		value  string
		gets   int
	}{
		{"without an intent", cell.Staged, cell.Put, nil, true, "v", 1},
		{"a lock", cell.Pending, cell.Lock, both, true, "v", 1},
		{"committed", cell.Staged, cell.Put, both, true, "new", 2},
		{"staged, undecided", cell.Staged, cell.Put, []string{"=a"}, true, "v", 2},
		{"pending, at its primary", cell.Pending, cell.Put, both, false, "", 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, both...)
				r := w.Rival(50, x.mode, both...)
				if r.Intent.Action = x.action; x.action == cell.Lock {
					r.Intent.Value = cell.Value{}
				}
				r.Place(x.placed...)
				c := w.client()
				rd, told, err := c.rs.Glance(background, "=a", 0)
				require.NoError(t, err)
				assert.Equal(t, x.told, told)
				assert.Equal(t, x.gets, c.requests(faulty.Get))
				if told {
					v, _ := rd.Effective()
					assert.Equal(t, x.value, string(v.Data))
				}
			})
		})
	}
	for _, name := range both {
		inWorld(t, func(w *world) {
			w.Value(1, both...)
			w.Rival(50, cell.Staged, both...).Place(both...)
			c := w.client()
			c.Before(faulty.Get, name, 0, func(context.Context) error { return backend.ErrDenied })
			_, told, err := c.rs.Glance(background, "=a", 0)
			assert.ErrorIs(t, err, backend.ErrDenied)
			assert.False(t, told)
		})
	}
}

// An owner whose heartbeats are always faster than the fence is alive: that is no store which
// refuses whatever is sent.
func TestFencesAreCountedAtOneVersion(t *testing.T) {
	const beats = 300
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.Rival(50, cell.Pending, "=a", "=b").Place("=a", "=b")
		c := w.client()
		for n := range beats {
			c.Before(faulty.Put, "=a", n, func(context.Context) error {
				held, _ := w.Cell("=a")
				w.Put("=a", cell.Fence(held))
				return nil
			})
		}
		_, took := c.effective("=b", writer(10))
		assert.True(t, w.fenced())
		assert.Equal(t, beats+1, c.requests(faulty.Put))
		assert.Less(t, took, time.Second, "after a refusal by somebody it does not pause")
	})
}

// Room for marks is made by what was learned on the way, whatever the cache has kept of it.
func TestReliefWithoutACache(t *testing.T) {
	for name, members := range map[string][]string{"short": names(3), "long": names(10)} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, append(members, "=z")...)
				r := w.Rival(20, cell.Staged, members...).Place(members...).Fold("=b")
				r.Fold("=a").Fold(r.Names()[2:]...).Settled(70, "=a")
				for i := range byte(cell.MarksMax - 1) {
					other := "=n" + string(rune('0'+i))
					w.Value(1, other)
					w.Rival(21+i, cell.Staged, "=b", other).Place("=b", other).Fold("=b")
				}
				w.Rival(50, cell.Staged, "=b", "=z").Place("=b", "=z")
				c := &client{Net: w.Net(), w: w}
				h := w.Open(store.Options{Backend: c.Net, Cache: cache.New(1)}, patience)
				c.st, c.rs = h.Store, h.Resolver
				ctx, leave := context.WithCancel(background)
				defer leave()
				c.Every(func(context.Context, faulty.Op, *faulty.Answer) {
					if c.requests(faulty.Get) > 100 {
						leave() // it would go on for ever
					}
				})
				rd, err := c.rs.Effective(ctx, "=b", resolve.Role{})
				require.NoError(t, err)
				require.NoError(t, c.rs.CompactMarks(ctx, rd, 0))
				require.Equal(t, store.Applied, c.write(rd, 60))
				assert.Empty(t, w.carries(20, "=b"))
			})
		})
	}
}
