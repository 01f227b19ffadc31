package resolve_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
)

// carries tells which of the cells carry the mark of attempt n.
func (w *world) carries(n byte, names ...string) (marked []string) {
	for _, name := range names {
		c, _ := w.Cell(name)
		if _, ok := c.Mark(id(n)); ok {
			marked = append(marked, name)
		}
	}
	return marked
}

// rewrite writes a cell as a young writer does, once its effective value is known.
func (c *client) rewrite(name string, n byte) {
	rd, _ := c.effective(name, writer(99))
	require.Equal(c.w.T, store.Applied, c.write(rd, n))
}

func TestFolderLeavesTheMark(t *testing.T) {
	for _, m := range []cell.Mode{cell.Staged, cell.Pending} {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b", "=c")
			r := w.Rival(50, m, "=a", "=b", "=c").Place("=a", "=b", "=c")
			if m == cell.Pending {
				held, _ := w.Cell("=a")
				w.Put("=a", cell.Commit(held, id(50), cell.Fold{}))
			}
			w.client().rewrite("=b", 60)
			got, _ := w.Cell("=b")
			mark, ok := got.Mark(id(50))
			require.True(t, ok, "another member holds the intent still")
			assert.Equal(t, r.Intent.Members, mark.Members)
			assert.Equal(t, ids(60, 50, 1), got.Recent)
			assert.Equal(t, cell.Committed, w.client().status("=c").Outcome)
		})
	}
}

func TestNoMarkForADeadAttempt(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.Rival(50, cell.Staged, "=a", "=b").Place("=a")
		w.Value(2, "=b")
		w.client().rewrite("=a", 60)
		got, _ := w.Cell("=a")
		assert.Empty(t, got.Marks)
		assert.Equal(t, ids(60, 1), got.Recent)
	})
}

func TestMarksAreCarriedByEveryWrite(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c", "=d")
		w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b").Fold("=a")
		c := w.client()
		c.rewrite("=a", 60)
		assert.NotEmpty(t, w.carries(50, "=a"), "a write")
		w.Rival(51, cell.Staged, "=a", "=c").Place("=a")
		c.effective("=a", writer(10)) // fences =c
		c.rewrite("=a", 61)
		assert.NotEmpty(t, w.carries(50, "=a"), "a write over a dead intent")
		w.Rival(52, cell.Staged, "=b", "=d").Place("=d") // expects =b as it is: fence there
		r := w.Rival(53, cell.Staged, "=a", "=c").Place("=c")
		require.NotEmpty(t, r.Intent.List[0].Expected)
		c.effective("=c", writer(10)) // fences =a
		assert.NotEmpty(t, w.carries(50, "=a"), "a fence")
	})
}

// The rule for dropping a mark of attempt 50, which =a carries: each row is something
// that a client knows or has seen when it writes =a.
func TestMarkIsDroppedOnlyByWhoKnows(t *testing.T) {
	for _, x := range []struct {
		name string
		see  func(w *world, c *client, r *rival)
		keep bool
	}{
		{"nothing is known of the other members",
			func(_ *world, _ *client, r *rival) { r.Fold("=b", "=c") }, true},
		{"one still holds the intent", func(_ *world, c *client, r *rival) {
			c.read("=a")
			r.Fold("=b")
			c.read("=b")
			c.read("=c")
		}, true},
		{"it folded every other member itself", func(_ *world, c *client, _ *rival) {
			c.rewrite("=b", 60)
			c.rewrite("=c", 61)
		}, false},
		{"it folded one of two",
			func(_ *world, c *client, _ *rival) { c.rewrite("=b", 60) }, true},
		{"a fold that did not land does not count", func(_ *world, c *client, r *rival) {
			c.rewrite("=b", 60)
			rd, _ := c.effective("=c", writer(99))
			c.LoseRequest("=c", 0, nil)
			require.Equal(c.w.T, store.Unknown, c.write(rd, 61))
		}, true},
		{"it has seen every other member off", func(_ *world, c *client, r *rival) {
			c.read("=a")
			r.Fold("=b", "=c")
			c.read("=b")
			c.read("=c")
		}, false},
		{"it has seen one of two off, with the mark", func(_ *world, c *client, r *rival) {
			c.read("=a")
			r.Fold("=b", "=c")
			c.read("=b")
		}, true},
		{"it has seen one off and without the mark", func(_ *world, c *client, r *rival) {
			c.read("=a")
			r.Fold("=b", "=c").Settled(70, "=b")
			c.read("=b")
		}, false},
		{"seen off before it knew of the commit", func(_ *world, c *client, r *rival) {
			r.Fold("=b", "=c").Settled(70, "=b")
			c.read("=b")
			c.read("=c")
			c.read("=a")
		}, true},
		{"off and condemned: it may vanish", func(w *world, c *client, r *rival) {
			c.read("=a")
			r.Fold("=b", "=c")
			w.condemned("=b")
			w.condemned("=c")
			c.read("=b")
			c.read("=c")
		}, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=c")
				r := w.Rival(50, cell.Staged, "=a", "=b", "=c").Place("=a", "=b", "=c").Fold("=a")
				c := w.client()
				x.see(w, c, r)
				c.rewrite("=a", 80)
				assert.Equal(t, x.keep, w.carries(50, "=a") != nil, "the mark is carried")
			})
		})
	}
}

// A cell read before the attempt began shows no intent either.
func TestAMemberReadBeforeTheAttemptBeganIsNotSeenOff(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		c := w.client()
		c.read("=b")
		w.Value(2, "=b")
		w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b").Fold("=a")
		c.rewrite("=a", 60)
		assert.NotEmpty(t, w.carries(50, "=a"))
		assert.Equal(t, cell.Committed, w.client().status("=b").Outcome)
	})
}

func TestFolderThatKnowsLeavesNoMark(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
		c := w.client()
		c.rewrite("=a", 60)
		require.NotEmpty(t, w.carries(50, "=a"))
		c.rewrite("=b", 61)
		assert.Empty(t, w.carries(50, "=b"), "it folded the only other member itself")
		c.rewrite("=a", 62)
		assert.Empty(t, w.carries(50, "=a"))
	})
}

// With a long list a secondary that is off and without the mark proves nothing: it is
// the primary that does.
func TestMarkOfALongListIsDroppedByThePrimaryOnly(t *testing.T) {
	begin := func(w *world) (*rival, *client) {
		all := names(10)
		w.Value(1, all...)
		r := w.Rival(50, cell.Staged, all...).Place(all...).Fold("=a", "=b", "=c")
		return r, w.client()
	}
	t.Run("a secondary without the mark", func(t *testing.T) {
		inWorld(t, func(w *world) {
			r, c := begin(w)
			c.read("=b")
			r.Settled(70, "=c")
			c.read("=a") // learns the list
			c.read("=c")
			c.rewrite("=b", 60)
			assert.NotEmpty(t, w.carries(50, "=b"))
		})
	})
	t.Run("the primary without the mark", func(t *testing.T) {
		inWorld(t, func(w *world) {
			r, c := begin(w)
			c.read("=b")
			r.Fold(r.Names()[3:]...).Settled(70, "=a")
			c.read("=a")
			c.rewrite("=b", 60)
			assert.Empty(t, w.carries(50, "=b"))
		})
	})
	t.Run("the primary without the mark, read too early", func(t *testing.T) {
		inWorld(t, func(w *world) {
			r, c := begin(w)
			r.Fold(r.Names()[3:]...).Settled(70, "=a")
			c.read("=a")
			c.read("=b")
			c.rewrite("=b", 60)
			assert.NotEmpty(t, w.carries(50, "=b"))
		})
	})
	t.Run("every member folded, the list learned last", func(t *testing.T) {
		inWorld(t, func(w *world) {
			r, c := begin(w)
			c.read("=b") // knows of the commit, but not of the list
			c.rewrite("=d", 60)
			r.Fold("=e")
			c.read("=a") // learns the list
			c.rewrite("=a", 61)
			assert.NotEmpty(t, w.carries(50, "=a"), "others hold the intent still")
		})
	})
}

// full makes a cell that carries eight marks, each of an attempt whose other member,
// =m0 to =m7, holds its intent.
func (w *world) full(name string, first byte) {
	for i := range byte(cell.MarksMax) {
		other := "=m" + name[1:] + string(rune('0'+i))
		w.Value(1, other)
		w.Rival(first+i, cell.Staged, name, other).Place(name, other).Fold(name)
	}
	c, _ := w.Cell(name)
	require.Len(w.T, c.Marks, cell.MarksMax)
}

func TestCellWithEightMarksIsCompacted(t *testing.T) {
	const compacted = 6
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.full("=a", 20)
		w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b") // to leave a ninth mark
		c := w.client()
		rd, _ := c.effective("=a", writer(99))
		require.NoError(t, c.rs.CompactMarks(context.Background(), rd, 0))
		assert.Equal(t, compacted, c.requests(faulty.Put), "their intents, and nothing else")
		require.Equal(t, store.Applied, c.write(rd, 60))
		got, _ := w.Cell("=a")
		assert.Len(t, got.Marks, cell.MarksMax+1-compacted)
		assert.Empty(t, w.carries(20, "=a"), "the oldest")
		assert.NotEmpty(t, w.carries(50, "=a"))
		helped, _ := w.Cell("=ma0")
		assert.Equal(t, id(20), helped.Writer)
		for _, n := range []byte{26, 27} {
			other, _ := w.Cell("=ma" + string(rune('0'+n-20)))
			assert.True(t, other.Holds(id(n)), "no more than needed")
		}
	})
}

func TestNoReliefWithoutNeed(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		w.full("=a", 20)
		c := w.client()
		rd, _ := c.effective("=a", writer(99))
		before := c.requests(faulty.Get)
		require.NoError(t, c.rs.CompactMarks(context.Background(), rd, 0))
		assert.Equal(t, before, c.requests(faulty.Get))
		require.NoError(t, c.rs.CompactMarks(context.Background(), rd, 1))
		assert.Greater(t, c.requests(faulty.Get), before, "room for one more was asked for")
	})
}

// The cell that holds the remaining intent of the oldest mark is full itself.
func TestReliefWhereTheHelpedCellIsFull(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=x", "=y")
		w.full("=b", 30)
		w.Rival(20, cell.Staged, "=a", "=b", "=x").Place("=a", "=b", "=x").Fold("=a")
		for i := range byte(cell.MarksMax - 1) {
			other := "=n" + string(rune('0'+i))
			w.Value(1, other)
			w.Rival(21+i, cell.Staged, "=a", other).Place("=a", other).Fold("=a")
		}
		w.Rival(50, cell.Staged, "=a", "=y").Place("=a", "=y")
		c := w.client()
		rd, _ := c.effective("=a", writer(99))
		require.NoError(t, c.rs.CompactMarks(context.Background(), rd, 0))
		require.Equal(t, store.Applied, c.write(rd, 60))
		got, _ := w.Cell("=b")
		assert.Len(t, got.Marks, cell.MarksMax)
		assert.Equal(t, id(20), got.Writer, "its intent was folded")
		assert.Empty(t, w.carries(30, "=b"), "relieved of its own oldest mark before")
		for _, name := range []string{"=y", "=n6", "=mb1"} {
			assert.Equal(t, cell.Committed, w.client().status(name).Outcome, name)
		}
	})
}

func TestReliefOfALongList(t *testing.T) {
	for name, primary := range map[string]func(r *rival){
		"the primary holds the intent": func(*rival) {},
		"the primary carries the mark": func(r *rival) { r.Fold("=a") },
		"the primary carries it no more": func(r *rival) {
			r.Fold("=a").Fold(r.Names()[2:]...).Settled(70, "=a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				all := names(10)
				w.Value(1, append(all, "=z")...)
				r := w.Rival(20, cell.Staged, all...).Place(all...).Fold("=b")
				primary(r)
				for i := range byte(cell.MarksMax - 1) {
					other := "=n" + string(rune('0'+i))
					w.Value(1, other)
					w.Rival(21+i, cell.Staged, "=b", other).Place("=b", other).Fold("=b")
				}
				w.Rival(50, cell.Staged, "=b", "=z").Place("=b", "=z")
				c := w.client()
				rd, _ := c.effective("=b", writer(99))
				require.NoError(t, c.rs.CompactMarks(context.Background(), rd, 0))
				require.Equal(t, store.Applied, c.write(rd, 60))
				assert.Empty(t, w.carries(20, "=b"))
				for _, name := range all {
					got, _ := w.Cell(name)
					assert.False(t, got.Holds(id(20)), name)
				}
			})
		})
	}
}
