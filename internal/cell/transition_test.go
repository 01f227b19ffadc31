package cell_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txid"
)

// step is one transition: what it makes of before, which it must leave unchanged.
type step struct {
	name   string
	before *cell.Cell
	do     func(c *cell.Cell) *cell.Cell
	after  *cell.Cell
}

func runSteps(t *testing.T, steps []step) {
	t.Helper()
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			stored := cell.Encode(s.before, nonce)
			got := s.do(s.before)
			assert.Equal(t, s.after, got)
			assert.Equal(t, stored, cell.Encode(s.before, nonce), "a cell is never changed")
			back, err := cell.Decode(cell.Encode(got, nonce))
			require.NoError(t, err)
			assert.Equal(t, got, back, "what a transition makes can be stored")
		})
	}
}

func fold(o cell.Outcome) cell.Fold { return cell.Fold{Outcome: o} }

func unmarked() cell.Fold { return cell.Fold{Outcome: cell.Committed, Unmarked: true} }

func resolve(f cell.Fold) func(*cell.Cell) *cell.Cell {
	return func(c *cell.Cell) *cell.Cell { return cell.Resolve(c, f) }
}

func TestResolve(t *testing.T) {
	put := intent(2, cell.Staged, cell.Put)
	deletion := intent(2, cell.Staged, cell.Delete)
	lock := intent(2, cell.Pending, cell.Lock)
	runSteps(t, []step{
		{"dead: the intent is dropped", locked(put), resolve(fold(cell.Dead)), valued()},
		{"dead, on a cell without a value", &cell.Cell{Intent: put}, resolve(fold(cell.Dead)),
			&cell.Cell{}},
		{"committed put, with the mark", locked(put), resolve(fold(cell.Committed)),
			&cell.Cell{Value: inline("new"), Writer: id(2), Recent: ids(2, 1), Marks: marks(2)}},
		{"committed put, without the mark", locked(put), resolve(unmarked()),
			&cell.Cell{Value: inline("new"), Writer: id(2), Recent: ids(2, 1)}},
		{"committed put, first value", &cell.Cell{Intent: put}, resolve(unmarked()),
			&cell.Cell{Value: inline("new"), Writer: id(2), Recent: ids(2)}},
		{"committed delete", locked(deletion), resolve(fold(cell.Committed)),
			&cell.Cell{Writer: id(2), Recent: ids(2, 1), Marks: marks(2)}},
		{"committed lock", locked(lock), resolve(fold(cell.Committed)),
			&cell.Cell{Value: inline("old"), Writer: id(1), Recent: ids(1), Marks: marks(2)}},
		{"committed lock, without the mark", locked(lock), resolve(unmarked()), valued()},
	})
}

func TestExpiryGoesWithItsValue(t *testing.T) {
	old, later := expiring(inline("old"), 10), expiring(inline("new"), 20)
	holding := func(v cell.Value, in *cell.Intent) *cell.Cell {
		return &cell.Cell{Value: v, Writer: id(1), Recent: ids(1), Intent: in}
	}
	after := func(v cell.Value) *cell.Cell {
		return &cell.Cell{Value: v, Writer: id(2), Recent: ids(2, 1)}
	}
	put, renew := intent(2, cell.Pending, cell.Put), intent(2, cell.Pending, cell.Put)
	renew.Value = later
	lock, deletion := intent(2, cell.Pending, cell.Lock), intent(2, cell.Pending, cell.Delete)
	write := func(a cell.Action, v cell.Value) func(*cell.Cell) *cell.Cell {
		return func(c *cell.Cell) *cell.Cell { return cell.Write(c, cell.Fold{}, id(2), a, v) }
	}
	drop := func(c *cell.Cell) *cell.Cell { return cell.Drop(c, id(2)) }
	runSteps(t, []step{
		{"renewed", holding(old, renew), resolve(unmarked()), after(later)},
		{"renewal is dead", holding(old, renew), resolve(fold(cell.Dead)), holding(old, nil)},
		{"replaced by one that stays", holding(old, put), resolve(unmarked()),
			after(inline("new"))},
		{"locked", holding(old, lock), resolve(unmarked()), holding(old, nil)},
		{"deleted", holding(old, deletion), resolve(unmarked()), after(cell.Value{})},
		{"one that expires is dropped", holding(inline("old"), renew), drop,
			holding(inline("old"), nil)},
		{"written", holding(inline("old"), nil), write(cell.Put, later), after(later)},
		{"a due one is swept", holding(old, nil), write(cell.Delete, cell.Value{}),
			after(cell.Value{})},
		{"fenced", holding(old, nil), cell.Fence, holding(old, nil)},
	})
	assert.False(t, old.Due(10e9-1))
	assert.True(t, old.Due(10e9), "due at that very instant")
	never, absent := inline("x"), cell.Value{}
	assert.False(t, never.Due(1<<62))
	assert.False(t, absent.Due(1<<62))
}

func TestPlace(t *testing.T) {
	mine := intent(3, cell.Pending, cell.Put)
	place := func(f cell.Fold) func(*cell.Cell) *cell.Cell {
		return func(c *cell.Cell) *cell.Cell { return cell.Place(c, f, mine) }
	}
	theirs := locked(intent(2, cell.Staged, cell.Put))
	runSteps(t, []step{
		{"over nothing", &cell.Cell{}, place(cell.Fold{}), &cell.Cell{Intent: mine}},
		{"over a value", valued(), place(cell.Fold{}), locked(mine)},
		{"over a dead intent", theirs, place(fold(cell.Dead)), locked(mine)},
		{"over a committed intent", theirs, place(fold(cell.Committed)),
			&cell.Cell{Value: inline("new"), Writer: id(2), Recent: ids(2, 1), Marks: marks(2),
				Intent: mine}},
		{"over a committed intent, unmarked", theirs, place(unmarked()),
			&cell.Cell{Value: inline("new"), Writer: id(2), Recent: ids(2, 1), Intent: mine}},
		{"over a condemned tombstone", &cell.Cell{Writer: id(1), Condemned: true},
			place(cell.Fold{}), &cell.Cell{Writer: id(1), Intent: mine}},
	})
}

func TestWrite(t *testing.T) {
	put := func(f cell.Fold) func(*cell.Cell) *cell.Cell {
		return func(c *cell.Cell) *cell.Cell {
			return cell.Write(c, f, id(3), cell.Put, inline("direct"))
		}
	}
	remove := func(c *cell.Cell) *cell.Cell {
		return cell.Write(c, cell.Fold{}, id(3), cell.Delete, cell.Value{})
	}
	external := cell.Value{Kind: cell.External, Ref: "*a.00", Size: 9, Sum: 1}
	theirs := locked(intent(2, cell.Staged, cell.Put))
	runSteps(t, []step{
		{"put over nothing", &cell.Cell{}, put(cell.Fold{}),
			&cell.Cell{Value: inline("direct"), Writer: id(3), Recent: ids(3)}},
		{"put over a value", valued(), put(cell.Fold{}),
			&cell.Cell{Value: inline("direct"), Writer: id(3), Recent: ids(3, 1)}},
		{"put over a dead intent", theirs, put(fold(cell.Dead)),
			&cell.Cell{Value: inline("direct"), Writer: id(3), Recent: ids(3, 1)}},
		{"put over a committed intent", theirs, put(fold(cell.Committed)),
			&cell.Cell{Value: inline("direct"), Writer: id(3), Recent: ids(3, 2, 1),
				Marks: marks(2)}},
		{"put of an external value", valued(), func(c *cell.Cell) *cell.Cell {
			return cell.Write(c, cell.Fold{}, id(3), cell.Put, external)
		}, &cell.Cell{Value: external, Writer: id(3), Recent: ids(3, 1)}},
		{"put over a condemned tombstone", &cell.Cell{Writer: id(1), Condemned: true},
			put(cell.Fold{}), &cell.Cell{Value: inline("direct"), Writer: id(3), Recent: ids(3)}},
		{"delete", valued(), remove, &cell.Cell{Writer: id(3), Recent: ids(3, 1)}},
		{"delete of nothing", &cell.Cell{}, remove, &cell.Cell{Writer: id(3), Recent: ids(3)}},
	})
}

func TestCommitOfThePrimary(t *testing.T) {
	commit := func(f cell.Fold) func(*cell.Cell) *cell.Cell {
		return func(c *cell.Cell) *cell.Cell { return cell.Commit(c, id(2), f) }
	}
	put, lock := intent(2, cell.Pending, cell.Put), intent(2, cell.Pending, cell.Lock)
	carrying := locked(put)
	carrying.Marks = marks(7, 8)
	runSteps(t, []step{
		{"put", locked(put), commit(cell.Fold{}),
			&cell.Cell{Value: inline("new"), Writer: id(2), Recent: ids(2, 1), Marks: marks(2)}},
		{"put, no other member", locked(put), commit(cell.Fold{Unmarked: true}),
			&cell.Cell{Value: inline("new"), Writer: id(2), Recent: ids(2, 1)}},
		{"lock", locked(lock), commit(cell.Fold{}),
			&cell.Cell{Value: inline("old"), Writer: id(1), Recent: ids(1), Marks: marks(2)}},
		{"outcome of the fold is of no matter", locked(lock), commit(fold(cell.Dead)),
			&cell.Cell{Value: inline("old"), Writer: id(1), Recent: ids(1), Marks: marks(2)}},
		{"marks are carried, its own last", carrying, commit(cell.Fold{Drop: ids(7)}),
			&cell.Cell{Value: inline("new"), Writer: id(2), Recent: ids(2, 1), Marks: marks(8, 2)}},
	})
}

func TestFence(t *testing.T) {
	fenced := locked(intent(2, cell.Staged, cell.Put))
	fenced.Marks = marks(5)
	runSteps(t, []step{
		{"a value", valued(), cell.Fence, valued()},
		{"an absent object: a tombstone", &cell.Cell{}, cell.Fence, &cell.Cell{}},
		{"others' intents and marks stay", fenced, cell.Fence, fenced},
		{"a condemned tombstone", &cell.Cell{Writer: id(1), Condemned: true}, cell.Fence,
			&cell.Cell{Writer: id(1)}},
	})
}

func TestDrop(t *testing.T) {
	pending := locked(intent(2, cell.Pending, cell.Put))
	pending.Marks = marks(5)
	after := valued()
	after.Marks = marks(5)
	runSteps(t, []step{{
		"a pending intent in its primary", pending,
		func(c *cell.Cell) *cell.Cell { return cell.Drop(c, id(2)) }, after,
	}})
}

func TestMarksStayUntilDropped(t *testing.T) {
	carrying := valued()
	carrying.Marks = marks(5, 6, 7)
	write := func(drop ...byte) func(*cell.Cell) *cell.Cell {
		return func(c *cell.Cell) *cell.Cell {
			f := cell.Fold{Drop: ids(drop...)}
			return cell.Write(c, f, id(3), cell.Put, inline("x"))
		}
	}
	with := func(m []cell.Mark) *cell.Cell {
		return &cell.Cell{Value: inline("x"), Writer: id(3), Recent: ids(3, 1), Marks: m}
	}
	runSteps(t, []step{
		{"every write carries them", carrying, write(), with(marks(5, 6, 7))},
		{"one is dropped", carrying, write(6), with(marks(5, 7))},
		{"all are dropped", carrying, write(7, 6, 5), with(nil)},
		{"dropping what is not there", carrying, write(9), with(marks(5, 6, 7))},
	})
}

// Two folds of one cell must not write to the same array of marks.
func TestFoldsOfOneCellShareNoMarks(t *testing.T) {
	base := locked(intent(2, cell.Staged, cell.Put))
	base.Marks = make([]cell.Mark, 0, 8)
	base.Marks = append(base.Marks, mark(5))
	a := cell.Resolve(base, fold(cell.Committed))
	other := *base
	other.Intent = intent(3, cell.Staged, cell.Put)
	cell.Resolve(&other, fold(cell.Committed))
	assert.Equal(t, marks(5, 2), a.Marks)
}

func TestMarksAfter(t *testing.T) {
	c := locked(intent(2, cell.Staged, cell.Put))
	c.Marks = marks(5, 6, 7)
	for _, x := range []struct {
		name string
		f    cell.Fold
		n    int
	}{
		{"dead", fold(cell.Dead), 3},
		{"committed", fold(cell.Committed), 4},
		{"committed, unmarked", unmarked(), 3},
		{"committed, two dropped", cell.Fold{Outcome: cell.Committed, Drop: ids(5, 7, 9)}, 2},
	} {
		assert.Equal(t, x.n, cell.MarksAfter(c, x.f), x.name)
		assert.Len(t, cell.Resolve(c, x.f).Marks, x.n, x.name)
	}
	assert.Zero(t, cell.MarksAfter(valued(), fold(cell.Committed)), "no intent, no mark")
}

func TestRecentKeepsTheLastAttempts(t *testing.T) {
	c := &cell.Cell{}
	for n := range byte(cell.RecentMax + 3) {
		before := c
		c = cell.Write(c, cell.Fold{}, id(n+1), cell.Put, inline("x"))
		assert.Equal(t, id(n+1), c.Recent[0], "newest first")
		assert.Len(t, c.Recent, min(int(n)+1, cell.RecentMax))
		assert.NotContains(t, before.Recent, id(n+1), "the cell before is not changed")
	}
	assert.Equal(t, ids(11, 10, 9, 8, 7, 6, 5, 4), c.Recent)
}

func TestIllegalTransitionsPanic(t *testing.T) {
	staged, pending := intent(2, cell.Staged, cell.Put), intent(2, cell.Pending, cell.Put)
	eight := locked(staged)
	eight.Marks = marks(11, 12, 13, 14, 15, 16, 17, 18)
	with := func(change func(*cell.Intent)) *cell.Intent {
		in := intent(3, cell.Staged, cell.Put)
		change(in)
		return in
	}
	place := func(c *cell.Cell, in *cell.Intent) func() {
		return func() { cell.Place(c, cell.Fold{}, in) }
	}
	write := func(c *cell.Cell, a cell.Action, v cell.Value) func() {
		return func() { cell.Write(c, cell.Fold{}, id(3), a, v) }
	}
	for name, do := range map[string]func(){
		"resolve without an intent": func() { cell.Resolve(valued(), fold(cell.Dead)) },
		"resolve of an undecided":   func() { cell.Resolve(locked(staged), cell.Fold{}) },
		"place over an undecided":   place(locked(staged), intent(3, cell.Staged, cell.Put)),
		"place without an attempt": place(valued(),
			with(func(in *cell.Intent) { in.Tx = txid.ID{} })),
		"place without members": place(valued(), with(func(in *cell.Intent) { in.List = nil })),
		"place of a lock of a value": place(valued(),
			with(func(in *cell.Intent) { in.Action = cell.Lock })),
		"write over an undecided":    write(locked(staged), cell.Put, inline("x")),
		"write without a value":      write(valued(), cell.Put, cell.Value{}),
		"write without an action":    write(valued(), 0, inline("x")),
		"commit without an intent":   func() { cell.Commit(valued(), id(2), cell.Fold{}) },
		"commit of another attempt":  func() { cell.Commit(locked(pending), id(3), cell.Fold{}) },
		"commit of a staged attempt": func() { cell.Commit(locked(staged), id(2), cell.Fold{}) },
		"drop without an intent":     func() { cell.Drop(valued(), id(2)) },
		"drop of another attempt":    func() { cell.Drop(locked(pending), id(3)) },
		"drop of a staged attempt":   func() { cell.Drop(locked(staged), id(2)) },
		"a ninth mark":               func() { cell.Resolve(eight, fold(cell.Committed)) },
	} {
		assert.Panics(t, do, name)
	}
	assert.NotPanics(t, func() { cell.Resolve(eight, unmarked()) }, "eight marks are allowed")
}
