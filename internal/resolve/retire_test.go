package resolve_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
)

// What an attempt of the handle's own has left in a cell is folded by what the attempt has come to;
// one that is undecided is killed for that. What is remembered of the cell is believed if it may be
// new: then it costs one write.
func TestRetire(t *testing.T) {
	type want struct {
		value     string
		gets, put int
	}
	value := func(w *world) string {
		c, _ := w.Cell("=a")
		require.Nil(w.T, c.Intent)
		return string(c.Value.Data)
	}
	for _, x := range []struct {
		name string
		mode cell.Mode
		at   []string // where its intents have landed
		// before happens first; see is what the handle knows then.
		before func(w *world)
		see    func(c *client)
		old    bool
		want   want
	}{
		{"committed, and known to be", cell.Staged, []string{"=a", "=b"}, nil, func(c *client) {
			c.read("=a")
			c.rs.Committed(id(50), cell.Members{})
		}, false, want{"new", 0, 1}},
		{"committed, what is known is old", cell.Staged, []string{"=a", "=b"}, nil,
			func(c *client) {
				c.read("=a")
				c.rs.Committed(id(50), cell.Members{})
			}, true, want{"new", 1, 1}},
		{"committed, which it finds out", cell.Staged, []string{"=a", "=b"}, nil, nil, false,
			want{"new", 2, 1}},
		{"dead, and known to be", cell.Staged, []string{"=a"}, nil, func(c *client) {
			c.read("=a")
			c.rs.Dead(id(50))
		}, false, want{"v", 0, 1}},
		{"undecided, staged: by a fence, and a fold", cell.Staged, []string{"=a"}, nil, nil, false,
			want{"v", 2, 2}},
		{"undecided, pending: the intent is dropped", cell.Pending, []string{"=a"}, nil, nil, false,
			want{"v", 2, 1}},
		{"somebody has folded it", cell.Staged, []string{"=a", "=b"},
			func(w *world) { w.Fold("=a") }, nil, false, want{"new", 1, 0}},
		{"somebody has folded it, since it was read", cell.Staged, []string{"=a", "=b"}, nil,
			func(c *client) {
				c.read("=a")
				c.rs.Committed(id(50), cell.Members{})
				c.w.Fold("=a")
			}, false, want{"new", 1, 1}},
		{"it was seen without the intent, before that was known to be final", cell.Staged,
			[]string{"=a", "=b"}, nil, func(c *client) {
				rd := c.read("=a")
				c.w.Fold("=a")
				c.read("=a")
				c.rs.Committed(id(50), rd.Cell.Intent.Members)
			}, false, want{"new", 1, 0}},
		{"it was seen without the intent since", cell.Staged, []string{"=a", "=b"}, nil,
			func(c *client) {
				rd := c.read("=a")
				c.rs.Committed(id(50), rd.Cell.Intent.Members)
				c.w.Fold("=a")
				c.read("=a")
			}, false, want{"new", 0, 0}},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				w.Rival(50, x.mode, "=a", "=b").Place(x.at...)
				if x.before != nil {
					x.before(w)
				}
				c := w.client()
				if x.see != nil {
					x.see(c)
				}
				c.Forget()
				require.NoError(t, c.rs.Retire(background, "=a", id(50), x.old))
				assert.Equal(t, x.want.value, value(w))
				assert.Equal(t, x.want.gets, c.requests(faulty.Get), "reads")
				assert.Equal(t, x.want.put, c.requests(faulty.Put), "writes")
			})
		})
	}
}

// Who kills an attempt to retire it may come too late: then it looks again.
func TestRetireWhoseFenceIsRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.Rival(50, cell.Pending, "=a", "=b").Place("=a", "=b")
		c := w.client()
		c.Before(faulty.Put, "=a", 0, func(context.Context) error {
			held, _ := w.Cell("=a")
			w.Put("=a", cell.Commit(held, id(50), cell.Fold{}))
			return nil
		})
		require.NoError(t, c.rs.Retire(background, "=b", id(50), false))
		got, _ := w.Cell("=b")
		assert.Nil(t, got.Intent)
		assert.Equal(t, inline("new"), got.Value)
	})
}

func TestRetireFailsWithTheStore(t *testing.T) {
	for name, fail := range map[string]func(c *client, denied func(context.Context) error){
		"reading": func(c *client, denied func(context.Context) error) {
			c.Before(faulty.Get, "=a", 0, denied)
		},
		"asking": func(c *client, denied func(context.Context) error) {
			c.Before(faulty.Get, "=b", 0, denied)
		},
		"killing": func(c *client, denied func(context.Context) error) {
			c.Before(faulty.Put, "=b", 0, denied)
		},
		"folding": func(c *client, denied func(context.Context) error) {
			c.Before(faulty.Put, "=a", 0, denied)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				w.Rival(50, cell.Staged, "=a", "=b").Place("=a")
				c := w.client()
				fail(c, func(context.Context) error { return backend.ErrDenied })
				err := c.rs.Retire(background, "=a", id(50), false)
				assert.ErrorIs(t, err, backend.ErrDenied)
				got, _ := w.Cell("=a")
				assert.True(t, got.Holds(id(50)))
			})
		})
	}
}

// A fold whose answer was lost has landed, or somebody else's has: either way the value that it
// unlinks is not linked any more.
func TestAFoldWithoutAnAnswerUnlinksAValue(t *testing.T) {
	inWorld(t, func(w *world) {
		ref := "00112233445566778899aabbccddeeff1"
		w.Write(1, cell.Put, cell.Value{Kind: cell.External, Ref: ref, Size: 9}, "=a")
		w.Value(1, "=b")
		w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
		c := w.client()
		var unlinked []string
		c.rs.OnUnlink(func(name, ref string) { unlinked = append(unlinked, name+" "+ref) })
		c.LoseAnswer("=a", 0, nil)
		require.NoError(t, c.rs.Retire(background, "=a", id(50), false))
		assert.Equal(t, []string{"=a " + ref}, unlinked)
	})
}
