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

// row is one answer of status(T), asked at a cell that holds the intent of T.
type row struct {
	name   string
	mode   cell.Mode
	n      int    // members
	placed string // which of them hold the intent, by their letters
	then   func(w *world, r *rival)
	ask    string
	want   cell.Outcome
	gets   int // beside the read of the cell
}

func (x row) run(t *testing.T) {
	inWorld(t, func(w *world) {
		all := names(x.n)
		w.Value(1, all...)
		r := w.Rival(50, x.mode, all...)
		for _, letter := range x.placed {
			r.Place("=" + string(letter))
		}
		if x.then != nil {
			x.then(w, r)
		}
		c := w.client()
		rd := c.status(x.ask)
		assert.Equal(t, x.want, rd.Outcome)
		assert.Equal(t, x.gets+1, c.requests(faulty.Get), "reads")
		assert.Zero(t, c.requests(faulty.Put), "to ask writes nothing")
		assert.True(t, rd.Cell.Holds(id(50)))
	})
}

func TestStatusOfStaged(t *testing.T) {
	fold := func(names ...string) func(*world, *rival) {
		return func(_ *world, r *rival) { r.Fold(names...) }
	}
	overwrite := func(names ...string) func(*world, *rival) {
		return func(w *world, _ *rival) { w.Value(2, names...) }
	}
	const s = cell.Staged
	for _, x := range []row{
		{"all hold: committed", s, 3, "abc", nil, "=a", cell.Committed, 2},
		{"all hold, asked at another one", s, 3, "abc", nil, "=c", cell.Committed, 2},
		{"one carries the mark: committed", s, 3, "abc", fold("=b"), "=a", cell.Committed, 2},
		{"all others carry it", s, 3, "abc", fold("=b", "=c"), "=a", cell.Committed, 2},
		{"one at expected: undecided", s, 3, "ab", nil, "=a", cell.Undecided, 2},
		{"all others at expected", s, 3, "b", nil, "=b", cell.Undecided, 2},
		{"one off, the cell confirms: dead", s, 3, "ab", overwrite("=c"), "=a", cell.Dead, 3},
		{"one off, one at expected", s, 3, "a", overwrite("=c"), "=a", cell.Dead, 3},
		{"marked, and written again", s, 3, "abc", func(w *world, r *rival) {
			r.Fold("=b")
			c, _ := w.Cell("=b")
			w.Put("=b", cell.Write(c, cell.Fold{}, id(2), cell.Put, inline("x")))
		}, "=a", cell.Committed, 2},
	} {
		t.Run(x.name, x.run)
	}
}

func TestStatusOfPending(t *testing.T) {
	const p = cell.Pending
	commit := func(w *world, r *rival) {
		c, _ := w.Cell("=a")
		w.Put("=a", cell.Commit(c, id(50), cell.Fold{}))
	}
	for _, x := range []row{
		{"s is the primary: undecided", p, 3, "abc", nil, "=a", cell.Undecided, 0},
		{"primary marked: committed", p, 3, "abc", commit, "=b", cell.Committed, 1},
		{"primary holds the intent: undecided", p, 3, "abc", nil, "=b", cell.Undecided, 1},
		{"primary at expected: undecided", p, 3, "bc", nil, "=b", cell.Undecided, 1},
		{"primary off, the cell confirms: dead", p, 3, "bc",
			func(w *world, _ *rival) { w.Value(2, "=a") }, "=b", cell.Dead, 2},
		{"the intent was dropped from the primary", p, 3, "abc",
			func(w *world, _ *rival) { w.Value(2, "=a") }, "=c", cell.Dead, 2},
		{"another secondary off is of no matter", p, 3, "ab",
			func(w *world, _ *rival) { w.Value(2, "=c") }, "=b", cell.Undecided, 1},
	} {
		t.Run(x.name, x.run)
	}
}

func TestStatusWithALongList(t *testing.T) {
	const s, all, secondaries = cell.Staged, "abcdefghij", "bcdefghij"
	for _, x := range []row{
		{"primary at expected: undecided, no list", s, 10, secondaries, nil, "=b",
			cell.Undecided, 1},
		{"primary off: dead", s, 10, secondaries,
			func(w *world, _ *rival) { w.Value(2, "=a") }, "=b", cell.Dead, 2},
		{"primary marked: committed", s, 10, all,
			func(_ *world, r *rival) { r.Fold("=a") }, "=b", cell.Committed, 1},
		{"primary holds, so do all of its list: committed", s, 10, all, nil, "=b",
			cell.Committed, 9},
		{"primary holds, one of its list at expected", s, 10, "abcdefghi", nil, "=b",
			cell.Undecided, 9},
		{"primary holds, one of its list off", s, 10, "abcdefghi",
			func(w *world, _ *rival) { w.Value(2, "=j") }, "=b", cell.Dead, 10},
		{"primary holds, one of its list marked", s, 10, all,
			func(_ *world, r *rival) { r.Fold("=j") }, "=b", cell.Committed, 9},
		{"asked at the primary", s, 10, all, nil, "=a", cell.Committed, 9},
		{"pending, asked at a secondary", cell.Pending, 10, all, nil, "=b", cell.Undecided, 1},
	} {
		t.Run(x.name, x.run)
	}
}

// Members that are folded and written again look off; only the cell itself, read
// after them, tells that its attempt was settled as committed.
func TestOffButTheCellDoesNotConfirm(t *testing.T) {
	for name, settle := range map[string]func(w *world, r *rival){
		"the cell is folded, and written again": func(_ *world, r *rival) {
			r.Fold("=a", "=b").Settled(2, "=a", "=b")
		},
		"the cell is folded": func(_ *world, r *rival) {
			r.Fold("=a", "=b").Settled(2, "=b")
		},
		"the cell holds another attempt's intent": func(w *world, r *rival) {
			r.Fold("=a", "=b").Settled(2, "=a", "=b")
			w.Rival(60, cell.Staged, "=a", "=b").Place("=a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				r := w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
				c := w.client()
				c.Before(faulty.Get, "=b", 0, func(context.Context) error {
					settle(w, r)
					return nil
				})
				rd := c.status("=a")
				assert.False(t, rd.Cell.Holds(id(50)), "it started over with the cell as it is")
				assert.NotEqual(t, cell.Dead, c.rs.Known(c.held(r)).Outcome,
					"a committed attempt was taken for dead")
			})
		})
	}
}

// held is the cell =a with the intent of an attempt, as it once was.
func (c *client) held(r *rival) (s snapshot) {
	in := r.Intent
	s.Name, s.Cell = "=a", cell.Place(&cell.Cell{}, cell.Fold{}, &in)
	return s
}

// The confirming read must come after the others: before them it shows nothing.
func TestConfirmationComesAfterTheWave(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		w.Rival(50, cell.Staged, "=a", "=b", "=c").Place("=a", "=b")
		w.Value(2, "=c")
		c := w.client()
		require.Equal(t, cell.Dead, c.status("=a").Outcome)
		var order []string
		for _, op := range c.Sent("", "") {
			order = append(order, op.Name)
		}
		assert.Equal(t, prefix+"=a", order[0])
		assert.ElementsMatch(t, []string{prefix + "=b", prefix + "=c"}, order[1:3])
		assert.Equal(t, []string{prefix + "=a"}, order[3:])
	})
}

func TestCommittedAndDeadAreRemembered(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c", "=d")
		w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
		w.Rival(51, cell.Staged, "=c", "=d").Place("=c")
		w.Value(2, "=d")
		c := w.client()
		require.Equal(t, cell.Committed, c.status("=a").Outcome)
		require.Equal(t, cell.Dead, c.status("=c").Outcome)
		before := c.requests(faulty.Get)
		assert.Equal(t, cell.Committed, c.status("=b").Outcome, "of another member")
		assert.Equal(t, cell.Dead, c.status("=c").Outcome)
		assert.Equal(t, before+2, c.requests(faulty.Get), "only the cells themselves are read")
	})
}

// condemned makes a tombstone that a sweep has condemned.
func (w *world) condemned(name string) {
	w.Put(name, &cell.Cell{Writer: id(9), Recent: ids(9), Condemned: true})
}

// A blind insert expects an absence; a condemned tombstone looks off, but may vanish,
// and then the insert lands.
func TestCondemnedTombstoneIsLiftedBeforeItCountsAsOff(t *testing.T) {
	blind := func(w *world) {
		r := w.Rival(50, cell.Staged, "=a", "=b").Place("=a")
		require.Empty(w.T, r.Intent.List[1].Expected)
		w.condemned("=b")
	}
	t.Run("lifted, then dead", func(t *testing.T) {
		inWorld(t, func(w *world) {
			blind(w)
			_, old := w.Cell("=b")
			assert.Equal(t, cell.Dead, w.client().status("=a").Outcome)
			got, v := w.Cell("=b")
			assert.False(t, got.Condemned)
			assert.NotEqual(t, old, v, "a sweep could still delete it")
			assert.ErrorIs(t, w.Mem.Delete(context.Background(), prefix+"=b", old),
				backend.ErrPrecondition)
		})
	})
	t.Run("it vanishes first: at expected", func(t *testing.T) {
		inWorld(t, func(w *world) {
			blind(w)
			c := w.client()
			c.Before(faulty.Put, "=b", 0, func(context.Context) error {
				w.Remove("=b")
				return nil
			})
			assert.Equal(t, cell.Undecided, c.status("=a").Outcome)
		})
	})
	t.Run("lifted by an unknown write", func(t *testing.T) {
		inWorld(t, func(w *world) {
			blind(w)
			c := w.client()
			c.LoseAnswer("=b", 0, nil)
			assert.Equal(t, cell.Dead, c.status("=a").Outcome)
			got, _ := w.Cell("=b")
			assert.False(t, got.Condemned)
		})
	})
	t.Run("at expected it stays", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.condemned("=b")
			w.Rival(50, cell.Staged, "=a", "=b").Place("=a")
			c := w.client()
			assert.Equal(t, cell.Undecided, c.status("=a").Outcome)
			assert.Zero(t, c.requests(faulty.Put))
		})
	})
}

func TestStatusFailsWithTheStore(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.Rival(50, cell.Staged, "=a", "=b").Place("=a")
		c := w.client()
		s := c.read("=a")
		c.Before(faulty.Get, "=b", 0, func(context.Context) error { return backend.ErrDenied })
		_, err := c.rs.Status(context.Background(), s)
		assert.ErrorIs(t, err, backend.ErrDenied)
	})
}
