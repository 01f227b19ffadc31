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

// retiring is what an attempt of the handle's own has left in =a, and what Retire makes of it.
type retiring struct {
	name   string
	mode   cell.Mode
	placed []string // where its intents have landed
	// see is what the handle has seen, and what happens meanwhile.
	see        func(c *client)
	old        bool
	value      string
	gets, puts int
}

// What an attempt of the handle's own has left in a cell is folded by what the attempt has come to;
// one that is undecided is killed for that. What is remembered of the cell is believed if it may be
// new: then it costs one write.
func TestRetire(t *testing.T) {
	const s, p = cell.Staged, cell.Pending
	a, both := []string{"=a"}, []string{"=a", "=b"}
	nothing := func(*client) {}
	fold := func(c *client) { c.w.Fold("=a") }
	read := func(c *client) { c.read("=a") }
	commit := func(c *client) {
		in := c.w.Rival(50, s, both...).Intent
		c.rs.Committed(id(50), in.Members)
	}
	all := func(does ...func(*client)) func(*client) {
		return func(c *client) {
			for _, do := range does {
				do(c)
			}
		}
	}
	for _, x := range []retiring{
		{"committed, and known to be", s, both, all(read, commit), false, "new", 0, 1},
		{"committed, what is known is old", s, both, all(read, commit), true, "new", 1, 1},
		{"committed, which it finds out", s, both, nothing, false, "new", 2, 1},
		{"dead, and known to be", s, a,
			all(read, func(c *client) { c.rs.Dead(id(50)) }), false, "v", 0, 1},
		{"undecided, staged: a fence, and a fold", s, a, nothing, false, "v", 2, 2},
		{"undecided, pending: the intent is dropped", p, a, nothing, false, "v", 2, 1},
		{"somebody has folded it", s, both, fold, false, "new", 1, 0},
		{"somebody has, since it was read", s, both, all(read, commit, fold), false, "new", 1, 1},
		{"it was seen without, before that was known to be final", s, both,
			all(read, fold, read, commit), false, "new", 1, 0},
		{"it was seen without since", s, both, all(read, commit, fold, read), false, "new", 0, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, both...)
				w.Rival(50, x.mode, both...).Place(x.placed...)
				c := w.client()
				x.see(c)
				c.Forget()
				require.NoError(t, c.rs.Retire(background, "=a", id(50), x.old))
				got, _ := w.Cell("=a")
				assert.Nil(t, got.Intent)
				assert.Equal(t, x.value, string(got.Value.Data))
				assert.Equal(t, x.gets, c.requests(faulty.Get), "reads")
				assert.Equal(t, x.puts, c.requests(faulty.Put), "writes")
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
